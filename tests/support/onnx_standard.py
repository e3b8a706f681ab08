"""The standard's own tests of its operators."""

from __future__ import annotations

import functools
import warnings
from typing import Any


@functools.cache
def standard_cases() -> list[Any]:
    """Returns the tests of the standard: models of few nodes with inputs and outputs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy, in casts to narrow types
        from onnx.backend.test.case.node import collect_testcases

        return list(collect_testcases(None))

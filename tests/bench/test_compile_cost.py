"""Compiling a model stays within a gigabyte of memory."""

from __future__ import annotations

import pytest

from bench import measure
from support import models

LIMIT = 1 << 30


@pytest.mark.parametrize("name", models.available([models.SHIPPED, *measure.CHECKED]))
def test_compiling_takes_less_than_a_gigabyte(name: str) -> None:
    found = measure.compilation(name)
    # Python and numpy alone take twenty megabytes: less were a mistake of the measurement.
    assert 20_000_000 < found["peak_bytes"] < LIMIT
    assert found["seconds"] > 0

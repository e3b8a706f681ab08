"""The package, from its folder, registered for every test as its installation would do it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aboard.target import kinds, plugins

PACKAGE = Path(__file__).parents[1]
sys.path[:0] = [str(PACKAGE), str(PACKAGE / "tests")]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    import npu_demo

    with plugins.restored():
        if npu_demo.NAME not in kinds():
            npu_demo.PLUGIN.register()
        yield

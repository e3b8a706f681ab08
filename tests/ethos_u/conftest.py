"""Enables the plug-in of the NPU, which other tests do without."""

from collections.abc import Iterator

import pytest

from aboard.base import extensions
from aboard.target import plugins


@pytest.fixture(autouse=True, scope="module")
def the_plug_in() -> Iterator[None]:
    plugins.load()  # without the plug-in: the state to which the other tests come back
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(extensions.DISABLED)
        with plugins.restored(reload=True):
            yield

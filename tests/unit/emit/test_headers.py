"""A bundle has every header that its source includes."""

from __future__ import annotations

import re

import pytest

import aboard
from support import models

_INCLUDED = re.compile(r'#include "(kernels/[^"]+)"')


@pytest.mark.parametrize("core", ["cortex-m55", "cortex-m4"])
@pytest.mark.parametrize("hooks", [False, True])
def test_steps_that_run_alone_bring_their_headers(core: str, hooks: bool) -> None:
    # With Helium, a layer that is computed in stripes has another kernel header than the whole layer.
    module = aboard.compile(models.read("digits"), target=f"c -mcpu={core} -input=rows", name="model")
    files = (module.with_hooks() if hooks else module).files
    included = _INCLUDED.findall(files["src/model.c"])
    assert included
    assert not [path for path in included if f"src/{path}" not in files]

"""What the descriptor of a model can count."""

from __future__ import annotations

import re

import numpy as np
import pytest

import aboard
from aboard.errors import ModelError
from support.streams import QUANT, Stream


def counters(count: int) -> bytes:
    """Returns a model with so many states: each is the sum of the inputs of its runs."""
    build = Stream().quantised("x", *(f"{kind}{i}" for i in range(count) for kind in "sy"), shape=(1, 1))
    for i in range(count):
        build.read(f"sum{i}", f"s{i}").op("ADD", ["x", f"s{i}"], [f"y{i}"], {}).assign(f"sum{i}", f"y{i}")
    build.tensor("out", (1, 1), np.int8, **QUANT)
    return build.op("ADD", ["x", "y0"], ["out"], {}).build(["x"], ["out"])


def test_more_states_than_the_descriptor_counts_are_refused() -> None:
    wanted = "many: too many states, got 256, expected at most 255. Change the model: concatenate states"
    with pytest.raises(ModelError, match=re.escape(wanted)):
        aboard.compile(counters(256), target="c -mcpu=cortex-m4", name="many")


def test_states_have_a_number_each() -> None:
    module = aboard.compile(counters(3), target="c -runtime=host", name="few")
    module.run(np.array([[5]], np.int8))
    assert (len(module.manifest.states), len(module.state())) == (3, 3)
    assert {int(values.item()) for values in module.state().values()} == {5}

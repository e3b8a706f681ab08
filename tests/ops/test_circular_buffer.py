"""circular_buffer against tflite-micro over sequences of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import ModelError
from aboard.importers import load
from support import recurrent
from support.signal_models import options
from support.tflite_builder import ModelBuilder


def model(slots: int = 4, width: int = 1, channels: int = 3, cycles: int | None = 1, **changed: Any) -> bytes:
    """Returns a buffer with a RELU behind it; `changed` is what differs in the tensor of the buffer."""
    quant = {"scale": 0.5, "zero_point": -7}
    m = ModelBuilder().tensor("x", (1, 1, width, channels), np.int8, **quant)
    m.tensor("b", (1, slots, width, channels), np.int8, variable=True, **{**quant, **changed})
    m.tensor("y", (1, slots, width, channels), np.int8, **quant)
    given = None if cycles is None else options({"cycles_max": cycles})
    m.op("CUSTOM", ["x"], ["b"], custom="CIRCULAR_BUFFER", custom_options=given)
    return m.op("RELU", ["b"], ["y"]).build(["x"], ["y"])


@settings(max_examples=5, deadline=None)
@given(st.integers(1, 6), st.integers(1, 3), st.integers(1, 4), st.integers(0, 99))
def test_sequences_of_steps(slots: int, width: int, channels: int, seed: int) -> None:
    recurrent.check(model(slots, width, channels), recurrent.draws((1, 1, width, channels), np.int8, seed, slots + 2))


def test_the_c_is_clean_and_a_model_need_not_say_how_often_it_runs() -> None:
    outputs = recurrent.check(model(5, cycles=None), recurrent.draws((1, 1, 1, 3), np.int8), sanitize=True)
    assert len({y.tobytes() for (y,) in outputs}) == len(outputs)
    (state,) = load(model(5, cycles=None)).states
    assert np.unique(state.initial).tolist() == [-7]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (model(cycles=2), "cycles_max, got 2, expected 1. The operator ends all other runs before"),
        (model(cycles=None), "cycles_max, got 2, expected 1."),
        (model(scale=0.25), "quantisation of input and result, got int8[1x1x1x3] q(0.5, -7) and int8[1x4x1x3]"),
    ],
)
def test_what_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        load(data)
    assert words in str(caught.value)

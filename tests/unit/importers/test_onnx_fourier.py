"""DFT and STFT of ONNX beside the reference evaluator, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.examples import examples
from support.onnx_models import check, model, node, refusal, unchecked


def signal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(0, 1, shape).astype(np.float32)


@given(
    st.sampled_from([1, 4, 5, 8, 12, 13]),
    st.sampled_from([None, 6, 7, 8, 15]),
    st.sampled_from(["forward", "inverse", "half", "inverse half"]),
    st.sampled_from([1, 2]),
)
@settings(max_examples=examples(200), deadline=None)
def test_any_transform(extent, length, kind, parts):
    inverse, half = int("inverse" in kind), int("half" in kind)
    assume(not half or parts == (2 if inverse else 1))
    assume(length is not None or not (half and inverse) or extent > 1)
    x = signal(2, extent, 3, parts)
    constants = {"axis": np.array(1, np.int64)}
    constants |= {} if length is None else {"length": np.array(length, np.int64)}
    operands = "x _ axis" if length is None else "x length axis"
    data = model([node("DFT", operands, inverse=inverse, onesided=half)], {"x": x}, constants)
    check(data, {"x": x}, rtol=5e-6)


@pytest.mark.parametrize("half", [0, 1])
def test_a_transform_as_c(half):
    x = signal(2, 16, 1)
    data = model([node("DFT", "x", onesided=half, axis=1)], {"x": x}, opset=17)
    check(data, {"x": x}, compiled=True, rtol=5e-6)


@pytest.mark.parametrize("windowed", [False, True])
@pytest.mark.parametrize("step", [3, 8])
@pytest.mark.parametrize("length", [8, 9])
def test_spectra_of_frames(windowed, step, length):
    x = signal(2, 32, 1)
    constants = {"step": np.array(step, np.int64), "length": np.array(length, np.int64)}
    constants |= {"window": np.hanning(length).astype(np.float32)} if windowed else {}
    data = model([node("STFT", f"x step {'window' if windowed else '_'} length")], {"x": x}, constants)
    check(data, {"x": x}, rtol=5e-6)


@pytest.mark.parametrize(
    ("described", "shape", "constants", "message"),
    [
        (node("DFT", "x", onesided=1), (2, 16, 2), {}, "in [1, 65536], and real parts alone for one half"),
        (node("DFT", "x _ n"), (2, 16, 2), {"n": 2}, "axis, got 2, expected one before the last"),
        (node("DFT", "x"), (2, 16), {}, "operand, got shape (2, 16), expected real and imaginary parts"),
        (node("DFT", "x n"), (1, 4001, 1), {"n": 4001}, "length, got 4001 for 4001 elements, which needs a matrix"),
        (node("DFT", "x n"), (1, 16, 1), {"n": 0}, "length 0 and 1 parts, expected a length in [1, 65536]"),
        (node("STFT", "x s _ n"), (2, 16, 1), {"s": 4, "n": 17}, "frames, got length 17 and step 4 of a signal [2, 16"),
        (node("STFT", "x s _ n"), (2, 16, 1), {"s": 0, "n": 8}, "frames, got length 8 and step 0"),
    ],
)
def test_what_is_refused(described, shape, constants, message):
    numbers = {name: np.array(value, np.int64) for name, value in constants.items()}
    assert message in refusal(unchecked([described], {"x": np.zeros(shape, np.float32)}, "y", numbers))

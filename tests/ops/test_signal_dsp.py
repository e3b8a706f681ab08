"""The audio front end for the DSP extension and for Helium: the C that says what assembly computes; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Node
from aboard.kernels import of
from aboard.kernels.contract import Implementation, KernelCall
from aboard.kernels.view import View
from aboard.ops import get
from aboard.target import Target
from support import kernel_call
from support.examples import examples
from support.kernel_call import Placed
from support.signal_models import model

I16, I32 = np.int16, np.int32
M4 = Target("c -mcpu=cortex-m4 -runtime=standalone")
SEEDS = st.integers(0, 2**32 - 1)
TYPE_NUMBERS = {I16: 7, I32: 2}


def dsp(node: Node, key: str = "arm_dsp") -> Implementation:
    (found,) = (kernel for kernel in of(node.op) if key in kernel.keys)
    return found


def check(file: bytes, *values: np.ndarray, key: str = "arm_dsp") -> list[np.ndarray]:
    """Fails unless the kernel computes what the op does; returns the results."""
    (node,) = load(file).nodes
    kernel = dsp(node, key)
    assert kernel.refuses(node, M4) is None
    operands = [*values, *(t.data for t in node.operands[len(values) :] if t.data is not None)]
    expected = get(node.op).evaluate(node, operands)
    views = [View.whole(tensor.shape, tensor.dtype.bytes) for tensor in [*node.operands, *node.outputs]]
    inputs = [Placed.of(value, view) for value, view in zip(operands, views, strict=False)]
    results = [
        Placed.of(np.zeros(t.shape, t.dtype.numpy), v)
        for t, v in zip(node.outputs, views[len(operands) :], strict=True)
    ]
    call = kernel.lower(node, views[: len(operands)], views[len(operands) :], M4)
    assert isinstance(call, KernelCall)
    kernel_call.run(call, inputs, results, [(0, call.rows)])
    got = [r.values(t.shape, np.dtype(t.dtype.numpy)) for r, t in zip(results, node.outputs, strict=True)]
    for mine, right in zip(got, expected, strict=True):
        np.testing.assert_array_equal(mine, right)
    return got


def halfwords(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Returns int16 of all magnitudes, the ends of the range among them."""
    values = rng.integers(-(2**15), 2**15, shape).astype(I16) >> rng.integers(0, 16, shape).astype(I16)
    return np.where(rng.random(shape) < 0.1, rng.choice(np.array([-(2**15), 2**15 - 1], I16), shape), values)


def transform(kind: str, frame: int, length: int, dtype: Any = I16) -> bytes:
    spectrum = length if kind == "Irfft" else length + 2
    options = {"T": TYPE_NUMBERS[dtype], "fft_length": length}
    return model(kind, [((2, frame), dtype)], [((2, spectrum), dtype)], options)


@pytest.mark.parametrize("key", ["arm_dsp", "arm_mve"])
@pytest.mark.parametrize("kind", ["Rfft", "Irfft"])
@settings(max_examples=examples(8), deadline=None)
@given(SEEDS, st.sampled_from([4, 8, 16, 64, 128, 512]), st.integers(0, 5))
def test_transforms(kind: str, key: str, seed: int, length: int, missing: int) -> None:
    frame = length + 2 if kind == "Irfft" else max(length - missing, 1)
    check(transform(kind, frame, length), halfwords(np.random.default_rng(seed), 2, frame), key=key)


@pytest.mark.parametrize("kind", ["Rfft", "Irfft"])
@pytest.mark.parametrize("value", [-(2**15), -(2**15) + 1, 2**15 - 1])
def test_transforms_at_the_ends_of_the_range(kind: str, value: int) -> None:
    frame = 64 + (2 if kind == "Irfft" else 0)
    (result,) = check(transform(kind, frame, 64), np.full((2, frame), value, I16))
    assert result.any()


@pytest.mark.parametrize(
    ("dtype", "length", "reason"),
    [(I32, 16, "is for int16"), (I16, 24, "is for lengths that are powers of two")],
)
def test_transforms_that_are_left_to_the_portable_kernel(dtype: Any, length: int, reason: str) -> None:
    (node,) = load(transform("Rfft", length, length, dtype)).nodes
    assert dsp(node).refuses(node, M4) == reason


@settings(max_examples=examples(12), deadline=None)
@given(SEEDS, st.integers(1, 3), st.integers(1, 9), st.integers(0, 15))
def test_window(seed: int, frames: int, length: int, shift: int) -> None:
    rng = np.random.default_rng(seed)
    shape, weights = (frames, length), halfwords(rng, length)
    file = model("Window", [(shape, I16), weights], [(shape, I16)], {"shift": shift})
    for x in (halfwords(rng, *shape), np.full(shape, -(2**15), I16)):
        for key in ("arm_dsp", "arm_mve"):
            check(file, x, key=key)


@pytest.mark.parametrize("count", [1, 8, 9])
def test_auto_scale(count: int) -> None:
    rng = np.random.default_rng(count)
    file = model("FftAutoScale", [((count,), I16)], [((count,), I16), ((), I32)], {})
    powers = [np.full(count, sign * 2**bit, I16) for sign in (1, -1) for bit in range(15)]
    drawn = [rng.integers(-(2**15), 2**15, count).astype(I16) >> shift for shift in range(16)]
    found = {int(check(file, x)[1]) for x in [*powers, *drawn, np.zeros(count, I16), np.full(count, -(2**15), I16)]}
    assert found >= set(range(15))

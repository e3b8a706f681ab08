"""One-op models without weights: element-wise ops, pools, means, softmax; and how float results are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from aboard.errors import ModelError
from aboard.importers import load
from support import one_op, oracle
from support.tflite_builder import ModelBuilder

ACTIVATIONS = ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"]

#: Every value of an int8, once.
ALL_INT8 = np.arange(-128, 128, dtype=np.int8).reshape(1, 256)

activations = st.sampled_from(ACTIVATIONS)
seeds = st.integers(0, 2**31)
zero_points = st.integers(-128, 127)


def floats32(low: float, high: float) -> st.SearchStrategy[float]:
    """Returns a strategy for numbers that a float32 holds exactly."""
    return st.floats(low, high).map(lambda value: float(np.float32(value)))


scales = floats32(1e-4, 10.0)


@dataclass(frozen=True)
class Value:
    """A tensor of a test model.

    Attributes:
        shape: Its shape.
        dtype: Element type.
        scale: Of its quantisation; None for none.
        zero_point: Likewise.
        data: Values of a constant; None for what is an input or computed.
    """

    shape: tuple[int, ...]
    dtype: Any = np.int8
    scale: float | None = None
    zero_point: int = 0
    data: np.ndarray | None = None


def real(shape: Sequence[int], data: np.ndarray | None = None) -> Value:
    """Returns a float32 tensor."""
    return Value(tuple(shape), np.float32, data=data)


@st.composite
def quantized(draw: st.DrawFn, shape: Sequence[int], scale: st.SearchStrategy[float] = scales) -> Value:
    """Draws an int8 tensor of a shape."""
    return Value(tuple(shape), np.int8, draw(scale), draw(zero_points))


def build(kind: str, operands: Sequence[Value], result: Value, options: Mapping[str, Any] | None = None) -> bytes:
    """Returns a model of one operator; operands without data are its inputs `x0`, `x1` ..., the output is `y`."""
    builder = ModelBuilder()
    names = [f"x{i}" for i in range(len(operands))]
    for name, value in zip([*names, "y"], [*operands, result], strict=True):
        builder.tensor(name, value.shape, value.dtype, scale=value.scale, zero_point=value.zero_point, data=value.data)
    inputs = [name for name, value in zip(names, operands, strict=True) if value.data is None]
    return builder.op(kind, names, ["y"], options or {}).build(inputs, ["y"])


def feed(operands: Sequence[Value], seed: int, spread: float = 4.0) -> list[np.ndarray]:
    """Returns random values of the operands that are inputs: integers over the whole range, floats around 0."""
    rng = np.random.default_rng(seed)
    return [random(rng, value, spread) for value in operands if value.data is None]


def random(rng: np.random.Generator, value: Value, spread: float = 4.0) -> np.ndarray:
    """Returns random values for a tensor."""
    if np.dtype(value.dtype).kind == "f":
        return (rng.standard_normal(value.shape) * spread).astype(value.dtype)
    if np.dtype(value.dtype).kind == "b":
        return rng.random(value.shape) < 0.5
    limits = np.iinfo(value.dtype)
    return rng.integers(limits.min, limits.max + 1, value.shape).astype(value.dtype)


def check_near(model: bytes, *inputs: np.ndarray, relative: float = 1e-5, absolute: float = 1e-7) -> None:
    """Fails unless `evaluate` and the generated C are near the reference in float32."""
    expected = oracle.tflm(model, *inputs)
    for name, results in (("evaluate", one_op.evaluate(model, *inputs)), ("C", one_op.compiled(model, *inputs))):
        for got, wanted in zip(results, expected, strict=True):
            assert got.dtype == wanted.dtype == np.float32
            np.testing.assert_allclose(got, wanted, rtol=relative, atol=absolute, err_msg=name)


def refusal(kind: str, operands: Sequence[Value], result: Value, options: Mapping[str, Any] | None = None) -> str:
    """Returns the message with which the importer refuses a model."""
    with pytest.raises(ModelError) as caught:
        load(build(kind, operands, result, options), name="model")
    return str(caught.value)

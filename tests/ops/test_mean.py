"""mean against tflite-micro."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.errors import ModelError, VerifyError
from aboard.importers import load
from aboard.ir import DType, Node, Quantization, Tensor, TensorType
from aboard.kernels.select import strategy
from aboard.ops import get
from aboard.ops.reduction import ReductionAttributes
from aboard.target import Target
from support import one_op, oracle, sanitized
from support.element_models import Value, build, check_near, feed, quantized, real, refusal, seeds
from support.examples import examples
from support.tflite_builder import ModelBuilder

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=5).map(tuple)


def axes_value(axes: list[int]) -> Value:
    return Value((len(axes),), np.int32, data=np.array(axes, np.int32))


def result_shape(shape: tuple[int, ...], axes: list[int], keep: bool) -> tuple[int, ...]:
    reduced = {axis % len(shape) for axis in axes}
    if keep:
        return tuple(1 if axis in reduced else extent for axis, extent in enumerate(shape))
    return tuple(extent for axis, extent in enumerate(shape) if axis not in reduced)


def some_axes(rank: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(-rank, rank - 1), min_size=1, max_size=rank)


@settings(max_examples=examples(50), deadline=None)
@given(st.data(), shapes, st.booleans(), seeds)
def test_int8_equals_the_reference(data: st.DataObject, shape: tuple[int, ...], keep: bool, seed: int) -> None:
    axes = data.draw(some_axes(len(shape)))
    operand, result = data.draw(quantized(shape)), data.draw(quantized(result_shape(shape, axes, keep)))
    model = build("MEAN", [operand, axes_value(axes)], result, {"KeepDims": keep})
    one_op.check_equal(model, *feed([operand], seed))


@settings(max_examples=examples(20), deadline=None)
@given(st.data(), shapes, st.booleans(), seeds)
def test_float_is_near_the_reference(data: st.DataObject, shape: tuple[int, ...], keep: bool, seed: int) -> None:
    axes = data.draw(some_axes(len(shape)))
    operand, result = real(shape), real(result_shape(shape, axes, keep))
    model = build("MEAN", [operand, axes_value(axes)], result, {"KeepDims": keep})
    check_near(model, *feed([operand], seed), relative=1e-6)


@pytest.mark.parametrize("value", [-128, 127])
def test_many_elements_at_their_extremes(value: int) -> None:
    operand, result = Value((1, 96, 96, 2), np.int8, 0.05, -128), Value((1, 2), np.int8, 0.02, 100)
    model = build("MEAN", [operand, axes_value([1, 2])], result, {"KeepDims": False})
    one_op.check_equal(model, np.full(operand.shape, value, np.int8))


@pytest.mark.parametrize("opt", ["size", "speed"])
def test_layers_that_share_code(opt: str) -> None:
    builder = ModelBuilder()
    for name, shape in (("a", (2, 3, 4, 5)), ("b", (2, 1, 1, 5)), ("c", (1, 1, 1, 5))):
        builder.tensor(name, shape, np.int8, scale=0.1 / len(name), zero_point=shape[0])
    builder.tensor("i", (2,), np.int32, data=[1, 2]).tensor("j", (1,), np.int32, data=[0])
    builder.op("MEAN", ["a", "i"], ["b"], {"KeepDims": True})
    model = builder.op("MEAN", ["b", "j"], ["c"], {"KeepDims": True}).build(["a"], ["c"])
    (x,) = feed([Value((2, 3, 4, 5))], 5)
    (result,) = one_op.compiled(model, x, attributes=f"-opt={opt}")
    np.testing.assert_array_equal(result, oracle.tflm(model, x)[0])


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_generated_c_is_clean(dtype: type, tmp_path: Path) -> None:
    operand = Value((2, 3, 4, 5), dtype, 0.1 if dtype is np.int8 else None, 0)
    model = build("MEAN", [operand, axes_value([0, 2])], replace(operand, shape=(3, 5)), {"KeepDims": False})
    (x,) = feed([operand], 6)
    (result,) = sanitized.run(aboard.compile(model, target=one_op.HOST, name="model"), {"x0": x}, tmp_path).values()
    np.testing.assert_allclose(result, oracle.tflm(model, x)[0], rtol=1e-6)


def test_refusals() -> None:
    operand, result = Value((2, 3), np.int8, 0.5, 3), Value((2,), np.int8, 0.5, 3)
    message = refusal("MEAN", [operand, axes_value([2])], result, {"KeepDims": False})
    assert "axes, got [2], expected numbers in [-2, 1]. Export the model again" in message
    message = refusal("MEAN", [operand, Value((1,), np.int32)], result, {"KeepDims": False})
    assert "is computed at run time, expected a constant" in message
    message = refusal("MEAN", [operand, axes_value([1])], real((2,)), {"KeepDims": False})
    assert "element types, got int8, float32, expected int8 or int16 or float32 for all of them" in message
    message = refusal("MEAN", [replace(operand, scale=None), axes_value([1])], result, {"KeepDims": False})
    assert "quantisation of x0, got none" in message


def test_verifier_names_the_broken_rule() -> None:
    operand = Value((2, 3), np.int8, 0.5, 3)
    node = load(build("MEAN", [operand, axes_value([1])], replace(operand, shape=(2,)), {}), name="model").nodes[0]
    node.attrs = ReductionAttributes((1, 0))
    with pytest.raises(VerifyError, match=r"mean y: axes, got \(1, 0\), expected ascending numbers below 2"):
        get("mean").verify(node)


@pytest.mark.parametrize("dtype", [DType.INT8, DType.FLOAT32])
def test_more_axes_than_the_kernel_counts(dtype: DType) -> None:
    quant = Quantization((0.5,), (0,)) if dtype is DType.INT8 else None
    operand, result = TensorType((2,) * 7, dtype, quant), TensorType((2,) * 6, dtype, quant)
    node = Node("mean", "deep", [Tensor("x", operand)], [Tensor("y", result)], ReductionAttributes((6,)))
    with pytest.raises(ModelError, match=r"mean deep: no implementation .* 7 axes, at most 6 are supported"):
        strategy.choose(node, Target(one_op.HOST))

"""add, sub and mul against tflite-micro, with broadcasting, constants and activations."""

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
from aboard.kernels.portable.arithmetic import short_sum, signature
from aboard.kernels.select import strategy
from aboard.ops import get
from aboard.ops.arithmetic import ArithmeticAttributes
from aboard.target import Target
from support import element_models, one_op, oracle, sanitized
from support.element_models import (
    Value,
    activations,
    build,
    check_near,
    feed,
    floats32,
    quantized,
    real,
    refusal,
    seeds,
)
from support.examples import examples
from support.tflite_builder import ModelBuilder

KINDS = ["ADD", "SUB", "MUL"]
kinds = st.sampled_from(KINDS)
scales = floats32(0.005, 0.5)


@st.composite
def shapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draws two shapes that broadcast together; the second may have fewer axes."""
    whole = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    first, second = (
        tuple(1 if one else extent for one, extent in zip(draw(ones(len(whole))), whole, strict=True)) for _ in "ab"
    )
    return first, second[draw(st.integers(0, len(whole) - 1)) :]


def ones(count: int) -> st.SearchStrategy[list[bool]]:
    return st.lists(st.sampled_from([False, False, True]), min_size=count, max_size=count)


def constant(value: Value, seed: int) -> Value:
    return replace(value, data=element_models.random(np.random.default_rng(seed), value))


@settings(max_examples=examples(50), deadline=None)
@given(st.data(), kinds, shapes(), activations, seeds, st.sampled_from([None, 0, 1]))
def test_int8_equals_the_reference(
    data: st.DataObject, kind: str, pair: tuple[tuple[int, ...], ...], activation: str, seed: int, fixed: int | None
) -> None:
    operands = [data.draw(quantized(shape, scales)) for shape in pair]
    if fixed is not None:
        operands[fixed] = constant(operands[fixed], seed)
    result = data.draw(quantized(np.broadcast_shapes(*pair), scales))
    model = build(kind, operands, result, {"FusedActivationFunction": activation})
    one_op.check_equal(model, *feed(operands, seed))


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize(
    "pair", [((1, 1, 1), (2, 1)), ((2, 1), (1, 1, 1)), ((4, 1), (1, 1, 4, 1)), ((3, 2), (1, 1, 3, 2))]
)
def test_results_in_place_count_rows_as_they_are_broadcast(kind: str, pair: tuple[tuple[int, ...], ...]) -> None:
    operands = [real(shape) for shape in pair]
    model = build(kind, operands, real(np.broadcast_shapes(*pair)), {"FusedActivationFunction": "NONE"})
    check_near(model, *feed(operands, 0), relative=1e-6)


@settings(max_examples=examples(25), deadline=None)
@given(kinds, shapes(), activations, seeds, st.booleans())
def test_float_is_near_the_reference(
    kind: str, pair: tuple[tuple[int, ...], ...], activation: str, seed: int, fixed: bool
) -> None:
    operands = [real(shape) for shape in pair]
    if fixed:
        operands[1] = constant(operands[1], seed)
    model = build(kind, operands, real(np.broadcast_shapes(*pair)), {"FusedActivationFunction": activation})
    check_near(model, *feed(operands, seed), relative=1e-6)


@settings(max_examples=examples(12), deadline=None)
@given(st.data(), kinds, activations)
def test_every_pair_of_int8(data: st.DataObject, kind: str, activation: str) -> None:
    x = np.arange(-128, 128, dtype=np.int8)
    operands = [data.draw(quantized(shape, scales)) for shape in ((256, 1), (1, 256))]
    result = data.draw(quantized((256, 256), scales))
    model = build(kind, operands, result, {"FusedActivationFunction": activation})
    one_op.check_equal(model, x[:, None], x[None, :])


def test_differences_form_ratios_of_scales_in_double_precision() -> None:
    # In single precision two of these pairs would differ.
    x = np.arange(-128, 128).astype(np.int8)
    a, b, result = 0.3661007881164551, 0.2740943729877472, 0.4678608477115631
    values = [Value((256, 1), np.int8, a), Value((1, 256), np.int8, b)]
    model = build("SUB", values, Value((256, 256), np.int8, result), {})
    one_op.check_equal(model, x[:, None], x[None, :])


@pytest.mark.parametrize(("kind", "factor"), [("ADD", 1), ("SUB", -1)])
@pytest.mark.parametrize("zero_points", [(0, 0, 0), (-128, -128, -128), (5, -9, 100)])
def test_equal_scales_need_no_product(kind: str, factor: int, zero_points: tuple[int, ...]) -> None:
    x = np.arange(-128, 128, dtype=np.int8)
    shapes = ((256, 1), (1, 256), (256, 256))
    a, b, result = (Value(shape, np.int8, 0.1, zero) for shape, zero in zip(shapes, zero_points, strict=True))
    model = build(kind, [a, b], result, {"FusedActivationFunction": "NONE"})
    (node,) = load(model, name="model").nodes
    line = short_sum(signature(node))
    assert line is not None
    assert (line.a, line.b, line.shift) == (1, factor, 0)
    one_op.check_equal(model, x[:, None], x[None, :])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("opt", ["size", "speed"])
def test_a_constant_scalar(kind: str, first: bool, opt: str) -> None:
    varying, scalar = Value((2, 3, 4), np.int8, 0.05, 4), Value((), np.int8, 0.03, -7, np.array(55, np.int8))
    operands = [scalar, varying] if first else [varying, scalar]
    model = build(kind, operands, Value((2, 3, 4), np.int8, 0.06, -9), {"FusedActivationFunction": "NONE"})
    module = aboard.compile(model, target=f"{one_op.HOST} -opt={opt}", name="model")
    assert [op.implementation for op in module.manifest.nodes] == ["lookup" if opt == "speed" else "portable_s8"]
    (x,) = feed(operands, 0)
    one_op.check_equal(model, x)
    np.testing.assert_array_equal(module.run(x), oracle.tflm(model, x)[0])


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_a_tensor_with_itself(dtype: type) -> None:
    value = Value((2, 5), dtype, 0.05 if dtype is np.int8 else None, 0)
    builder = ModelBuilder()
    for name in "xy":
        builder.tensor(name, value.shape, dtype, scale=value.scale, zero_point=value.zero_point)
    model = builder.op("ADD", ["x", "x"], ["y"]).build(["x"], ["y"])
    one_op.check_equal(model, *feed([value], 1))


@pytest.mark.parametrize("opt", ["size", "speed"])
def test_layers_that_share_code(opt: str) -> None:
    # With -opt=size both layers call one instance, whose parameters are run-time values.
    builder = ModelBuilder()
    shape = (1, 3, 4, 6)
    for name, scale in zip("abcde", (0.05, 0.03, 0.06, 0.02, 0.07), strict=True):
        builder.tensor(name, shape, np.int8, scale=scale, zero_point=int(scale * 100))
    builder.op("ADD", ["a", "b"], ["c"], {"FusedActivationFunction": "RELU"})
    model = builder.op("SUB", ["c", "d"], ["e"]).build(["a", "b", "d"], ["e"])
    inputs = feed([Value(shape)] * 3, 3)
    (result,) = one_op.compiled(model, *inputs, attributes=f"-opt={opt}")
    np.testing.assert_array_equal(result, oracle.tflm(model, *inputs)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_generated_c_is_clean(kind: str, tmp_path: Path) -> None:
    operands = [Value((256, 1), np.int8, 0.04, -100), Value((1, 256), np.int8, 0.5, 90)]
    model = build(kind, operands, Value((256, 256), np.int8, 0.3, 5))
    x = np.arange(-128, 128, dtype=np.int8)
    module = aboard.compile(model, target=one_op.HOST, name="model")
    (result,) = sanitized.run(module, {"x0": x[:, None], "x1": x[None, :]}, tmp_path).values()
    np.testing.assert_array_equal(result, oracle.tflm(model, x[:, None], x[None, :])[0])


def test_refusals() -> None:
    a, b, y = (Value((2, 3), np.int8, scale, 0) for scale in (0.5, 0.25, 1.0))
    assert "element types, got int8, float32, int8" in refusal("ADD", [a, real((2, 3))], y)
    assert "quantisation of x1, got none" in refusal("MUL", [a, Value((2, 3))], y)
    message = refusal("SUB", [a, replace(b, shape=(2,))], y)
    assert "shapes, got (2, 3) and (2,), expected extents that are equal or 1, counted from the last" in message
    assert "fused activation, got TANH, expected one of NONE, RELU, RELU_N1_TO_1, RELU6" in refusal(
        "ADD", [a, b], y, {"FusedActivationFunction": 4}
    )
    tiny = [replace(value, scale=4e-10) for value in (a, b, y)]
    assert "scale of the result, got 4e-10 with RELU_N1_TO_1, expected more than 4.65661e-10" in refusal(
        "ADD", tiny[:2], tiny[2], {"FusedActivationFunction": "RELU_N1_TO_1"}
    )
    assert "scale of the result, got 1e-07 for operands of 0.5 and 0.25, expected more than" in refusal(
        "ADD", [a, b], replace(y, scale=1e-7)
    )
    assert "scale of the result, got 1e-06 for operands of 0.5 and 0.25, expected more than" in refusal(
        "MUL", [a, b], replace(y, scale=1e-6)
    )


def test_verifier_names_the_broken_rule() -> None:
    value = Value((2, 3), np.int8, 0.5, 0)
    node = load(build("ADD", [value, value], value), name="model").nodes[0]
    node.input(1).type = replace(node.input(1).type, shape=(4,))
    with pytest.raises(VerifyError, match=r"add y: shapes, got \(2, 3\) and \(4,\), expected extents that are equal"):
        get("add").verify(node)
    with pytest.raises(VerifyError, match=r"add y: shapes, got \(2, 3\) and \(4,\)"):
        get("add").infer(node)


@pytest.mark.parametrize("dtype", [DType.INT8, DType.FLOAT32])
def test_more_axes_than_the_kernel_counts(dtype: DType) -> None:
    quant = Quantization((0.5,), (0,)) if dtype is DType.INT8 else None
    value = TensorType((2, 1, 2, 1, 2, 1, 2), dtype, quant)
    node = Node("add", "deep", [Tensor("a", value), Tensor("b", value)], [Tensor("y", value)], ArithmeticAttributes())
    with pytest.raises(ModelError, match=r"add deep: no implementation .* 7 axes, at most 6 are supported"):
        strategy.choose(node, Target(one_op.HOST))

"""quantize and dequantize against tflite-micro."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.errors import VerifyError
from aboard.importers import load
from aboard.ops import get
from support import element_models, one_op, operator_draws, oracle, sanitized
from support.element_models import ALL_INT8, Value, build, check_near, feed, quantized, real, refusal, seeds
from support.examples import examples
from support.scale_draws import Draw
from support.tflite_builder import ModelBuilder

WHOLE = ALL_INT8.shape
ALL_UINT8 = ALL_INT8.view(np.uint8)


@settings(max_examples=examples(25), deadline=None)
@given(quantized(WHOLE), quantized(WHOLE))
def test_int8_to_int8_equals_the_reference(operand: Value, result: Value) -> None:
    one_op.check_equal(build("QUANTIZE", [operand], result), ALL_INT8)


@settings(max_examples=examples(15), deadline=None)
@given(quantized(WHOLE), quantized(WHOLE), st.booleans(), st.booleans())
def test_uint8_equals_the_reference(signed: Value, unsigned: Value, to_unsigned: bool, only_offset: bool) -> None:
    scale = signed.scale if only_offset else unsigned.scale
    unsigned = replace(unsigned, dtype=np.uint8, scale=scale, zero_point=signed.zero_point + 128)
    operand, result = (signed, unsigned) if to_unsigned else (unsigned, signed)
    one_op.check_equal(build("QUANTIZE", [operand], result), ALL_INT8 if to_unsigned else ALL_UINT8)


@settings(max_examples=examples(25), deadline=None)
@given(quantized((3, 40)), seeds)
def test_float_to_int8_equals_the_reference(result: Value, seed: int) -> None:
    (x,) = feed([real(result.shape)], seed, spread=100 * result.scale)
    # Ties, and the last numbers before them.
    x[0] = (np.arange(-20, 20) + 0.5) * np.float32(result.scale)
    x[1] = np.nextafter(x[0], np.float32(0))
    one_op.check_equal(build("QUANTIZE", [real(result.shape)], result), x)


def test_what_no_int8_can_hold_saturates() -> None:
    x = np.array([np.inf, -np.inf, 3e38, -3e38, 1e10, -1e10, np.nan], np.float32)
    model = build("QUANTIZE", [real(x.shape)], Value(x.shape, np.int8, 0.5, 3))
    for results in (one_op.evaluate(model, x), one_op.compiled(model, x)):
        assert results[0].tolist() == [127, -128, 127, -128, 127, -128, -128]


@pytest.mark.parametrize("seed", [0])
def test_int32_equals_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    types = [(np.int8, np.int32), (np.int16, np.int32), (np.int32, np.int8), (np.int32, np.int16)]
    draws = [
        Draw("QUANTIZE", (operator_draws.value(rng, (16, 16), before, (1e-4, 0.1)),), after)
        for before, dtype in types * 6
        for after in [operator_draws.value(rng, (16, 16), dtype, (1e-9 if dtype is np.int32 else 0.001, 0.1))]
    ]
    scaled = [
        replace(draw, operands=tuple(with_scale(rng, v) for v in draw.operands), result=with_scale(rng, draw.result))
        for draw in draws
    ]
    operator_draws.check(scaled, [[anything(rng, *draw.operands)] for draw in scaled])


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
@pytest.mark.parametrize("zero_point", [-32768, 32767, 5])
def test_int16_with_a_zero_point_equals_the_reference(dtype: type, zero_point: int) -> None:
    """As a softmax of int8 leaves it: with the zero point -32768."""
    operand = Value((4, 16), np.int16, 2.0**-16, zero_point)
    x = np.linspace(-32768, 32767, 64, dtype=np.int16).reshape(operand.shape)
    result = Value(operand.shape, dtype, {np.int8: 0.004, np.int16: 2.0**-15, np.int32: 2.0**-15}[dtype], 0)
    one_op.check_equal(build("QUANTIZE", [operand], result), x)


def with_scale(rng: np.random.Generator, value: Value) -> Value:
    """Returns an int32 tensor with a scale, others as they are."""
    return replace(value, scale=float(np.float32(10.0 ** rng.uniform(-8, -1)))) if value.dtype is np.int32 else value


def anything(rng: np.random.Generator, value: Value) -> np.ndarray:
    """Returns values of all magnitudes; among int32 its ends, too."""
    x = element_models.random(rng, value)
    if value.dtype is np.int32:
        x >>= rng.integers(0, 31, x.shape).astype(np.int32)
        x[0, :4] = [-(2**31), 2**31 - 1, 0, -1]
    return x


@settings(max_examples=examples(20), deadline=None)
@given(quantized(WHOLE), st.booleans())
def test_dequantize_equals_the_reference(operand: Value, unsigned: bool) -> None:
    if unsigned:
        operand = replace(operand, dtype=np.uint8, zero_point=operand.zero_point + 128)
    model = build("DEQUANTIZE", [operand], real(WHOLE))
    one_op.check_equal(model, ALL_UINT8 if unsigned else ALL_INT8)


def test_constants_per_channel_and_of_half_precision() -> None:
    weights = np.arange(-6, 6, dtype=np.int8).reshape(3, 4)
    builder = (
        ModelBuilder().tensor("x", (3, 4), np.float32).tensor("y", (3, 4), np.float32).tensor("z", (3, 4), np.float32)
    )
    builder.tensor("w", (3, 4), np.int8, scales=[0.5, 0.25, 2.0], axis=0, data=weights)
    builder.tensor("h", (4,), np.float16, data=np.array([1.5, -2, 0.25, 8], np.float16))
    for name, shape in (("wf", (3, 4)), ("hf", (4,))):
        builder.tensor(name, shape, np.float32)
    builder.op("DEQUANTIZE", ["w"], ["wf"]).op("DEQUANTIZE", ["h"], ["hf"])
    model = builder.op("ADD", ["x", "wf"], ["y"]).op("MUL", ["y", "hf"], ["z"]).build(["x"], ["z"])
    (x,) = feed([real((3, 4))], 0)
    expected = (x + weights * np.array([[0.5], [0.25], [2.0]], np.float32)) * np.array([1.5, -2, 0.25, 8], np.float32)
    for results in (one_op.evaluate(model, x), one_op.compiled(model, x)):
        np.testing.assert_allclose(results[0], expected, rtol=1e-6)


def test_there_and_back() -> None:
    builder = ModelBuilder().tensor("x", (2, 9), np.float32).tensor("q", (2, 9), np.int8, scale=0.25, zero_point=-5)
    model = builder.tensor("y", (2, 9), np.float32).op("QUANTIZE", ["x"], ["q"]).op("DEQUANTIZE", ["q"], ["y"])
    file = model.build(["x"], ["y"])
    check_near(file, *feed([real((2, 9))], 3, spread=10))


@pytest.mark.parametrize("kind", ["QUANTIZE", "DEQUANTIZE"])
def test_generated_c_is_clean(kind: str, tmp_path: Path) -> None:
    integers = Value((2, 9), np.int8, 0.25, -5)
    operand, result = (real((2, 9)), integers) if kind == "QUANTIZE" else (integers, real((2, 9)))
    model = build(kind, [operand], result)
    (x,) = feed([operand], 6, spread=100)
    (got,) = sanitized.run(aboard.compile(model, target=one_op.HOST, name="model"), {"x0": x}, tmp_path).values()
    np.testing.assert_array_equal(got, oracle.tflm(model, x)[0])


def test_refusals() -> None:
    integers = Value((4,), np.int8, 0.5, 0)
    message = refusal("QUANTIZE", [Value((4,), np.int32, 0.5)], Value((4,), np.int32, 0.5))
    assert "element types, got int32 to int32, expected one of float32 to int16, float32 to int8, int16 to" in message
    message = refusal("QUANTIZE", [Value((4,), np.int32, 0.5, 3)], Value((4,), np.int16, 0.5))
    assert "quantisation of x0, got a zero point of 3, expected 0 for int32" in message
    message = refusal("QUANTIZE", [Value((4,), np.int32, 1e6)], Value((4,), np.int8, 1e-6))
    assert "scale of the result, got 1e-06 for an operand of scale 1e+06, expected more than" in message
    assert "quantisation of y, got none" in refusal("QUANTIZE", [real((4,))], Value((4,)))
    message = refusal("DEQUANTIZE", [Value((4,), np.int32, 0.5)], real((4,)))
    assert "got int32 to float32, expected int8 or int16 or uint8 to float32, or a constant of float16" in message
    assert "quantisation of x0, got none" in refusal("DEQUANTIZE", [replace(integers, scale=None)], real((4,)))


def test_verifier_names_the_broken_rule() -> None:
    integers = Value((4,), np.int8, 0.5, 0)
    node = load(build("QUANTIZE", [integers], integers), name="model").nodes[0]
    node.output.type = replace(node.output.type, quant=None)
    with pytest.raises(VerifyError, match="quantize y: quantisation of y, got none, expected one positive scale"):
        get("quantize").verify(node)

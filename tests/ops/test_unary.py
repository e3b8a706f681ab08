"""Element-wise ops of one operand against tflite-micro: rectifiers, hard swish, logistic, tanh."""

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
from aboard.ops.relu import LeakyReluAttributes
from support import one_op, oracle, sanitized
from support.element_models import ALL_INT8, Value, build, check_near, feed, quantized, real, refusal, seeds
from support.examples import examples

KINDS = ["RELU", "RELU6", "LEAKY_RELU", "HARD_SWISH", "LOGISTIC", "TANH"]
WHOLE = ALL_INT8.shape
ALPHA = {"Alpha": 0.3}


def options(kind: str) -> dict[str, float]:
    return ALPHA if kind == "LEAKY_RELU" else {}


def result_of(kind: str, operand: Value, result: Value) -> Value:
    """Returns a result that the reference accepts for the op."""
    if kind == "LOGISTIC":
        return replace(result, scale=1 / 256, zero_point=-128)
    if kind == "TANH":
        return replace(result, scale=1 / 128, zero_point=0)
    if kind == "RELU6":
        return operand
    if kind == "HARD_SWISH":
        return replace(result, scale=max(result.scale, operand.scale / 127))
    return result


@settings(max_examples=examples(40), deadline=None)
@given(st.sampled_from(KINDS), quantized(WHOLE), quantized(WHOLE), st.floats(-2, 2, width=32))
def test_int8_equals_the_reference_for_every_value(kind: str, operand: Value, result: Value, alpha: float) -> None:
    chosen = {"Alpha": alpha} if kind == "LEAKY_RELU" else {}
    one_op.check_equal(build(kind, [operand], result_of(kind, operand, result), chosen), ALL_INT8)


@settings(max_examples=examples(10), deadline=None)
@given(quantized(WHOLE), quantized(WHOLE))
def test_relu_n1_to_1_equals_litert(operand: Value, result: Value) -> None:
    # tflite-micro has no such kernel.
    one_op.check_equal(build("RELU_N1_TO_1", [operand], result), ALL_INT8, reference=oracle.litert_ref)


def test_the_references_disagree_on_relu6_with_a_change_of_scale() -> None:
    # That is why it is refused: tflite-micro clamps as if the result had the operand's scale.
    operand, result = Value(WHOLE, np.int8, 0.1, -10), Value(WHOLE, np.int8, 0.05, -10)
    model = build("RELU6", [operand], result)
    (micro,), (lite,) = oracle.tflm(model, ALL_INT8), oracle.litert_ref(model, ALL_INT8)
    np.testing.assert_array_equal(micro, np.clip(ALL_INT8, -10, 50))
    np.testing.assert_array_equal(lite, np.clip(2 * (ALL_INT8.astype(int) + 10) - 10, -10, 110))


@pytest.mark.parametrize("kind", ["RELU", "RELU6"])
def test_a_clamp_that_needs_no_table(kind: str) -> None:
    value = Value(WHOLE, np.int8, 0.06, -20)
    module = aboard.compile(build(kind, [value], value), target=one_op.HOST, name="model")
    assert [op.implementation for op in module.manifest.nodes] == ["clamp"]
    one_op.check_equal(build(kind, [value], value), ALL_INT8)


@settings(max_examples=examples(25), deadline=None)
@given(st.sampled_from(KINDS), st.lists(st.integers(1, 5), min_size=1, max_size=5), seeds)
def test_float_is_near_the_reference(kind: str, shape: list[int], seed: int) -> None:
    value = real(shape)
    check_near(build(kind, [value], value, options(kind)), *feed([value], seed, spread=5.0), relative=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_float_extremes(kind: str) -> None:
    x = np.array([0, -0.0, 1e-40, -1e-40, 3e38, -3e38, 88, -88, 104, -104, 16.7, -9.1, 3, -3, 6, -6], np.float32)
    value = real(x.shape)
    check_near(build(kind, [value], value, options(kind)), x, relative=1e-6, absolute=1e-44)


@pytest.mark.parametrize("kind", ["RELU", "RELU6", "LEAKY_RELU", "HARD_SWISH", "TANH", "LOGISTIC"])
def test_not_a_number_and_infinities(kind: str) -> None:
    x = np.array([np.nan, np.inf, -np.inf], np.float32)
    value = real(x.shape)
    (result,) = one_op.compiled(build(kind, [value], value, options(kind)), x)
    limits = {"RELU": (np.inf, 0), "RELU6": (6, 0), "LEAKY_RELU": (np.inf, -np.inf)}
    others = {"HARD_SWISH": (np.inf, np.nan), "TANH": (1, -1), "LOGISTIC": (1, 0)}
    np.testing.assert_array_equal(result, np.array([np.nan, *{**limits, **others}[kind]], np.float32))


@pytest.mark.parametrize("kind", KINDS)
def test_generated_c_is_clean(kind: str, tmp_path: Path) -> None:
    operand = Value(WHOLE, np.int8, 0.05, 3)
    model = build(kind, [operand], result_of(kind, operand, Value(WHOLE, np.int8, 0.04, -5)), options(kind))
    module = aboard.compile(model, target=one_op.HOST, name="model")
    (result,) = sanitized.run(module, {"x0": ALL_INT8}, tmp_path).values()
    np.testing.assert_array_equal(result, oracle.tflm(model, ALL_INT8)[0])


def test_refusals() -> None:
    operand, result = Value((4,), np.int8, 0.5, 0), Value((4,), np.int8, 0.25, 0)
    assert "element types, got int8, float32, expected int8 or int16 or float32 for all of them" in refusal(
        "RELU", [operand], real((4,))
    )
    assert "element types, got int32, int32" in refusal("TANH", [Value((4,), np.int32, 0.5)], Value((4,), np.int32, 1))
    assert "quantisation of y, got none, expected one positive scale" in refusal("RELU", [operand], Value((4,)))
    message = refusal("RELU6", [operand], result)
    assert "got int8[4] q(0.5, 0) and int8[4] q(0.25, 0), expected the same" in message
    assert "tflite-micro ignores the difference" in message
    message = refusal("LOGISTIC", [operand], result)
    assert "got scale 0.25 and zero point 0, expected 0.00390625 and -128" in message
    assert "expected 0.0078125 and 0" in refusal("TANH", [operand], result)
    assert "scale of the operand, got 1e-09, expected one between 2^-24 and 2^20" in refusal(
        "TANH", [replace(operand, scale=1e-9)], replace(result, scale=1 / 128)
    )
    assert "expected at least 1/128 of it" in refusal("HARD_SWISH", [replace(operand, scale=64.0)], result)
    message = refusal("LEAKY_RELU", [operand], result, {"Alpha": float("nan")})
    assert "alpha, got nan, expected a finite number" in message
    message = refusal("LEAKY_RELU", [operand], result, {"Alpha": 3e38})
    assert "got 0.25 for an operand of scale 0.5 and a slope of 3e+38, expected more than 1.78814e+31" in message
    for kind in ("RELU", "LEAKY_RELU", "RELU_N1_TO_1"):
        message = refusal(kind, [operand], replace(result, scale=5e-8), options(kind))
        assert "scale of the result, got 5e-08 for an operand of scale 0.5, expected more than 5.96046e-08" in message
    tiny = replace(operand, scale=2.5e-9)
    message = refusal("RELU6", [tiny], tiny)
    assert "scale of the result, got 2.5e-09 with RELU6, expected more than 2.79397e-09" in message
    huge = replace(operand, scale=3e7)
    assert "scale of the operand, got 3e+07, expected less than 2.5e+07" in refusal("HARD_SWISH", [huge], huge)


def test_verifier_names_the_broken_rule() -> None:
    value = Value((4,), np.int8, 0.5, 0)
    node = load(build("LEAKY_RELU", [value], value, ALPHA), name="model").nodes[0]
    node.attrs = LeakyReluAttributes(float("inf"))
    with pytest.raises(VerifyError, match="leaky_relu y: alpha, got inf, expected a finite number"):
        get("leaky_relu").verify(node)

"""log_softmax and l2_normalization against tflite-micro."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from support import operator_draws, scale_draws
from support.element_models import Value, real, refusal, seeds
from support.scale_draws import Draw

RESULTS = {"LOG_SOFTMAX": (1 / 16, 127), "L2_NORMALIZATION": (1 / 128, 0)}


def drawn(rng: np.random.Generator, kind: str, dtype: type) -> Draw:
    shape = (*operator_draws.shape(rng, 3), int(rng.integers(1, 40)))
    operand = operator_draws.value(rng, shape, dtype, (1e-4, 2.0))
    return Draw(kind, (operand,), Value(shape, np.int8, *RESULTS[kind]) if dtype is np.int8 else real(shape))


def narrow(rng: np.random.Generator, value: Value) -> np.ndarray:
    """Draws values that are near each other, in a range drawn anew for each row."""
    if value.dtype is np.float32:
        return (rng.standard_normal(value.shape) * 3).astype(np.float32)
    low = rng.integers(-128, 128, (*value.shape[:-1], 1))
    return np.clip(low + rng.integers(0, int(rng.integers(1, 256)), value.shape), -128, 127).astype(np.int8)


@settings(max_examples=1, deadline=None)
@given(seeds)
def test_floats_are_near_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    draws = [drawn(rng, kind, np.float32) for kind in RESULTS for _ in range(3)]
    operator_draws.check(draws, operator_draws.drawn_values(rng, draws, narrow), relative=1e-5)


@settings(max_examples=2, deadline=None)
@given(seeds)
def test_int8_equals_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    draws = [drawn(rng, kind, np.int8) for kind in RESULTS for _ in range(40)]
    scale_draws.check(draws, operator_draws.drawn_values(rng, draws, narrow))


def test_generated_c_is_clean() -> None:
    rng = np.random.default_rng(0)
    draws = [drawn(rng, kind, np.int8) for kind in RESULTS for _ in range(3)]
    operator_draws.check(draws, operator_draws.drawn_values(rng, draws))


def test_refusals() -> None:
    a, log, unit = Value((4,), np.int8, 0.5, 0), Value((4,), np.int8, 1 / 16, 127), Value((4,), np.int8, 1 / 128, 0)
    assert "rank of the operand, got 0, expected at least 1" in refusal("LOG_SOFTMAX", [real(())], real(()))
    assert "quantisation of the result, got scale 0.5 and zero point 0, expected 0.0625 and 127" in refusal(
        "LOG_SOFTMAX", [a], a
    )
    assert "expected 0.0078125 and 0. Quantise" in refusal("L2_NORMALIZATION", [a], a)
    assert "scale of the operand, got 64, expected one above 2^-26 and at most 32" in refusal(
        "LOG_SOFTMAX", [Value((4,), np.int8, 64.0)], log
    )
    assert "fused activation, got number 1, expected NONE" in refusal(
        "L2_NORMALIZATION", [a], unit, {"FusedActivationFunction": 1}
    )
    wide = Value((40000,), np.int8, 0.5, 0), Value((40000,), np.int8, 1 / 128, 0)
    assert "last axis, got 40000 elements of int8, expected at most 33025" in refusal(
        "L2_NORMALIZATION", wide[:1], wide[1]
    )
    assert "element types, got int16, int16, expected int8 or float32" in refusal(
        "L2_NORMALIZATION", [Value((4,), np.int16, 0.5)], Value((4,), np.int16, 0.5)
    )

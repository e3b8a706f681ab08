"""Functions of one real number against tflite-micro."""

from __future__ import annotations

import numpy as np
import pytest

from support import one_op, operator_draws, oracle, scale_draws
from support.element_models import ALL_INT8, Value, build, real, refusal
from support.scale_draws import Draw, accepted

KINDS = ["ABS", "NEG", "SQUARE", "SQRT", "RSQRT", "EXP", "LOG", "SIN", "COS", "CEIL", "FLOOR", "ROUND", "ELU"]
POSITIVE = ("SQRT", "RSQRT", "LOG")


def values(kind: str, seed: int) -> np.ndarray:
    """Returns numbers of all magnitudes, with ties of roundings and the ends of the type."""
    rng = np.random.default_rng(seed)
    ends = [0.0, -0.0, 0.5, 1.5, -2.5, 2.4999998, 1e-45, 3e38, 8388607.5, -8388609.0, 1e9, 1e30, -88.0, 88.0, np.inf]
    x = np.concatenate([ends, rng.standard_normal(100), rng.standard_normal(100) * 10.0 ** rng.uniform(-30, 30, 100)])
    x = x.astype(np.float32).reshape(5, -1)
    return np.abs(x) if kind in POSITIVE else x


def test_floats_are_near_the_reference() -> None:
    given = [[values(kind, seed)] for seed, kind in enumerate(KINDS)]
    draws = [Draw(kind, (real(x.shape),), real(x.shape)) for kind, (x,) in zip(KINDS, given, strict=True)]
    operator_draws.check(draws, given, relative=4e-7)


@pytest.mark.parametrize(("kind", "spread"), [("ABS", 1.0), ("ELU", 1.0), ("RSQRT", 30.0)])
def test_int8_equals_the_reference_for_every_value(kind: str, spread: float) -> None:
    def drawn(rng: np.random.Generator) -> Draw:
        operand = operator_draws.value(rng, (1, 256), np.int8, (0.001, 0.5))
        if kind == "RSQRT":
            operand = Value((1, 256), np.int8, operand.scale, -128)
        return Draw(kind, (operand,), operator_draws.value(rng, (1, 256), np.int8, (0.01 / spread, 0.5)))

    draws = accepted(drawn, np.random.default_rng(0), 50)
    same = Value((1, 256), np.int8, 0.05, -128)
    assert scale_draws.check([*draws, Draw(kind, (same,), same)], [[ALL_INT8]] * 51) == 51 * 256


def test_abs_of_int16() -> None:
    x = np.arange(-32768, 32768).astype(np.int16).reshape(256, 256)
    scales = [(0.01, 0.01), (0.01, 0.0123), (0.01, 0.004), (None, None)]
    draws = [Draw("ABS", (Value(x.shape, np.int16, a),), Value(x.shape, np.int16, b)) for a, b in scales]
    scale_draws.check(draws, [[x]] * 4)


def test_what_has_no_root_gives_the_largest_value() -> None:
    model = build("RSQRT", [Value((3,), np.int8, 0.1, 5)], Value((3,), np.int8, 0.1, 0))
    x = np.array([4, 5, -128], np.int8)
    for run in (one_op.evaluate, one_op.compiled):
        assert run(model, x)[0].tolist() == [127, 127, 127]


@pytest.mark.parametrize("kind", ["SQRT", "RSQRT", "LOG", "SIN", "COS", "ROUND", "ELU"])
def test_not_a_number(kind: str) -> None:
    x = np.array([np.nan, -1.0, -np.inf], np.float32)
    model = build(kind, [real(x.shape)], real(x.shape))
    np.testing.assert_allclose(one_op.compiled(model, x)[0], oracle.tflm(model, x)[0], rtol=4e-7)


def test_refusals() -> None:
    a = Value((4,), np.int8, 0.5, 0)
    assert "element types, got int8, int8, expected float32 for all of them" in refusal("SIN", [a], a)
    assert "element types, got int16, int16, expected int8 or float32" in refusal(
        "RSQRT", [Value((4,), np.int16, 0.5)], Value((4,), np.int16, 0.5)
    )
    assert "quantisation of x0, got none" in refusal("ABS", [Value((4,))], a)
    assert "scale of the result, got 1e-09 for an operand of scale 0.5, expected more than" in refusal(
        "ABS", [a], Value((4,), np.int8, 1e-9)
    )
    assert (
        "scale of the result, got 1e-07 for an operand of scale 0.5, expected one between 1.3487e-06 and 5792.62"
        in refusal("RSQRT", [a], Value((4,), np.int8, 1e-7))
    )

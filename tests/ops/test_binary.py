"""Functions of two elements against tflite-micro: extremes, squared differences, rectifiers, quotients, int32."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from support import one_op, operator_draws, oracle, scale_draws
from support.element_models import ACTIVATIONS, ALL_INT8, Value, build, real, refusal, seeds
from support.scale_draws import Draw, accepted

INTEGERS = (np.int8, np.int16, np.int32, np.int64)
EXTREMES = (*INTEGERS, np.float32)
KINDS = {
    "ADD": (np.int32,),
    "SUB": (np.int32,),
    "MUL": (np.int32,),
    "MAXIMUM": EXTREMES,
    "MINIMUM": EXTREMES,
    "SQUARED_DIFFERENCE": (np.int8, np.int16, np.int32, np.float32),
    "PRELU": (np.int8, np.int16, np.float32),
    "DIV": (np.int8, np.int32, np.float32),
    "FLOOR_DIV": (np.float32,),
    "FLOOR_MOD": (np.float32,),
}
ROWS = [(kind, dtype) for kind, dtypes in KINDS.items() for dtype in dtypes]

#: Of operands, and of the result where it is not that of the operands.
SCALES = (0.01, 0.2)
RESULTS = {"SQUARED_DIFFERENCE": (0.1, 10.0), "PRELU": (0.01, 0.2), "DIV": (0.01, 0.2)}


def drawn(kind: str, dtype: type, rng: np.random.Generator) -> Draw:
    types = (dtype, np.int8 if (kind, dtype) == ("PRELU", np.int16) else dtype)
    # The reference ends the process at a rectifier of more axes.
    extents = operator_draws.shapes(rng, 2, rank=4 if kind == "PRELU" else 5)
    operands = tuple(operator_draws.value(rng, *each, SCALES) for each in zip(extents, types, strict=True))
    result = operator_draws.value(rng, operator_draws.whole(operands), dtype, RESULTS.get(kind, SCALES))
    options = {}
    if kind in ("SUB", "MUL", "DIV"):
        options = {"FusedActivationFunction": str(rng.choice(ACTIVATIONS))}
    return Draw(kind, operands, result, options)


def without_zero(draw: Draw, values: list[np.ndarray]) -> list[np.ndarray]:
    """Returns values of a quotient that the reference defines."""
    if draw.kind not in ("DIV", "FLOOR_DIV") or (draw.result.dtype is np.float32 and draw.kind == "DIV"):
        return values
    x, y = values
    zero = draw.operands[1].zero_point
    return [x, np.where(y == zero, zero + (1 if zero < 100 else -1), y).astype(y.dtype)]


@settings(max_examples=1, deadline=None)
@given(seeds)
def test_results_equal_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    draws = [accepted(lambda r, k=kind, t=dtype: drawn(k, t, r), rng, 2) for kind, dtype in ROWS]
    flat = [draw for each in draws for draw in each]
    values = operator_draws.drawn_values(rng, flat)
    operator_draws.check(flat, [without_zero(*each) for each in zip(flat, values, strict=True)])


def test_every_quotient_of_int8() -> None:
    a, b, result = (Value(x, np.int8, 0.1, zero) for x, zero in (((256, 1), 3), ((1, 255), -128), ((256, 255), -9)))
    x, y = ALL_INT8.reshape(256, 1), ALL_INT8[:, 1:]
    one_op.check_equal(build("DIV", [a, b], result), x, y, run=scale_draws.kernels)


def test_integers_divided_by_0_give_0() -> None:
    lowest = -(2**31)
    x, y = np.array([7, -7, lowest, lowest], np.int32), np.array([0, 0, 0, -1], np.int32)
    model = build("DIV", [Value((4,), np.int32)] * 2, Value((4,), np.int32))
    small = build("DIV", [Value((4,), np.int8, 0.5, 3)] * 2, Value((4,), np.int8, 0.5, -9))
    for run in (one_op.evaluate, one_op.compiled):
        assert run(model, x, y)[0].tolist() == [0, 0, 0, lowest]
        assert run(small, np.array([3, 4, -128, 127], np.int8), np.full(4, 3, np.int8))[0].tolist() == [-9] * 4


def test_quotients_and_remainders_of_floats_at_their_ends() -> None:
    ends = [0.0, -0.0, 1.0, -1.0, 0.1, 1e-45, -1e-45, 1e-30, 3e38, -3e38, 16777217.0, 1e9, -7e11, 8e11, np.inf, -np.inf]
    rng = np.random.default_rng(0)
    drawn_ends = rng.standard_normal(16) * 10.0 ** rng.uniform(-38, 38, 16)
    x = np.array([*ends, np.nan, *drawn_ends], np.float32)
    pairs = np.repeat(x, x.size), np.tile(x, x.size)
    model = build("FLOOR_MOD", [real(pairs[0].shape)] * 2, real(pairs[0].shape))
    for run in (oracle.tflm, one_op.evaluate):
        np.testing.assert_array_equal(one_op.compiled(model, *pairs)[0], run(model, *pairs)[0])
    # The reference ends where any divisor is 0.
    model = build("FLOOR_DIV", [real(pairs[0].shape)] * 2, real(pairs[0].shape))
    (expected,), (got,) = one_op.evaluate(model, *pairs), one_op.compiled(model, *pairs)
    np.testing.assert_array_equal(got, expected)
    divisible = (pairs[0][pairs[1] != 0], pairs[1][pairs[1] != 0])
    model = build("FLOOR_DIV", [real(divisible[0].shape)] * 2, real(divisible[0].shape))
    np.testing.assert_array_equal(got[pairs[1] != 0], oracle.tflm(model, *divisible)[0])


def test_refusals() -> None:
    a, wide = Value((4,), np.int8, 0.5, 0), Value((4,), np.int64)
    assert "element types, got int64, int64, int64, expected int8 or int16 or int32 or float32" in refusal(
        "ADD", [wide] * 2, wide
    )
    assert "got int16, int16, int16, expected int8 or float32 or int16 and int8 to int16" in refusal(
        "PRELU", [Value((4,), np.int16, 0.5)] * 2, Value((4,), np.int16, 0.5)
    )
    assert "element types, got int32, int32, int32, expected float32" in refusal(
        "FLOOR_MOD", [Value((4,), np.int32)] * 2, Value((4,), np.int32)
    )
    scaled = Value((4,), np.int32, 0.5)
    assert "quantisation of x0, got int32[4] q(0.5, 0), expected none for int32" in refusal("SUB", [scaled] * 2, scaled)
    plain = Value((4,), np.int32)
    assert "fused activation of int32, got RELU, expected NONE. tflite-micro ignores it" in refusal(
        "ADD", [plain] * 2, plain, {"FusedActivationFunction": "RELU"}
    )
    assert "shapes, got (4,) and (3,), expected extents" in refusal("MAXIMUM", [plain, Value((3,), np.int32)], plain)
    for kind, result, expected in (
        ("SQUARED_DIFFERENCE", 1e-6, "more than 6.10352e-05"),
        ("PRELU", 1e-9, "more than 5.96046e-08"),
        ("PRELU", 1e-5, "more than 1.52588e-05"),
        ("DIV", 1e-7, "more than 2.38419e-07"),
        ("DIV", 1e8, "less than 3.35544e+07"),
    ):
        message = refusal(kind, [a, a], Value((4,), np.int8, result))
        assert f"scale of the result, got {np.float32(result):g} for" in message
        assert f"expected {expected}" in message

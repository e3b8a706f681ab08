"""Comparisons, logic and select against tflite-micro."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from aboard.importers import load
from aboard.kernels.select.strategy import choose
from aboard.target import Target
from support import one_op, operator_draws, scale_draws
from support.element_models import ALL_INT8, Value, build, real, refusal, seeds
from support.scale_draws import Draw

ORDERED = (np.int8, np.int32, np.int64, np.float32)
KINDS = {
    **dict.fromkeys(("EQUAL", "NOT_EQUAL"), (*ORDERED, np.bool_)),
    **dict.fromkeys(("GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"), ORDERED),
    **dict.fromkeys(("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT"), (np.bool_,)),
    "SELECT_V2": (np.int8, np.int16, np.float32),
}
ROWS = [(kind, dtype) for kind, dtypes in KINDS.items() for dtype in dtypes]


def drawn(rng: np.random.Generator, kind: str, dtype: type) -> Draw:
    types = [dtype, dtype]
    if kind == "SELECT_V2":
        types = [np.bool_, dtype, dtype]
    elif kind == "LOGICAL_NOT":
        types = [dtype]
    extents = operator_draws.shapes(rng, len(types))
    operands = tuple(operator_draws.value(rng, *each, (0.001, 0.9)) for each in zip(extents, types, strict=True))
    if len(operands) == 2 and rng.random() < 0.3:
        operands = operands[0], replace(operands[1], scale=operands[0].scale, zero_point=operands[0].zero_point)
    result = operator_draws.value(rng, operator_draws.whole(operands), dtype, (0.1, 0.2))
    return Draw(kind, operands, result if kind == "SELECT_V2" else Value(result.shape, np.bool_))


def alike(rng: np.random.Generator, value: Value) -> np.ndarray:
    """Draws values of which many are equal."""
    if value.dtype is np.bool_:
        return rng.random(value.shape) < 0.5
    return rng.integers(-3, 4, value.shape).astype(value.dtype)


@settings(max_examples=1, deadline=None)
@given(seeds)
def test_results_equal_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    draws = [drawn(rng, *row) for row in ROWS for _ in range(2)]
    operator_draws.check(draws, operator_draws.drawn_values(rng, draws, alike))


@pytest.mark.parametrize("kind", ["EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"])
def test_every_pair_of_int8(kind: str) -> None:
    # Of the small scale several values are compared as equal.
    scales = [((0.01, 5), (0.01, 5)), ((0.002, 5), (0.002, 5)), ((0.01, -128), (0.0123, 127))]
    draws = [
        Draw(kind, (Value((256, 1), np.int8, *a), Value((1, 256), np.int8, *b)), Value((256, 256), np.bool_))
        for a, b in scales
    ]
    pair = [ALL_INT8.reshape(256, 1), ALL_INT8]
    assert scale_draws.check(draws, [pair] * 3) == 3 * 65536


@pytest.mark.parametrize(("scale", "used"), [(0.01, "raw_s8"), (0.001, "lookup")])
def test_a_constant_scalar(scale: float, used: str) -> None:
    constant = Value((), np.int8, scale, 5, np.array(-7, np.int8))
    model = build("GREATER", [Value((1, 256), np.int8, scale, 5), constant], Value((1, 256), np.bool_))
    (node,) = load(model, name="model").nodes
    assert choose(node, Target(one_op.HOST)).implementation.name == used
    one_op.check_equal(model, ALL_INT8)


def test_not_a_number_is_not_equal_to_itself() -> None:
    x = np.array([np.nan, np.inf, 0.0, -0.0], np.float32)
    kinds = {
        "EQUAL": [False, True, True, True],
        "GREATER_EQUAL": [False, True, True, True],
        "NOT_EQUAL": [True] + [False] * 3,
    }
    for kind, expected in kinds.items():
        model = build(kind, [real((4,))] * 2, Value((4,), np.bool_))
        assert one_op.compiled(model, x, x)[0].tolist() == expected


def test_refusals() -> None:
    flags, a, wide = Value((4,), np.bool_), Value((4,), np.int8, 0.5, 0), Value((4,), np.int16, 0.5, 0)
    # The reference would compare int16 with scales that it never sets.
    assert "got int16, int16, bool, expected int8 and int8 to bool or int32 and int32 to bool" in refusal(
        "GREATER", [wide] * 2, flags
    )
    assert "got bool, bool, bool, expected int8 and int8" in refusal("LESS", [flags] * 2, flags)
    assert "got int8, int8, bool, expected bool. Convert" in refusal("LOGICAL_OR", [a] * 2, flags)
    assert "got bool, int32, int32, int32, expected bool and int8 and int8 to int8" in refusal(
        "SELECT_V2", [flags, *[Value((4,), np.int32)] * 2], Value((4,), np.int32)
    )
    assert "quantisation of x1, got none, expected one positive scale" in refusal("EQUAL", [a, Value((4,))], flags)
    assert "scale of x0, got 1, expected less than 1, which tflite-micro compares" in refusal(
        "EQUAL", [replace(a, scale=1.0), a], flags
    )

"""cast against tflite-micro."""

from __future__ import annotations

import itertools

import numpy as np

from support import one_op, operator_draws
from support.element_models import Value, build, random, real, refusal
from support.scale_draws import Draw

OPERANDS = (np.bool_, np.int8, np.int16, np.int32, np.uint32, np.float32)
RESULTS = (np.int8, np.int16, np.int32, np.uint32, np.float32, np.bool_)


def test_every_pair_of_types() -> None:
    rng = np.random.default_rng(0)
    draws, values = [], []
    for before, after in itertools.product(OPERANDS, RESULTS):
        shape = operator_draws.shape(rng)
        operand = Value(shape, before)
        draws.append(Draw("CAST", (operand,), Value(shape, after)))
        # What the result cannot hold is not defined for floats.
        largest = 1e9 if after in (np.int32, np.uint32) else 100.0
        lowest = 0.0 if after is np.uint32 else -largest
        values.append(
            [np.clip(random(rng, operand, 50.0), lowest, largest) if before is np.float32 else random(rng, operand)]
        )
    operator_draws.check(draws, values)


def test_what_no_integer_holds() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 2147483520.0, 300.7, -300.7], np.float32)
    for dtype, expected in (
        (np.int32, [0, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 2147483520, 300, -300]),
        (np.uint32, [0, 2**32 - 1, 0, 3000000000, 0, 2147483520, 300, 0]),
        (np.int8, [0, -1, 0, -1, 0, -128, 44, -44]),
        (np.bool_, [True] * 8),
    ):
        model = build("CAST", [real(x.shape)], Value(x.shape, dtype))
        for run in (one_op.evaluate, one_op.compiled):
            assert run(model, x)[0].tolist() == expected


def test_refusals() -> None:
    expected = "expected bool to int8 or bool to int16"
    assert f"element types, got int64, int32, {expected}" in refusal(
        "CAST", [Value((4,), np.int64)], Value((4,), np.int32)
    )
    assert f"element types, got float32, int64, {expected}" in refusal("CAST", [real((4,))], Value((4,), np.int64))

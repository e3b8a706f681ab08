"""add_n against tflite-micro."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from support import operator_draws
from support.element_models import Value, real, refusal, seeds
from support.scale_draws import Draw


def drawn(rng: np.random.Generator, dtype: type) -> Draw:
    operand = operator_draws.value(rng, operator_draws.shape(rng), dtype, (0.01, 0.1))
    result = operator_draws.value(rng, operand.shape, dtype, (0.01, 0.5))
    return Draw("ADD_N", (operand,) * int(rng.integers(2, 16)), result)


@settings(max_examples=1, deadline=None)
@given(seeds)
def test_sums_equal_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    draws = [drawn(rng, dtype) for dtype in (np.int8, np.float32) * 3]
    operator_draws.check(draws, operator_draws.drawn_values(rng, draws))


def test_refusals() -> None:
    a, b = Value((4,), np.int8, 0.5, 0), Value((4,), np.int8, 0.25, 0)
    assert "operands, got 1, expected at least 2" in refusal("ADD_N", [a], a)
    assert "operands, got int8[4] q(0.5, 0) and int8[4] q(0.25, 0), expected one shape" in refusal("ADD_N", [a, b], a)
    assert "operands of int8, got 16, expected at most 15. Add them in groups" in refusal("ADD_N", [a] * 16, a)
    assert "got int32, int32, int32, expected int8 or float32" in refusal(
        "ADD_N", [Value((4,), np.int32)] * 2, Value((4,), np.int32)
    )
    assert "scale of the result, got 1e-07 for operands of 0.5 and 0.5, expected more than 1.90735e-06" in refusal(
        "ADD_N", [a, a], Value((4,), np.int8, 1e-7)
    )
    assert "element types, got int8, float32, int8" in refusal("ADD_N", [a, real((4,))], a)

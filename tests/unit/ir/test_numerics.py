"""The fixed-point arithmetic that everything integer rests on."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import ModelError
from aboard.ir import numerics

INT32 = st.integers(numerics.INT32_MIN, numerics.INT32_MAX)


@given(st.floats(1e-9, 1e6))
def test_multiplier_is_the_nearest_31_bit_mantissa(real: float) -> None:
    multiplier, shift = numerics.quantize_multiplier(real)
    assert 1 << 30 <= multiplier < 1 << 31
    error = abs(Fraction(multiplier) * Fraction(2) ** (shift - 31) - Fraction(real))
    assert error <= Fraction(2) ** (shift - 32)


def test_multipliers_at_the_ends() -> None:
    assert numerics.quantize_multiplier(0.0) == (0, 0)
    assert numerics.quantize_multiplier(2.0**-40) == (0, 0)
    assert numerics.quantize_multiplier(1.0) == (1 << 30, 1)
    assert numerics.quantize_multiplier(1.0 - 2.0**-40) == (1 << 30, 1)
    assert numerics.quantize_multiplier(2.0**40) == (1 << 30, 41)


@pytest.mark.parametrize("real", [math.inf, math.nan])
def test_a_ratio_of_scales_must_be_finite(real: float) -> None:
    with pytest.raises(ModelError) as caught:
        numerics.quantize_multiplier(real)
    assert f"quantisation: ratio of scales, got {real}, expected a finite number" in str(caught.value)


@settings(max_examples=200)
@given(INT32, st.integers(1 << 30, numerics.INT32_MAX))
def test_high_multiplication_rounds_ties_up(a: int, b: int) -> None:
    expected = math.floor(Fraction(a * b, 1 << 31) + Fraction(1, 2))
    assert int(numerics.saturating_doubling_high_mul(a, b)) == min(expected, numerics.INT32_MAX)


@settings(max_examples=200)
@given(INT32, st.integers(0, 31))
def test_division_by_a_power_rounds_ties_away_from_zero(x: int, exponent: int) -> None:
    exact = Fraction(abs(x), 1 << exponent)
    expected = math.floor(exact + Fraction(1, 2)) * (1 if x >= 0 else -1)
    assert int(numerics.rounding_divide_by_pot(x, exponent)) == expected


@given(st.integers(-(2**62), 2**62))
def test_wrap_is_that_of_a_register(x: int) -> None:
    assert int(numerics.wrap32(x)) == (x + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize(("x", "expected"), [(0.5, 1), (-0.5, -1), (2.5, 3), (-2.49, -2), (0.0, 0)])
def test_round_half_away(x: float, expected: int) -> None:
    assert numerics.round_half_away(x) == expected

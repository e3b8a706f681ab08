"""The second rounding as a product, against TFLite's division, on both sides of every tie and at the ends."""

from __future__ import annotations

import numpy as np
import pytest

from aboard.ir.numerics import INT32_MAX, INT32_MIN, Int64
from aboard.kernels.arm_mve.rescale import second_factors
from aboard.kernels.single_rounding import DoubleRounding


def _product(x: Int64, factor: int) -> Int64:
    return (x * factor + (1 << 30)) >> 31


def _near_ties(multiplier: int, shift: int, zero_point: int) -> Int64:
    """Returns accumulators around each threshold of a result of int8, and in between."""
    steps = DoubleRounding(multiplier, shift, zero_point, -128, 127, INT32_MIN, INT32_MAX)
    _, firsts = steps.thresholds()
    near = np.concatenate([firsts + away for away in range(-4, 5)])
    return near[(near >= INT32_MIN) & (near <= INT32_MAX)]


@pytest.mark.parametrize("right", range(16))
@pytest.mark.parametrize("multiplier", [1 << 30, 1518500250, INT32_MAX])
@pytest.mark.parametrize("zero_point", [-128, -3, 0, 127])
def test_products_round_as_tflite_wherever_a_factor_is_given(right: int, multiplier: int, zero_point: int) -> None:
    for reach in (1 << 12, 1 << 17, 1 << 22, INT32_MAX):
        ends = np.array([[-reach], [reach]])
        found = second_factors(ends, np.array([multiplier]), np.array([-right]))
        if right <= 11:
            assert found is not None
        if found is None:
            continue
        near = _near_ties(multiplier, -right, zero_point)
        spread = np.linspace(-reach, reach, 4001).astype(np.int64)
        sums = np.concatenate([near[np.abs(near) <= reach], spread])
        steps = DoubleRounding(multiplier, -right, zero_point, -128, 127, -reach, reach)
        scaled = _product(_product(sums, multiplier), int(found[0]))
        assert np.array_equal(np.clip(scaled + zero_point, -128, 127), [steps.value(int(a)) for a in sums])


def test_a_channel_of_tiny_results_is_zero_by_its_factor() -> None:
    found = second_factors(np.array([[-1000, -1], [1000, 1]]), np.array([1 << 30, 1 << 30]), np.array([-25, -1]))
    assert found is not None
    assert found.tolist() == [0, (1 << 30) + 1]


def test_large_sums_with_large_shifts_have_no_factor() -> None:
    ends, one = np.array([[-(1 << 28)], [1 << 28]]), np.array([1 << 30])
    assert second_factors(ends, one, np.array([-13])) is None
    assert second_factors(np.array([[-(1 << 17)], [1 << 17]]), one, np.array([-13])) is not None


def test_sums_beyond_32_bits_have_no_factor() -> None:
    ends = np.array([[0], [INT32_MAX + 1]])
    assert second_factors(ends, np.array([1 << 30]), np.array([-8])) is None


@pytest.mark.parametrize(("right", "bits"), [(3, 28), (15, 16)])
def test_the_bounds_of_literal_shifts_hold(right: int, bits: int) -> None:
    """`arm_mve/elementwise.h`: operands of sums are below 2**28, products below 2**16."""
    half = (1 << right) >> 1
    ties = np.arange(-(1 << bits) + half, 1 << bits, 1 << right)[:: max(1, (1 << bits >> right) // 20_000)]
    x = np.concatenate([ties + away for away in (-1, 0, 1)])
    x = x[np.abs(x) < 1 << bits]
    expected = np.sign(x) * ((np.abs(x) + half) >> right)
    assert np.array_equal(_product(x, (1 << (31 - right)) + 1), expected)

"""One-line sums and products: equal to the long form for every operand, or not used."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.ir.numerics import multiply_by_quantized_multiplier, quantize_multiplier
from aboard.kernels.portable import short_form

X = np.arange(-128, 128, dtype=np.int64)


def test_constant_between_its_bounds() -> None:
    line, expected = np.array([-8, 0, 8, 16]), np.array([0, 0, 1, 2])
    constant = short_form.constant_for(line, expected, 3, 0, 2)
    assert constant is not None
    np.testing.assert_array_equal(np.clip((line + constant) >> 3, 0, 2), expected)


def test_no_constant() -> None:
    assert short_form.constant_for(np.array([0, 1, 8]), np.array([1, 0, 2]), 3, -128, 127) is None


def test_results_that_are_all_clamped() -> None:
    everywhere = np.full(4, -128)
    constant = short_form.constant_for(np.arange(4), everywhere, 2, -128, 127)
    assert constant is not None
    assert np.clip((np.arange(4) + constant) >> 2, -128, 127).tolist() == everywhere.tolist()


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 2), st.floats(-2, 2), st.integers(-300, 300), st.integers(-128, 0))
def test_sum(a: float, b: float, offset: int, low: int) -> None:
    expected = np.clip(np.rint(a * X[:, None] + b * X[None, :] + offset).astype(np.int64), low, 127)
    line = short_form.of_sum((a, b), expected, low, 127)
    if line is not None:
        total = line.a * X[:, None] + line.b * X[None, :] + line.constant
        assert int(np.abs(total).max()) < 2**31
        np.testing.assert_array_equal(np.clip(total >> line.shift, low, 127), expected)


def test_most_sums_have_a_line() -> None:
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(20):
        a, b = rng.uniform(0.1, 1.5, 2)
        expected = np.clip(np.floor(a * X[:, None] + b * X[None, :] - 128 + 0.5).astype(np.int64), -128, 127)
        found += short_form.of_sum((a, b), expected, -128, 127) is not None
    assert found == 20


@settings(max_examples=25, deadline=None)
@given(st.floats(1e-4, 3), st.integers(-128, 127), st.integers(-128, 127), st.sampled_from([-128, 0, 17]))
def test_product(ratio: float, zero_a: int, zero_b: int, zero_out: int) -> None:
    products = (X[:, None] - zero_a) * (X[None, :] - zero_b)
    scaled = multiply_by_quantized_multiplier(products, *quantize_multiplier(ratio)) + zero_out
    expected = np.clip(scaled, -128, 127)
    line = short_form.of_product(ratio, products, expected, -128, 127)
    # Where results have one sign there always is a line; ties away from zero need two.
    assert line is not None or zero_out != -128
    if line is not None:
        total = (line.a * products + line.constant) >> line.shift
        assert int(np.abs(total).max()) < 2**31
        np.testing.assert_array_equal(np.clip(total, -128, 127), expected)


def test_where_the_limits_alone_give_the_result_the_constant_is_nothing() -> None:
    assert short_form.constant_for(np.arange(-9, 9), np.full(18, 127), 0, 127, 127) == 0

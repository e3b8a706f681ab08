"""Fixed-point exponential, logistic and tanh, bit for bit equal to TFLite's integer kernels, in numpy.

A 32-bit value `raw` with `integer_bits` integer bits represents raw / 2**(31 - integer_bits). The formulas are from
gemmlowp's `fixedpoint.h`: a Taylor series on [-1/4, 0), a product of constants for the bits above, and Newton's
method for quotients. All functions take and return int64 arrays that hold 32-bit values.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from aboard.ir.numerics import INT32_MAX, INT32_MIN, Int64, rounding_divide_by_pot, wrap32
from aboard.ir.numerics import saturating_doubling_high_mul as multiply

#: 1 without integer bits (the nearest value), and with two.
ONE_Q0, ONE_Q2 = INT32_MAX, 1 << 29

_EXP_MINUS_EIGHTH = 1895147668
_ONE_THIRD = 715827883
_EXP_OF_BITS = {-2: 1672461947, -1: 1302514674, 0: 790015084, 1: 290630308, 2: 39332535, 3: 720401, 4: 242}
_ROOT_OF_HALF = 1518500250
_48_OVER_17, _MINUS_32_OVER_17 = 1515870810, -1010580540


def _shift_left_saturating(x: npt.ArrayLike, exponent: npt.ArrayLike) -> Int64:
    shifted: Int64 = np.clip(np.asarray(x, np.int64) << np.asarray(exponent, np.int64), INT32_MIN, INT32_MAX)
    return shifted


def _exp_of_last_quarter(x: Int64) -> Int64:
    """Returns e**x for x in [-1/4, 0), without integer bits."""
    y = x + (1 << 28)
    y2 = multiply(y, y)
    y3, y4 = multiply(y2, y), multiply(y2, y2)
    series = rounding_divide_by_pot(multiply(rounding_divide_by_pot(y4, 2) + y3, _ONE_THIRD) + y2, 1)
    return _EXP_MINUS_EIGHTH + multiply(_EXP_MINUS_EIGHTH, y + series)


def exp_on_negative_values(x: npt.ArrayLike, integer_bits: int) -> Int64:
    """Returns e**x without integer bits.

    Args:
        x: At most 0.
        integer_bits: Integer bits of `x`; 0 to 5.
    """
    x = np.asarray(x, np.int64)
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    within = (x & (quarter - 1)) - quarter
    result = _exp_of_last_quarter(_shift_left_saturating(within, integer_bits))
    remainder = within - x
    for exponent, factor in _EXP_OF_BITS.items():
        if exponent < integer_bits:
            bit = (remainder >> (fraction_bits + exponent)) & 1
            result = np.where(bit == 1, multiply(result, factor), result)
    return np.where(x == 0, ONE_Q0, result)


def _newton(x: Int64) -> Int64:
    """Returns 1 / ((1 + x) / 2) with two integer bits, for x in [0, 1]."""
    total = x + ONE_Q0
    half = (total + np.where(total >= 0, 1, -1)) // 2
    quotient = _48_OVER_17 + multiply(half, _MINUS_32_OVER_17)
    for _ in range(3):
        error = ONE_Q2 - multiply(half, quotient)
        quotient = quotient + _shift_left_saturating(multiply(quotient, error), 2)
    return quotient


def one_over_one_plus(x: npt.ArrayLike) -> Int64:
    """Returns 1 / (1 + x) for x in [0, 1]; neither has integer bits."""
    return _shift_left_saturating(_newton(np.asarray(x, np.int64)), 1)


def _one_minus_over_one_plus(x: Int64) -> Int64:
    return _shift_left_saturating(_newton(x) - ONE_Q2, 2)


def logistic(x: npt.ArrayLike, integer_bits: int) -> Int64:
    """Returns 1 / (1 + e**-x) without integer bits."""
    x = np.asarray(x, np.int64)
    positive = one_over_one_plus(exp_on_negative_values(-np.abs(x), integer_bits))
    result = np.where(x > 0, positive, ONE_Q0 - positive)
    return np.where(x == 0, 1 << 30, result)


def tanh(x: npt.ArrayLike, integer_bits: int) -> Int64:
    """Returns the hyperbolic tangent without integer bits."""
    x = np.asarray(x, np.int64)
    # Twice x without losing a bit: the same 32 bits with one more integer bit.
    magnitude = _one_minus_over_one_plus(exp_on_negative_values(-np.abs(x), integer_bits + 1))
    result = np.where(x < 0, -magnitude, magnitude)
    return np.where(x == 0, 0, result)


def bit_length(x: Int64) -> Int64:
    """Returns the bits of numbers that are not negative, 0 of 0."""
    lengths: Int64 = np.asarray(np.frompyfunc(int.bit_length, 1, 1)(x), np.int64)
    return lengths


def reciprocal(x: npt.ArrayLike, integer_bits: int) -> tuple[Int64, Int64]:
    """Returns 1 / x as a value in [1/2, 1] without integer bits, and the power of two to divide it by.

    Args:
        x: Above 0; read as an unsigned 32-bit number.
        integer_bits: Integer bits of `x`.
    """
    x = np.asarray(x, np.int64) & 0xFFFFFFFF
    headroom = 32 - bit_length(x)
    return one_over_one_plus(wrap32((x << headroom) - 2**31)), integer_bits - headroom


def inverse_sqrt(x: npt.ArrayLike) -> tuple[Int64, Int64]:
    """Returns 1 / sqrt(x) as multiplier and shift of a requantisation, by five of Newton's steps from 1.

    Args:
        x: At least 0 and less than 2**31; 0 counts as 1.
    """
    pairs = np.frompyfunc(_inverse_sqrt, 1, 2)(np.asarray(x, np.int64))
    return np.asarray(pairs[0], np.int64), np.asarray(pairs[1], np.int64)


@lru_cache(maxsize=4096)
def _inverse_sqrt(x: int) -> tuple[int, int]:
    if x <= 1:
        return INT32_MAX, 0
    right = 11
    while x >= 1 << 29:
        x //= 4
        right += 1
    pairs = (31 - x.bit_length()) // 2 - 1
    right, x = right - pairs, x << 2 * pairs
    # Three integer bits: 1 is 2^28.
    half_input, root = int(rounding_divide_by_pot(x >> 1, 1)), 1 << 28
    for _ in range(5):
        cube = int(_shift_left_saturating(multiply(multiply(root, root), root), 6))
        step = int(multiply((1 << 28) + (1 << 27), root)) - int(multiply(half_input, cube))
        root = int(_shift_left_saturating(step, 3))
    root = int(multiply(root, _ROOT_OF_HALF))
    return (root << -right, 0) if right < 0 else (root, -right)


def log_of_sum(x: npt.ArrayLike) -> Int64:
    """Returns ln(x) with five integer bits, by a rational approximation around the powers of two and their roots.

    Args:
        x: At least 1, with twelve integer bits: at least 2**19.
    """
    x = np.asarray(x, np.int64)
    quarter, root_of_root = 1 << 23, 1805811301
    zeros = 32 - bit_length(x)
    first = _shift_left_saturating(multiply(_shift_left_saturating(x, zeros - 1), _ROOT_OF_HALF), 1)
    first_power = np.minimum(_shift_left_saturating(12 - zeros, 25) + quarter, INT32_MAX)
    headroom = 31 - bit_length(multiply(x, _ROOT_OF_HALF))
    second = _shift_left_saturating(x, headroom)
    second_power = np.maximum(_shift_left_saturating(12 - headroom, 25) - quarter, INT32_MIN)
    r, power = np.minimum(first, second), np.maximum(first_power, second_power)
    # r and root_of_root are positive.
    p = (r + root_of_root + 1) // 2
    q = 2 * (r - root_of_root)
    square = multiply(q, q)
    numerator = multiply(q, r) + multiply(multiply(q, square), 117049297)
    denominator = multiply(p, 1057819769 + q + multiply(127690142, square)) + multiply(638450708, q)
    quotient = multiply(rounding_divide_by_pot(numerator, 6), one_over_one_plus(denominator))
    return _shift_left_saturating(multiply(power, 1488522236) + quotient, 1)

"""The integer arithmetic of TensorFlow Lite for Microcontrollers' reference kernels (double rounding), in numpy.

All functions work on int64 arrays and return the values of the 32-bit C code;
`firmware/kernels/portable/requantize.h` is the same in C. Sources: the gemmlowp fixed-point functions as TFLite defines
them in `kernels/internal/common.h` and `quantization_util.cc`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from aboard.errors import ModelError

Int64 = npt.NDArray[np.int64]
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1

#: Largest shift of a multiplier that `multiply_exactly` takes.
MOST_EXACT_SHIFT = 14


def quantize_multiplier(real: float) -> tuple[int, int]:
    """Splits a real multiplier into a 31-bit mantissa and a power of two.

    Args:
        real: At least 0; formed as a product of doubles.

    Returns:
        `(multiplier, shift)` with real ~ multiplier / 2**31 * 2**shift; multiplier in [2**30, 2**31) or (0, 0) where
        the real multiplier is 0 or too small to matter (shift below -31). The reference is defined for shifts of at
        most 30: ops refuse scales that give more.

    Raises:
        ModelError: The multiplier is not finite: scales that no quantiser chooses.
    """
    if not math.isfinite(real):
        raise ModelError(
            f"quantisation: ratio of scales, got {real}, expected a finite number. Quantise the model again"
        )
    if real == 0.0:
        return 0, 0
    mantissa, shift = math.frexp(real)
    multiplier = math.floor(mantissa * (1 << 31) + 0.5)
    if multiplier == 1 << 31:
        multiplier //= 2
        shift += 1
    if shift < -31:
        return 0, 0
    return multiplier, shift


def wrap32(x: npt.ArrayLike) -> Int64:
    """Returns values as a 32-bit two's complement register would hold them."""
    return ((np.asarray(x, np.int64) + 2**31) & 0xFFFFFFFF) - 2**31


def saturating_doubling_high_mul(a: npt.ArrayLike, b: npt.ArrayLike) -> Int64:
    """Returns round(a * b / 2**31) with ties rounded up: gemmlowp's SaturatingRoundingDoublingHighMul."""
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    rounded: Int64 = np.minimum((product + (1 << 30)) >> 31, INT32_MAX)
    return rounded


def rounding_divide_by_pot(x: npt.ArrayLike, exponent: npt.ArrayLike) -> Int64:
    """Returns round(x / 2**exponent) with ties rounded away from zero: gemmlowp's RoundingDivideByPOT."""
    x, exponent = np.asarray(x, np.int64), np.asarray(exponent, np.int64)
    mask = (np.int64(1) << exponent) - 1
    rounded: Int64 = (x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0))
    return rounded


def multiply_by_quantized_multiplier(x: npt.ArrayLike, multiplier: npt.ArrayLike, shift: npt.ArrayLike) -> Int64:
    """Returns round(round(x * 2**max(shift,0) * multiplier / 2**31) / 2**max(-shift,0)): TFLite's double rounding.

    Args:
        x: int32 values; the left shift wraps as it does in C.
        multiplier: The mantissa from `quantize_multiplier`; broadcast against `x`.
        shift: The shift from `quantize_multiplier`; broadcast against `x`.
    """
    shift = np.asarray(shift, np.int64)
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    shifted = wrap32(np.asarray(x, np.int64) << left)
    return rounding_divide_by_pot(saturating_doubling_high_mul(shifted, multiplier), right)


def multiply_exactly(x: npt.ArrayLike, multiplier: npt.ArrayLike, shift: npt.ArrayLike) -> Int64:
    """Returns round(x * multiplier / 2**31 * 2**shift), ties to even, in one step.

    Args:
        x: Values below 2**47 in absolute value.
        multiplier: The mantissa from `quantize_multiplier`; broadcast against `x`.
        shift: The shift from `quantize_multiplier`, at most `MOST_EXACT_SHIFT`; broadcast against `x`.
    """
    x, multiplier = np.asarray(x, np.int64), np.asarray(multiplier, np.int64)
    # The product has up to 78 bits: 16 of them are kept apart.
    low = (x & 0xFFFF) * multiplier
    high = (x >> 16) * multiplier + (low >> 16)
    right = 15 - np.asarray(shift, np.int64)
    rest = ((high & ((np.int64(1) << right) - 1)) << 16) | (low & 0xFFFF)
    half = np.int64(1) << (right + 15)
    down = high >> right
    rounded: Int64 = down + ((rest > half) | ((rest == half) & (down & 1 == 1)))
    return rounded


def reduced_multiplier(multiplier: npt.ArrayLike) -> Int64:
    """Returns a 31-bit multiplier reduced to 15 bits, for 64-bit sums; 2**15 represents 1."""
    reduced: Int64 = np.minimum((np.asarray(multiplier, np.int64) + (1 << 15)) >> 16, 0x7FFF)
    return reduced


def multiply_wide_by_quantized_multiplier(x: npt.ArrayLike, multiplier: npt.ArrayLike, shift: npt.ArrayLike) -> Int64:
    """Returns round(x * reduced / 2**15 * 2**shift), ties up, wrapped to 32 bits: TFLite's form for int64.

    Args:
        x: Values below 2**47 in absolute value.
        multiplier: The mantissa from `quantize_multiplier`, reduced to 15 bits; broadcast against `x`.
        shift: The shift from `quantize_multiplier`, less than 8; broadcast against `x`.
    """
    right = 15 - np.asarray(shift, np.int64)
    product = np.asarray(x, np.int64) * reduced_multiplier(multiplier)
    return wrap32((product + (np.int64(1) << (right - 1))) >> right)


def quotient32(dividend: float, divisor: float) -> float:
    """Returns a quotient rounded to float32; infinite on overflow."""
    with np.errstate(over="ignore"):
        return float(np.float32(dividend) / np.float32(divisor))


def round_half_away(x: float) -> int:
    """Returns the nearest integer, ties away from zero: C's `round`."""
    return math.floor(abs(x) + 0.5) * (1 if x >= 0 else -1)

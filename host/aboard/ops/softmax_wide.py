"""softmax of int16: TFLite reads exponentials and the reciprocal of their sum from tables; no op of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from aboard.ir.numerics import Int64, multiply_by_quantized_multiplier
from aboard.ops.unary import Float32

_LOW, _HIGH, _RANGE = -32768, 32767, np.float32(65535)

#: Steps of a table; the table has one more entry, for interpolation.
STEPS = 512

#: Smallest difference from the maximum in the table of exponentials, as a real number.
EXPONENT = 10.0

Function = Callable[[Float32], Float32]


@cache
def exponentials() -> Int64:
    """Returns e**x from -10 to 0 as [513]; 32767.5 represents 1."""
    return _table(np.float32(EXPONENT) / _RANGE, _HIGH, lambda x: np.exp(x.astype(np.float64)).astype(np.float32))


@cache
def reciprocals() -> Int64:
    """Returns 1 / (1 + x) from 0 to 1 as [513]; 32767.5 represents 1."""
    return _table(np.float32(1) / _RANGE, _LOW, lambda x: np.float32(1) / (np.float32(1) + x))


def _table(scale: np.float32, zero_point: int, function: Function) -> Int64:
    """Returns float32 samples of a function, corrected by half the interpolation error in the middle of a step."""
    first, last = (scale * np.float32(end - zero_point) for end in (_LOW, _HIGH))
    low, high = (np.float32(2) / _RANGE * np.float32(end) for end in (_LOW, _HIGH))
    step = (last - first) / np.float32(STEPS)
    unit = np.float32(65536) / (high - low)
    number = np.arange(STEPS, dtype=np.float32)
    here, between, after = (
        function(x) * unit
        for x in (
            first + number * step,
            first + number * step + step / np.float32(2),
            first + (number + np.float32(1)) * step,
        )
    )
    sample = _rounded(here)
    error = _rounded((after + sample) / np.float32(2)) - _rounded(between)
    samples = np.append(sample - _rounded(error / np.float32(2)), _rounded(function(np.array([last])) * unit))
    return np.clip(samples, _LOW, _HIGH).astype(np.int64)


def _rounded(x: Float32) -> Float32:
    """Returns the nearest integers, ties away from zero."""
    whole = np.trunc(x)
    rounded: Float32 = whole + np.sign(x) * (np.abs(x - whole) >= np.float32(0.5))
    return rounded.astype(np.float32)


def look_up(x: Int64, table: Int64) -> Int64:
    """Returns interpolated values for int16 arguments; the table starts at -32768."""
    index = (x >> 7) + STEPS // 2
    slope = table[index + 1] - table[index]
    value: Int64 = table[index] + ((slope * (x & 127) + 64) >> 7)
    return value


def softmax(x: Int64, multiplier: int, shift: int) -> Int64:
    """Computes elements over the last axis; 32768 represents 1.

    Args:
        x: The operand.
        multiplier: With `shift`, rescales differences of the operand to steps of 10 / 65535.
        shift: The shift of `multiplier`.
    """
    difference = x - x.max(axis=-1, keepdims=True)
    scaled = multiply_by_quantized_multiplier(difference, multiplier, shift)
    powers = look_up(np.clip(scaled + _HIGH, _LOW, _HIGH), exponentials())
    total = powers.sum(axis=-1, keepdims=True)
    bits = np.frexp(total.astype(np.float64))[1].astype(np.int64)
    # The sum is 1 + x with 16 bits of x, rounded.
    normal = ((total << (31 - bits)) + (1 << 13)) >> 14
    scale = look_up(np.clip(normal - (1 << 15) - (1 << 16), _LOW, _HIGH), reciprocals())
    result: Int64 = (powers * scale + (np.int64(1) << (bits - 2))) >> (bits - 1)
    return np.minimum(np.maximum(result, 0), _HIGH)

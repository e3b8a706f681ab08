"""logistic and tanh of int16, interpolated in TFLite's table; no op of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aboard.ir.numerics import Int64

#: 1 / (1 + e**(-i / 24)) for i = 0 to 255; 65536 represents 1. Some entries differ from the rounded values.
TABLE = np.array([
    32768, 33451, 34133, 34813, 35493, 36169, 36843, 37513, 38180, 38841, 39498, 40149, 40794, 41432, 42064, 42688,
    43304, 43912, 44511, 45102, 45683, 46255, 46817, 47369, 47911, 48443, 48964, 49475, 49975, 50464, 50942, 51409,
    51865, 52311, 52745, 53169, 53581, 53983, 54374, 54755, 55125, 55485, 55834, 56174, 56503, 56823, 57133, 57433,
    57724, 58007, 58280, 58544, 58800, 59048, 59288, 59519, 59743, 59959, 60168, 60370, 60565, 60753, 60935, 61110,
    61279, 61441, 61599, 61750, 61896, 62036, 62172, 62302, 62428, 62549, 62666, 62778, 62886, 62990, 63090, 63186,
    63279, 63368, 63454, 63536, 63615, 63691, 63765, 63835, 63903, 63968, 64030, 64090, 64148, 64204, 64257, 64308,
    64357, 64405, 64450, 64494, 64536, 64576, 64614, 64652, 64687, 64721, 64754, 64786, 64816, 64845, 64873, 64900,
    64926, 64950, 64974, 64997, 65019, 65039, 65060, 65079, 65097, 65115, 65132, 65149, 65164, 65179, 65194, 65208,
    65221, 65234, 65246, 65258, 65269, 65280, 65291, 65301, 65310, 65319, 65328, 65337, 65345, 65352, 65360, 65367,
    65374, 65381, 65387, 65393, 65399, 65404, 65410, 65415, 65420, 65425, 65429, 65433, 65438, 65442, 65445, 65449,
    65453, 65456, 65459, 65462, 65465, 65468, 65471, 65474, 65476, 65479, 65481, 65483, 65485, 65488, 65489, 65491,
    65493, 65495, 65497, 65498, 65500, 65501, 65503, 65504, 65505, 65507, 65508, 65509, 65510, 65511, 65512, 65513,
    65514, 65515, 65516, 65517, 65517, 65518, 65519, 65520, 65520, 65521, 65522, 65522, 65523, 65523, 65524, 65524,
    65525, 65525, 65526, 65526, 65526, 65527, 65527, 65528, 65528, 65528, 65529, 65529, 65529, 65529, 65530, 65530,
    65530, 65530, 65531, 65531, 65531, 65531, 65531, 65532, 65532, 65532, 65532, 65532, 65532, 65533, 65533, 65533,
    65533, 65533, 65533, 65533, 65533, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65535,
], np.int64)  # fmt: skip

#: Scales within this distance of a power of two, in bits, count as that power, as in the reference.
_POT_TOLERANCE = 1e-3

#: Largest multiplier, and units of the table's argument per 1.
_MOST_MULTIPLIER, _STEPS = 32767, 3 * 4096

#: Largest left shift of a multiplier, in bits.
_MOST_SHIFT = 31


@dataclass(frozen=True)
class Argument:
    """The map from an operand to the table's argument: (x * multiplier + half of 2**shift) >> shift.

    Attributes:
        multiplier: 0 to 32767.
        shift: 0 to 31.
    """

    multiplier: int
    shift: int

    def of(self, x: Int64) -> Int64:
        """Returns arguments of the table."""
        return (x * self.multiplier + (1 << self.shift >> 1)) >> self.shift


def argument(scale: float, powers: tuple[int, ...]) -> Argument:
    """Returns the map from an operand to the table's argument.

    Args:
        scale: Scale of the operand; positive.
        powers: Exponents, relative to 2**-12, of scales that the reference treats without rounding.
    """
    bits = np.log(np.float32(scale)) * (np.float32(1) / np.log(np.float32(2)))
    power = math.floor(float(bits) + 0.5)
    if abs(float(bits) - power) < _POT_TOLERANCE and power + 12 in powers:
        return Argument(3 << (power + 12), 0)
    multiplier, shift = scale * _STEPS, 0
    while multiplier <= _MOST_MULTIPLIER / 2 and shift < _MOST_SHIFT:
        multiplier, shift = 2 * multiplier, shift + 1
    return Argument(int(multiplier), shift)


def problem(scale: float) -> str | None:
    """Returns why the table has no argument for an operand of a scale, or None.

    The reference takes a multiplier of 0 for a power of two, whatever the scale.
    """
    least = 2.0**-_MOST_SHIFT / _STEPS
    if scale >= least and int(scale * _STEPS) <= _MOST_MULTIPLIER:
        return None
    return (
        f"scale of the operand, got {scale:g}, expected at least {least:.3g} and less than "
        f"{(_MOST_MULTIPLIER + 1) / _STEPS:g}. Quantise the model again"
    )


def _interpolated(size: Int64, bits: int) -> Int64:
    """Returns interpolated values for arguments in 2**-bits of a step, shifted left by `bits`; the end saturates."""
    index = np.minimum(size >> bits, 254)
    below, above = TABLE[index], TABLE[index + 1]
    return np.where(size >> bits >= 255, 0, (below << bits) + (size & ((1 << bits) - 1)) * (above - below))


def logistic(x: Int64) -> Int64:
    """Returns the logistic function of arguments; 32768 represents 1."""
    size = np.abs(x)
    value = np.where(size >> 9 >= 255, 0x7FFF << 10, _interpolated(size, 9))
    result: Int64 = np.where(x >= 0, value + (1 << 9), (1 << 25) - value + (1 << 9) - 1) >> 10
    return result


def tanh(x: Int64) -> Int64:
    """Returns the hyperbolic tangent of arguments; 32768 represents 1."""
    size = np.abs(x)
    value = np.where(size >> 8 >= 255, 0xFFFF << 8, _interpolated(size, 8))
    result: Int64 = np.where(x >= 0, value - (1 << 23) + (1 << 7), -value + (1 << 23) + (1 << 7) - 1) >> 8
    return result

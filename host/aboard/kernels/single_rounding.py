"""Requantisation with a single rounding, searched and proven on the host, channel by channel.

TFLite rounds twice: x = round(a * m / 2**31), then x / 2**e, ties away from zero. A result is one of at most 256
values, so it is a step function of the accumulator `a`, and often one product and one shift, a line, have exactly the
same steps::

    clamp((high_product(a + offset, factor) + constant + 2**(shift-1)) >> shift)

where high_product(a, b) = (a * b + 2**30) >> 31 is one instruction of Helium, and so are the sum and the rounding
shift. Cores without such an instruction omit the 2**30. With O = offset * factor + 2**30 +
(constant + 2**(shift-1)) * 2**31 the line reaches k if a * factor + O >= k * 2**(31+shift). So each threshold T of the
step function bounds O from both sides. Only thresholds that the accumulator can reach count. If all bounds agree, the
smallest `offset` with O between them is taken. Most functions that step on both sides of zero have none, because ties
go away from zero there. Functions that round exactly have one, unless the accumulator can reach ties.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from aboard.ir.numerics import (
    INT32_MAX,
    INT32_MIN,
    Int64,
)

#: Differences of the factor from its rounded value, in the order in which they are tried.
_NEIGHBOURS = (0, 1, -1, 2, -2, 3, -3)

#: Offsets are below this.
_OFFSETS = 1 << 22

#: Of 64 bits, or Python's integers.
_Integers = npt.NDArray[Any]


@dataclass(frozen=True)
class DoubleRounding:
    """A channel's requantisation as TFLite defines it.

    Attributes:
        multiplier: 0, or in [2**30, 2**31).
        shift: At most 0; a right shift is negative.
        zero_point: Zero point of the result.
        low: Smallest result.
        high: Largest result.
        smallest: Smallest possible accumulator, including the bias.
        largest: Largest possible accumulator, including the bias.
    """

    multiplier: int
    shift: int
    zero_point: int
    low: int
    high: int
    smallest: int
    largest: int

    def value(self, accumulator: int) -> int:
        """Returns the result of an accumulator within int32, as `aboard.ir.numerics` does for arrays."""
        product = (accumulator * self.multiplier + (1 << 30)) >> 31
        exponent = -self.shift
        return self._clamped((product + (1 << exponent >> 1) - (product < 0 < exponent)) >> exponent)

    def _clamped(self, scaled: int) -> int:
        return min(max(scaled + self.zero_point, self.low), self.high)

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The smallest and the largest result."""
        return self.value(self.smallest), self.value(self.largest)

    def thresholds(self) -> tuple[Int64, Int64]:
        """Returns the results k above the first, and for each the smallest accumulator that gives it."""
        results = np.arange(self.ends[0] + 1, self.ends[1] + 1)
        scaled = results - self.zero_point
        # Products of large shifts take more than 64 bits, as Python's integers can.
        largest = (2 * max(abs(end - self.zero_point) for end in self.ends) + 2) << (31 - self.shift)
        firsts = self._firsts(scaled if largest < 1 << 63 else scaled.astype(object))
        return results, firsts.astype(np.int64)

    def _firsts(self, scaled: _Integers) -> _Integers:
        """Returns for each value the smallest accumulator whose rounded quotient is at least that."""
        exponent = -self.shift
        half = (1 << exponent) >> 1
        products = scaled * (1 << exponent) - half + (scaled <= 0) * (exponent > 0)
        return -(-(products * (1 << 31) - (1 << 30)) // self.multiplier)


@dataclass(frozen=True)
class ExactRounding(DoubleRounding):
    """A channel's requantisation in one step, ties to even."""

    @override
    def value(self, accumulator: int) -> int:
        product, right = accumulator * self.multiplier, 31 - self.shift
        down, rest = product >> right, product & ((1 << right) - 1)
        # Rests are compared with one half; a tie above an odd number goes up.
        return self._clamped(down + (2 * rest + (down & 1) > 1 << right))

    @override
    def _firsts(self, scaled: _Integers) -> _Integers:
        bounds = (2 * scaled - 1) * (1 << (30 - self.shift))
        firsts: _Integers = -(-bounds // self.multiplier)
        # A tie below an odd number goes to the even number under it.
        firsts += (firsts * self.multiplier == bounds) * (scaled % 2)
        return firsts


@dataclass(frozen=True)
class SingleRounding:
    """The constants of a single rounding; `shift` belongs to the layer.

    `half` is added to the product before its high part is taken: 2**30, or 0 on cores that do not round there.
    """

    offset: int
    factor: int
    constant: int
    half: int = 1 << 30

    def value(self, accumulator: int, shift: int) -> int:
        """Returns the result of the line for an accumulator, in exact integers."""
        product = ((accumulator + self.offset) * self.factor + self.half) >> 31
        return (product + self.constant + (1 << shift >> 1)) >> shift


@lru_cache(maxsize=1 << 14)
def find(steps: DoubleRounding, shift: int, half: int = 1 << 30) -> SingleRounding | None:
    """Returns a line that equals a channel's requantisation for every possible accumulator, or None.

    Args:
        steps: The requantisation; its accumulators are within int32.
        shift: Right shift of the line, 0 to 16.
        half: As in `SingleRounding`.
    """
    first, last = steps.ends
    if steps.multiplier == 0 or first == last:
        return SingleRounding(0, 0, first << shift, half)
    if -steps.shift < shift:
        return None
    results, firsts = steps.thresholds()
    unit = shift + 31
    for delta in _NEIGHBOURS:
        factor = round(steps.multiplier / 2.0 ** (-steps.shift - shift)) + delta
        if not 0 < factor <= INT32_MAX:
            continue
        bounds = _bounds(steps, results, firsts, factor, unit)
        line = _placed(factor, *bounds, shift, half)
        if line is not None and _fits(steps, line, shift):
            return line
    return None


def _bounds(steps: DoubleRounding, results: Int64, firsts: Int64, factor: int, unit: int) -> tuple[int, int]:
    """Returns the bounds of O: at least the first, below the second."""
    above = (results << unit) - firsts * factor
    lowest, highest = int(above.max()), int(above.min()) + factor
    # At the ends of the range the line must not be one step further, unless results are clamped there.
    at_least, at_most = int(results[0]) - 1, int(results[-1])
    if at_least > steps.low:
        lowest = max(lowest, (at_least << unit) - steps.smallest * factor)
    if at_most < steps.high:
        highest = min(highest, ((at_most + 1) << unit) - steps.largest * factor)
    return lowest, highest


def _placed(factor: int, lowest: int, highest: int, shift: int, half: int) -> SingleRounding | None:
    """Returns the line of the smallest offset with O in [lowest, highest), or None."""
    width, above = highest - lowest, (half - lowest) % (1 << 31)
    if width <= 0:
        return None
    # O is `above` over its lower bound with offset 0, and grows by the factor with each offset, modulo 2**31.
    offset = 0 if above < width else _first_within(factor, 1 << 31, (1 << 31) - above, (1 << 31) - above + width - 1)
    if offset is None or offset >= _OFFSETS:
        return None
    whole = lowest + (offset * factor + above) % (1 << 31) - offset * factor - half
    return SingleRounding(offset, factor, (whole >> 31) - (1 << shift >> 1), half)


def _first_within(factor: int, modulus: int, low: int, high: int) -> int | None:
    """Returns the least x > 0 with low <= factor * x mod modulus <= high, for 0 < low <= high < modulus, or None.

    If no multiple of the factor below the modulus is within, x passes the modulus y times: the least y has
    -high <= modulus * y mod factor <= -low. So the pair of numbers shrinks as in Euclid's algorithm.
    """
    factor %= modulus
    if factor == 0:
        return None
    if 2 * factor > modulus:
        factor, low, high = modulus - factor, modulus - high, modulus - low
    count = -(-low // factor)
    if count * factor <= high:
        return count
    passed = _first_within(modulus, factor, -high % factor, -low % factor)
    return None if passed is None else -(-(low + modulus * passed) // factor)


def _fits(steps: DoubleRounding, line: SingleRounding, shift: int) -> bool:
    """True if no intermediate value of the line exceeds int32."""
    for accumulator in (steps.smallest, steps.largest):
        moved = accumulator + line.offset
        product = (moved * line.factor + line.half) >> 31
        values = (moved, product, product + line.constant, product + line.constant + (1 << shift >> 1))
        if min(values) < INT32_MIN or max(values) > INT32_MAX:
            return False
    return INT32_MIN <= line.constant <= INT32_MAX

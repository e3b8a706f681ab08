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
    multiply_by_quantized_multiplier,
    multiply_exactly,
)

#: DoubleRounding of the factor around its rounded value, offsets tried, and how many at a time.
_NEIGHBOURS, _MOST_OFFSETS, _BATCHES = (0, 1, -1, 2, -2, 3, -3), 1 << 22, (1 << 10, 1 << 14, 1 << 18)

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
        """Returns the result of an accumulator."""
        scaled = int(multiply_by_quantized_multiplier(accumulator, self.multiplier, self.shift))
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
        largest = (2 * int(np.abs(scaled).max(initial=0)) + 2) << (31 - self.shift)
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
        scaled = int(multiply_exactly(accumulator, self.multiplier, self.shift))
        return min(max(scaled + self.zero_point, self.low), self.high)

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
        return (product + self.constant + (1 << (shift - 1))) >> shift


@lru_cache(maxsize=1 << 14)
def find(steps: DoubleRounding, shift: int, half: int = 1 << 30) -> SingleRounding | None:
    """Returns a line that equals a channel's requantisation for every possible accumulator, or None.

    Args:
        steps: The requantisation; its accumulators are within int32.
        shift: Right shift of the line, 1 to 16.
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
    lowest = int(((results << unit) - firsts * factor).max())
    highest = int(((results << unit) - (firsts - 1) * factor).min())
    # At the ends of the range the line must not be one step further, unless results are clamped there.
    at_least, at_most = int(results[0]) - 1, int(results[-1])
    if at_least > steps.low:
        lowest = max(lowest, (at_least << unit) - steps.smallest * factor)
    if at_most < steps.high:
        highest = min(highest, ((at_most + 1) << unit) - steps.largest * factor)
    return lowest, highest


def _placed(factor: int, lowest: int, highest: int, shift: int, half: int) -> SingleRounding | None:
    """Returns the line of the smallest offset with O in [lowest, highest), or None."""
    width, tried = highest - lowest, 0
    if width <= 0:
        return None
    for batch in _BATCHES:
        while tried < min(batch * 16, _MOST_OFFSETS):
            offsets = np.arange(tried, tried + batch, dtype=np.int64)
            above = (offsets * factor + (half - lowest) % (1 << 31)) % (1 << 31)
            found = np.flatnonzero(above < width)
            if len(found):
                offset = int(offsets[found[0]])
                whole = lowest + int(above[found[0]]) - offset * factor - half
                return SingleRounding(offset, factor, (whole >> 31) - (1 << (shift - 1)), half)
            tried += batch
    return None


def _fits(steps: DoubleRounding, line: SingleRounding, shift: int) -> bool:
    """True if no intermediate value of the line exceeds int32."""
    for accumulator in (steps.smallest, steps.largest):
        moved = accumulator + line.offset
        product = (moved * line.factor + line.half) >> 31
        values = (moved, product, product + line.constant, product + line.constant + (1 << (shift - 1)))
        if min(values) < INT32_MIN or max(values) > INT32_MAX:
            return False
    return INT32_MIN <= line.constant <= INT32_MAX

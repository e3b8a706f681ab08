"""Short forms of int8 sums and products: one line of 32-bit arithmetic, searched and proven on the host.

TFLite rounds a sum three times and a product twice. A result is one of at most 256 values, so it is a step function
of the operands, and often a single line `(a * x + b * y + c) >> s` has exactly the same steps. There are only 65,536
pairs of operands: a candidate is compared on all pairs, and without an exact candidate the long form is used.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from aboard.ir.numerics import INT32_MAX, Int64

#: Number of right shifts tried below the largest without overflow, and of factors around each rounded factor.
_SHIFTS, _NEIGHBOURS = 3, (0, 1, -1, 2, -2)

#: Largest factor of a sum without a shift.
_MOST_PLAIN = 256


@dataclass(frozen=True)
class ShortForm:
    """The constants of a line: (a * x + b * y + constant) >> shift, or (a * product + constant) >> shift."""

    a: int
    b: int
    constant: int
    shift: int


def constant_for(line: Int64, expected: Int64, shift: int, low: int, high: int) -> int | None:
    """Returns c with clamp((line + c) >> shift, low, high) == expected for every element, or None.

    Args:
        line: Values of the line without its constant.
        expected: The result for each, in [low, high].
        shift: Right shift.
        low: Smallest result.
        high: Largest result.
    """
    at_least = (expected << shift) - line
    at_most = ((expected + 1) << shift) - 1 - line
    lowest = int(at_least[expected > low].max(initial=-(2**62)))
    highest = int(at_most[expected < high].min(initial=2**62))
    if lowest > highest:
        return None
    # If only one side is bounded, any constant beyond the bound works, and the bound itself is the smallest; if neither
    # is, the limits alone give the result.
    if highest == 2**62:
        return 0 if lowest == -(2**62) else lowest
    return highest if lowest == -(2**62) else (lowest + highest) // 2


def of_sum(ratios: tuple[float, float], expected: Int64, low: int, high: int) -> ShortForm | None:
    """Returns the line of a sum.

    Args:
        ratios: Scale of each operand divided by the result's scale; the second is negative in a difference.
        expected: Results [256, 256] by both operands, starting at -128.
        low: Smallest result.
        high: Largest result.
    """
    x = np.arange(-128, 128, dtype=np.int64)
    plain = _plain_sum(ratios, expected, low, high)
    if plain is not None:
        return plain
    found = 0
    for shift in range(28, 7, -1):
        base = [round(ratio * 2.0**shift) for ratio in ratios]
        if 128 * (abs(base[0]) + abs(base[1])) > INT32_MAX // 2:
            continue
        found += 1
        for da, db in itertools.product(_NEIGHBOURS, repeat=2):
            a, b = base[0] + da, base[1] + db
            constant = constant_for(a * x[:, None] + b * x[None, :], expected, shift, low, high)
            if constant is not None and abs(constant) + 128 * (abs(a) + abs(b)) <= INT32_MAX:
                return ShortForm(a, b, constant, shift)
        if found == _SHIFTS:
            return None
    return None


def _plain_sum(ratios: tuple[float, float], expected: Int64, low: int, high: int) -> ShortForm | None:
    """Returns the line of operands whose scales are multiples of the result's scale, or None: factors are then small.

    With equal scales the factors are 1, and compilers omit the products.
    """
    a, b = (round(ratio) for ratio in ratios)
    if (a, b) != ratios or max(abs(a), abs(b)) > _MOST_PLAIN:
        return None
    x = np.arange(-128, 128, dtype=np.int64)
    constant = constant_for(a * x[:, None] + b * x[None, :], expected, 0, low, high)
    return None if constant is None else ShortForm(a, b, constant, 0)


def of_product(ratio: float, products: Int64, expected: Int64, low: int, high: int) -> ShortForm | None:
    """Returns the line of a product.

    Args:
        ratio: Scale of the product divided by the result's scale.
        products: Products of the centred operands.
        expected: The result for each product.
        low: Smallest result.
        high: Largest result.
    """
    # A shift of 32 costs nothing, because it selects the upper half of the 64-bit product; the largest is the most
    # precise.
    largest = min(31 - math.frexp(ratio)[1], 46)
    for shift, delta in itertools.product(dict.fromkeys((min(32, largest), largest)), _NEIGHBOURS):
        factor = round(ratio * 2.0**shift) + delta
        if not 0 < factor <= INT32_MAX:
            continue
        line = factor * products
        constant = constant_for(line, expected, shift, low, high)
        if constant is not None and int(np.abs(line + constant).max()) >> shift <= INT32_MAX:
            return ShortForm(factor, 0, constant, shift)
    return None

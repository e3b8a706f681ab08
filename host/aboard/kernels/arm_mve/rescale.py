"""The second of TFLite's two roundings as a product with Helium: `arm_mve/rescale.h` and `arm_mve/epilogue.h`.

TFLite divides x = round(a * m / 2**31) by 2**e, ties away from zero. An instruction for high products rounds ties up::

    (x * factor + 2**30) >> 31

With factor = 2**(31 - e) + 1 the product is x / 2**e + x / 2**31: ties above zero go up as before, ties below zero are
a little lower, so that they go down. No other x changes its result as long as |x| < 2**(31 - e). Beyond that a result
may be 1 too far from zero, which does not matter once it exceeds 8 bits.
"""

from __future__ import annotations

import numpy as np

from aboard.ir.numerics import INT32_MAX, INT32_MIN, Int64

#: Largest shift for which all results that may be too far from zero are beyond 8 bits with any zero point: they are
#: 2**(31 - 2 * 11) = 512 or more.
_MOST = 11


def second_factors(ends: Int64, multiplier: Int64, shift: Int64) -> Int64 | None:
    """Returns the factors of the second products of int8 results; None if a channel has none.

    Args:
        ends: Smallest and largest accumulators [2, channels], including the bias.
        multiplier: Multiplier of each channel: 0, or in [2**30, 2**31).
        shift: Shift of each channel, 0 or negative.
    """
    if ends.min() < INT32_MIN or ends.max() > INT32_MAX:
        return None
    right = -shift
    furthest = np.abs((ends * multiplier + (1 << 30)) >> 31).max(0)
    # Results that are 0 for all accumulators are so with a factor of 0.
    alone = (right > 0) & (furthest < np.int64(1) << np.maximum(right - 1, 0))
    factors = np.where(right == 0, INT32_MAX, (np.int64(1) << np.maximum(31 - right, 0)) + 1)
    exact = alone | (right <= _MOST) | (furthest < np.int64(1) << np.maximum(31 - right, 0))
    return np.where(alone, 0, factors) if exact.all() else None

"""Complex arithmetic of kissfft: pairs of arrays of real and imaginary parts, fixed-point or float32.

Fixed-point numbers are held as int64 arrays, as wide as the element type after every operation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aboard.ir import DType

Pair = tuple[Any, Any]


@dataclass(frozen=True)
class Numbers:
    """The arithmetic of an element type.

    Attributes:
        bits: Of a fixed-point number; 0 for float32.
    """

    bits: int

    @property
    def dtype(self) -> Any:
        """The numpy type that holds them."""
        return np.int64 if self.bits else np.float32

    @property
    def one(self) -> int:
        """The largest number, which stands for 1."""
        return (1 << (self.bits - 1)) - 1

    def circle(self, phases: Sequence[float]) -> Pair:
        """Returns cosines and sines."""
        scale = self.one if self.bits else 1
        values = [(scale * math.cos(phase), scale * math.sin(phase)) for phase in phases]
        if self.bits:
            values = [(math.floor(0.5 + a), math.floor(0.5 + b)) for a, b in values]
        table = np.asarray(values, self.dtype).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def wrap(self, x: Any) -> Any:
        """Returns fixed-point numbers in their width; float32 as it is."""
        if not self.bits:
            return x
        half = 1 << (self.bits - 1)
        return (x + half & 2 * half - 1) - half

    def rounded(self, x: Any) -> Any:
        """Returns products in the width of their factors."""
        return self.wrap(x + (1 << (self.bits - 2)) >> (self.bits - 1)) if self.bits else x

    def divided(self, x: Any, factor: int) -> Any:
        """Returns fixed-point numbers divided by a factor; float32 as it is."""
        return self.rounded(x * (self.one // factor)) if self.bits else x

    def half(self, a: Any, b: Any) -> Any:
        """Returns (a + b) / 2."""
        return self.wrap(self._sum_in_c(a + b) >> 1) if self.bits else (a + b) * np.float32(0.5)

    def _sum_in_c(self, x: Any) -> Any:
        """Returns a sum as C has it before it is assigned: in 32 bits at least."""
        return Numbers(32).wrap(x)

    def product(self, a: Pair, b: Pair) -> Pair:
        """Returns a * b."""
        return self.rounded(a[0] * b[0] - a[1] * b[1]), self.rounded(a[0] * b[1] + a[1] * b[0])

    def add(self, a: Pair, b: Pair) -> Pair:
        """Returns a + b."""
        return self.wrap(a[0] + b[0]), self.wrap(a[1] + b[1])

    def sub(self, a: Pair, b: Pair) -> Pair:
        """Returns a - b."""
        return self.wrap(a[0] - b[0]), self.wrap(a[1] - b[1])

    def combine(self, x: Sequence[Pair], table: Pair, step: int, *, inverse: bool) -> list[Pair]:
        """Returns the transform of 2, 3, 4 or 5 numbers.

        Args:
            x: The numbers, each times its twiddle factor.
            table: Twiddle factors of the whole transform.
            step: Index of the factor exp(-2 pi i / len(x)) in the table.
            inverse: Whether the transform is the inverse one.
        """
        if len(x) == 2:
            return [self.add(x[0], x[1]), self.sub(x[0], x[1])]
        if len(x) == 4:
            return self._four(x, inverse=inverse)
        if len(x) == 3:
            return self._three(x, table[1][step])
        return self._five(x, (table[0][step], table[1][step]), (table[0][2 * step], table[1][2 * step]))

    def _four(self, x: Sequence[Pair], *, inverse: bool) -> list[Pair]:
        low, high = self.add(x[0], x[2]), self.sub(x[0], x[2])
        total, spread = self.add(x[1], x[3]), self.sub(x[1], x[3])
        plus = self.wrap(high[0] + spread[1]), self.wrap(high[1] - spread[0])
        minus = self.wrap(high[0] - spread[1]), self.wrap(high[1] + spread[0])
        one, three = (minus, plus) if inverse else (plus, minus)
        return [self.add(low, total), one, self.sub(low, total), three]

    def _three(self, x: Sequence[Pair], sine: Any) -> list[Pair]:
        total, spread = self.add(x[1], x[2]), self.sub(x[1], x[2])
        middle = tuple(self.wrap(x[0][i] - self.half(total[i], self.dtype(0))) for i in (0, 1))
        side = self.rounded(spread[0] * sine), self.rounded(spread[1] * sine)
        plus = self.wrap(middle[0] + side[1]), self.wrap(middle[1] - side[0])
        minus = self.wrap(middle[0] - side[1]), self.wrap(middle[1] + side[0])
        return [self.add(x[0], total), minus, plus]

    def _five(self, x: Sequence[Pair], ya: Pair, yb: Pair) -> list[Pair]:
        mul = self.rounded
        s7, s10 = self.add(x[1], x[4]), self.sub(x[1], x[4])
        s8, s9 = self.add(x[2], x[3]), self.sub(x[2], x[3])
        zero = tuple(self.wrap(x[0][i] + (s7[i] + s8[i])) for i in (0, 1))
        s5 = tuple(self.wrap(x[0][i] + mul(s7[i] * ya[0]) + mul(s8[i] * yb[0])) for i in (0, 1))
        s6 = (
            self.wrap(mul(s10[1] * ya[1]) + mul(s9[1] * yb[1])),
            self.wrap(-mul(s10[0] * ya[1]) - mul(s9[0] * yb[1])),
        )
        s11 = tuple(self.wrap(x[0][i] + mul(s7[i] * yb[0]) + mul(s8[i] * ya[0])) for i in (0, 1))
        s12 = (
            self.wrap(-mul(s10[1] * yb[1]) + mul(s9[1] * ya[1])),
            self.wrap(mul(s10[0] * yb[1]) - mul(s9[0] * ya[1])),
        )
        return [zero, self.sub(s5, s6), self.add(s11, s12), self.sub(s11, s12), self.add(s5, s6)]


def numbers(dtype: DType) -> Numbers:
    """Returns the arithmetic of int16, int32 or float32."""
    return Numbers({DType.INT16: 16, DType.INT32: 32}.get(dtype, 0))

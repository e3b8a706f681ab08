"""Functions of the bits of integers without quantisation: and, or, exclusive or, not, shifts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.ops.broadcasting import WHOLE, Broadcasting, Numbers, alike
from aboard.ops.registry import register_family


def _left(a: Numbers, b: Numbers) -> Numbers:
    inside = (b >= 0) & (b < 8 * a.itemsize)
    return np.where(inside, np.left_shift(a, np.where(inside, b, b.dtype.type(0))), a.dtype.type(0))


def _right(a: Numbers, b: Numbers) -> Numbers:
    """Shifts by one bit less than the type has, where more are asked for, and by one more: that leaves signs alone."""
    last = b.dtype.type(8 * a.itemsize - 1)
    inside = (b >= 0) & (b <= last)
    once = np.right_shift(a, np.where(inside, b, last))
    return np.where(inside, once, np.right_shift(once, b.dtype.type(1)))


class Bits(Broadcasting):
    """A function of integers.

    Shifts to higher places drop bits. Shifts to lower places repeat the sign of signed integers. By a number of bits
    below 0, or not below that of the type, nothing but signs is left.

    Attributes:
        function: The function, of numpy arrays.
    """

    function: ClassVar[Callable[..., Any]]

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        return np.asarray(type(self).function(*operands))


register_family(
    Bits,
    [
        {"name": "bitwise_and", "function": np.bitwise_and, "signatures": alike(2, *WHOLE)},
        {"name": "bitwise_or", "function": np.bitwise_or, "signatures": alike(2, *WHOLE)},
        {"name": "bitwise_xor", "function": np.bitwise_xor, "signatures": alike(2, *WHOLE)},
        {"name": "bitwise_not", "function": np.bitwise_not, "signatures": alike(1, *WHOLE)},
        {"name": "shift_left", "function": staticmethod(_left), "signatures": alike(2, *WHOLE)},
        {"name": "shift_right", "function": staticmethod(_right), "signatures": alike(2, *WHOLE)},
    ],
)

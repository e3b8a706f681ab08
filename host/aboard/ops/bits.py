"""Functions of the bits of integers without quantisation: and, or, exclusive or, not, shifts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node
from aboard.ops.broadcasting import WHOLE, Broadcasting, Numbers, alike
from aboard.ops.registry import register_family


def _left(a: Numbers, b: Numbers) -> Numbers:
    return np.where(b < 8 * a.itemsize, np.left_shift(a, b), a.dtype.type(0))


def _right(a: Numbers, b: Numbers) -> Numbers:
    return np.where(b < 8 * a.itemsize, np.right_shift(a, b), a.dtype.type(0))


class Bits(Broadcasting):
    """A function of integers; shifts are of unsigned ones, and by as many bits as the type has or more give 0.

    Attributes:
        function: The function, of numpy arrays.
    """

    function: ClassVar[Callable[..., Any]]

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        return np.asarray(type(self).function(*operands))


_UNSIGNED = alike(2, DType.UINT8, DType.UINT32, DType.UINT64)

register_family(
    Bits,
    [
        {"name": "bitwise_and", "function": np.bitwise_and, "signatures": alike(2, *WHOLE)},
        {"name": "bitwise_or", "function": np.bitwise_or, "signatures": alike(2, *WHOLE)},
        {"name": "bitwise_xor", "function": np.bitwise_xor, "signatures": alike(2, *WHOLE)},
        {"name": "bitwise_not", "function": np.bitwise_not, "signatures": alike(1, *WHOLE)},
        {"name": "shift_left", "function": staticmethod(_left), "signatures": _UNSIGNED},
        {"name": "shift_right", "function": staticmethod(_right), "signatures": _UNSIGNED},
    ],
)

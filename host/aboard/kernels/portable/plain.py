"""Arithmetic and bits of integers without quantisation, on any core."""

from __future__ import annotations

from typing import cast

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.portable.binary import PLAIN, Binary
from aboard.kernels.portable.elements import Elements
from aboard.kernels.registry import implement
from aboard.ops import get
from aboard.ops.broadcasting import WHOLE, Broadcasting
from aboard.target import Target


class PlainBinary(Binary):
    """A kernel of two integers that stand for themselves."""

    name = "portable_plain"
    header = "plain.h"
    types = dict.fromkeys(WHOLE, PLAIN)

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types and quantised operands, and more axes than the kernels have counters for."""
        if not cast(Broadcasting, get(node.op)).is_plain(node):
            return "is for integers without quantisation"
        return super().refuses(node, target)

    @override
    def function(self, node: Node) -> str:
        return f"plain_{self.op}_{self.suffix(node)}"


_PLAIN = ("add", "sub", "mul", "div", "remainder", "floor_mod", "maximum", "minimum")
_BITS = dict.fromkeys(WHOLE, PLAIN)

implement(PlainBinary, [{"op": op} for op in _PLAIN])
implement(
    Binary,
    [
        {"op": op, "header": "plain.h", "types": _BITS}
        for op in ("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right")
    ],
)
implement(
    Elements,
    [{"op": "bitwise_not", "header": "plain.h", "types": tuple((dtype, dtype) for dtype in WHOLE)}],
)

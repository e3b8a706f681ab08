"""cast and bit_cast on any core."""

from __future__ import annotations

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.portable.elements import Elements
from aboard.kernels.portable.elementwise import SUFFIXES
from aboard.kernels.registry import implements
from aboard.ops.broadcasting import WHOLE

_EVERY = (*WHOLE, DType.BOOL, DType.FLOAT32)


@implements
class CastPortable(Elements):
    """One conversion for each pair of types."""

    op = "cast"
    header = "cast.h"
    types = tuple((operand, result) for operand in _EVERY for result in _EVERY)

    @override
    def function(self, node: Node) -> str:
        return f"cast_{SUFFIXES[node.input(0).dtype]}_to_{SUFFIXES[node.output.dtype]}"


@implements
class BitCastPortable(Elements):
    """One function for each pair of types."""

    op = "bit_cast"
    header = "cast.h"
    types = tuple(
        pair for whole in (DType.INT32, DType.UINT32) for pair in ((DType.FLOAT32, whole), (whole, DType.FLOAT32))
    )

    @override
    def function(self, node: Node) -> str:
        return f"bit_cast_{SUFFIXES[node.input(0).dtype]}_to_{SUFFIXES[node.output.dtype]}"

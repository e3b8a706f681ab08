"""dynamic_slice: a box of a tensor, at a place that is known at run time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ops.registry import Op, register, require

_INDICES = (DType.INT32, DType.INT64)


@dataclass(frozen=True)
class DynamicSliceAttributes(Attributes):
    """Attributes of `dynamic_slice`.

    Attributes:
        shape: Extents of the box, as many as the operand has axes.
    """

    shape: tuple[int, ...]


def attributes(node: Node) -> DynamicSliceAttributes:
    """Returns the attributes of a `dynamic_slice` node."""
    return cast(DynamicSliceAttributes, node.attrs)


@register
class DynamicSlice(Op):
    """The box of operand 0 that begins where operand 1 says: an index for each axis.

    The place is moved as little as needed for the box to lie inside of the operand, where the reference reads memory
    beyond.
    """

    name = "dynamic_slice"
    selects = True
    attributes = DynamicSliceAttributes

    def problem(self, node: Node) -> str | None:
        """Returns what is wrong with types or shapes, or None."""
        operand, begins, shape = node.input(0), node.input(1), attributes(node).shape
        inside = len(shape) == len(operand.shape) and all(
            0 < part <= extent for part, extent in zip(shape, operand.shape, strict=True)
        )
        if not inside or not shape:
            return f"size, got {list(shape)}, expected a part of shape {list(operand.shape)}. Export the model again"
        if begins.shape != (len(shape),) or begins.dtype not in _INDICES:
            return f"begin, got {begins.type}, expected {len(shape)} numbers of int32 or int64. Export the model again"
        return None

    @override
    def infer(self, node: Node) -> list[TensorType]:
        return [TensorType(attributes(node).shape, node.input(0).dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks what `problem` finds.

        Raises:
            VerifyError: Types or shapes do not fit.
        """
        wrong = self.problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Returns the box."""
        operand, shape = np.asarray(operands[0]), attributes(node).shape
        room = np.array(operand.shape, np.int64) - np.array(shape, np.int64)
        begins = np.minimum(np.maximum(np.asarray(operands[1]).astype(np.int64), 0), room)
        box = tuple(slice(begin, begin + count) for begin, count in zip(begins.tolist(), shape, strict=True))
        return [np.ascontiguousarray(operand[box])]

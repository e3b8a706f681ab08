"""The shape to which two shapes broadcast. Shapes are tensors here: one number for each axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, DType, Node, TensorType
from aboard.ops.registry import Op, SourceNode, register, require


@register
class BroadcastArgs(Op):
    """For each axis, counted from the last, the extent that is not 1; of two others that differ, that of operand 0.

    The reference stops where two extents differ and neither is 1.
    """

    name = "broadcast_args"
    tflite = ("BROADCAST_ARGS",)
    types = (DType.INT32, DType.INT64)

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Checks types and shapes.

        Raises:
            ModelError: They do not fit, or constant shapes do not broadcast.
        """
        one, other = source.input(0), source.input(1)
        node = source.node(self.name, [one, other])
        wrong = self.problem(node)
        if wrong is not None:
            raise source.unsupported(wrong)
        if one.data is not None and other.data is not None:
            try:
                np.broadcast_shapes(tuple(source.integers(0)), tuple(source.integers(1)))
            except ValueError as error:
                raise source.unsupported(
                    f"shapes, got {source.integers(0)} and {source.integers(1)}, expected equal extents where neither "
                    "is 1. Export the model again"
                ) from error
        return node

    def problem(self, node: Node) -> str | None:
        """Returns what is wrong with types or shapes, or None."""
        one, other = node.input(0), node.input(1)
        if one.dtype is not other.dtype or one.dtype not in self.types or len(one.shape) != 1 or len(other.shape) != 1:
            return (
                f"operands, got {one.type} and {other.type}, expected two lists of int32 or of int64. "
                "Export the model again"
            )
        return None

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the type of the longer operand."""
        one, other = node.input(0), node.input(1)
        return [TensorType(max(one.shape, other.shape), one.dtype, node.output.type.quant)]

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
        """Returns the shape."""
        (length,) = node.output.shape
        one, other = (_padded(np.asarray(x), length) for x in operands[:2])
        return [np.where(one == 1, other, one)]


def _padded(shape: Array, length: int) -> Array:
    return np.pad(shape, (length - shape.size, 0), constant_values=1)

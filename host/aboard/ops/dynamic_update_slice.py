"""A part of a tensor replaced, at a place that is known at run time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, DType, Node, TensorType
from aboard.ops.registry import Op, SourceNode, register, require

_INDICES = (DType.INT32, DType.INT64)


@register
class DynamicUpdateSlice(Op):
    """Operand 0 with operand 1 written into it where operand 2 says: an index for each axis.

    As in the reference, the place is moved as little as needed for the update to lie inside of the operand.
    """

    name = "dynamic_update_slice"
    selects = True
    tflite = ("DYNAMIC_UPDATE_SLICE",)
    types = (DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32)

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Checks types and shapes.

        Raises:
            ModelError: They do not fit.
        """
        operand, update, starts = (source.input(index) for index in range(3))
        source.check_type(operand, self.types)
        node = source.node(self.name, [operand, update, starts])
        wrong = self.problem(node)
        if wrong is not None:
            raise source.unsupported(wrong)
        return node

    def problem(self, node: Node) -> str | None:
        """Returns what is wrong with types or shapes, or None."""
        operand, update, starts = (node.input(index) for index in range(3))
        smaller = len(update.shape) == len(operand.shape) and all(
            part <= extent for part, extent in zip(update.shape, operand.shape, strict=True)
        )
        if not smaller or update.dtype is not operand.dtype or not operand.shape:
            return f"update, got {update.type}, expected a part of {operand.type}. Export the model again"
        if starts.shape != (len(operand.shape),) or starts.dtype not in _INDICES:
            return (
                f"start, got {starts.type}, expected {len(operand.shape)} numbers of int32 or int64. "
                "Export the model again"
            )
        return None

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the operand's type."""
        return [TensorType(node.input(0).shape, node.input(0).dtype, node.output.type.quant)]

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
        """Returns the changed operand."""
        result, update = np.array(operands[0]), np.asarray(operands[1])
        room = np.array(result.shape, np.int64) - update.shape
        starts = np.minimum(np.maximum(np.asarray(operands[2]).astype(np.int64), 0), room)
        result[tuple(slice(a, a + n) for a, n in zip(starts.tolist(), update.shape, strict=True))] = update
        return [result]

"""Transpose: axes in another order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, Node, TensorType
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.uniform import EVERY

#: Largest number of axes that the reference transposes.
_MAX_RANK = 5


@dataclass(frozen=True)
class TransposeAttributes(Attributes):
    """Attributes of `transpose`.

    Attributes:
        order: For each axis of the result, the axis of the operand.
    """

    order: tuple[int, ...]


@register
class Transpose(Op):
    """result.shape[i] = operand.shape[order[i]]."""

    name = "transpose"
    attributes = TransposeAttributes
    tflite = ("TRANSPOSE",)
    moves_data = True
    types = EVERY

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Reads the order of the axes.

        Raises:
            ModelError: The order is computed at run time, or is not a permutation of at most five axes.
        """
        operand = source.input(0)
        order = tuple(source.integers(1))
        if sorted(order) != list(range(len(operand.shape))) or len(order) > _MAX_RANK:
            raise source.unsupported(
                f"order of axes, got {list(order)} for shape {operand.shape}, expected a permutation of all its axes, "
                f"at most {_MAX_RANK}"
            )
        return source.node(self.name, [operand], TransposeAttributes(order))

    @override
    def infer(self, node: Node) -> list[TensorType]:
        operand = node.input(0)
        shape = tuple(operand.shape[axis] for axis in attributes(node).order)
        return [TensorType(shape, operand.dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks the order.

        Raises:
            VerifyError: The order is not a permutation of the operand's axes.
        """
        order, rank = attributes(node).order, len(node.input(0).shape)
        require(sorted(order) == list(range(rank)), node, f"order, got {order}, expected a permutation of {rank} axes")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        return [np.ascontiguousarray(np.transpose(np.asarray(operands[0]), attributes(node).order))]


def attributes(node: Node) -> TransposeAttributes:
    """Returns the attributes of a `transpose` node."""
    return cast(TransposeAttributes, node.attrs)

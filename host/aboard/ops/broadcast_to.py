"""Broadcast: axes of one element, repeated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, Node, TensorType
from aboard.ops import axes
from aboard.ops.registry import Op, register, require


@dataclass(frozen=True)
class BroadcastAttributes(Attributes):
    """Attributes of `broadcast_to`.

    Attributes:
        shape: Shape of the result. Each extent is that of the operand, where that is not 1.
    """

    shape: tuple[int, ...]


@register
class BroadcastTo(Op):
    """result[i] = operand[i], with index 0 on axes where the operand has one element. Both have the same rank."""

    name = "broadcast_to"
    attributes = BroadcastAttributes
    moves_data = True

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the operand's type with the larger shape."""
        return [TensorType(attributes(node).shape, node.input(0).dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks that the operand can be repeated to the shape.

        Raises:
            VerifyError: The ranks differ, or an extent is neither 1 nor that of the result.
        """
        before, after = node.input(0).shape, attributes(node).shape
        fits = len(before) == len(after) and all(a in (1, b) for a, b in zip(before, after, strict=True))
        require(fits, node, f"shape, got {after} for an operand of {before}, expected axes of one element repeated")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Returns the repeated operand."""
        return [np.broadcast_to(np.asarray(operands[0]), attributes(node).shape).copy()]

    @override
    def permuted(self, node: Node, order: axes.Order) -> tuple[Attributes, axes.Order] | None:
        return BroadcastAttributes(axes.before(attributes(node).shape, order)), order


def attributes(node: Node) -> BroadcastAttributes:
    """Returns the attributes of a `broadcast_to` node."""
    return cast(BroadcastAttributes, node.attrs)

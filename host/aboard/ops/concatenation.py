"""Concatenation: operands one after the other along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ops import axes
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.sharing import Share, along_axis
from aboard.ops.uniform import EVERY


@dataclass(frozen=True)
class ConcatenationAttributes(Attributes):
    """Attributes of `concatenation`.

    Attributes:
        axis: Axis along which the operands are joined; not negative.
    """

    axis: int


@register
class Concatenation(Op):
    """Operands joined along one axis; their other dimensions are equal."""

    name = "concatenation"
    attributes = ConcatenationAttributes
    tflite = ("CONCATENATION",)
    types = EVERY
    moves_data = True

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Reads the axis.

        Raises:
            ModelError: An activation, int8 operands with another quantisation than the result (the reference refuses
                both), or operands that cannot be joined.
        """
        operands = [source.input(index) for index in range(max(1, len(source.inputs)))]
        if int(source.options["FusedActivationFunction"]) != 0:
            raise source.unsupported(
                f"fused activation, got number {int(source.options['FusedActivationFunction'])}, expected none. "
                "Export the activation as an operator of its own"
            )
        first, rank = operands[0], len(operands[0].shape)
        axis = int(source.options["Axis"])
        axis = axis + rank if axis < 0 else axis
        if not 0 <= axis < rank:
            raise source.unsupported(f"axis, got {axis} for shape {first.shape}, expected less than {rank}")
        for operand in operands:
            if operand.dtype is not first.dtype or not _joinable(operand.shape, first.shape, axis):
                raise source.unsupported(
                    f"operand {operand.name}, got {operand.type}, expected {first.type} but for axis {axis}. "
                    "Export the model with a fixed input shape"
                )
            if operand.dtype is DType.INT8 and operand.type.quant != source.outputs[0].type.quant:
                raise source.unsupported(
                    f"quantisation of operand {operand.name}, got {operand.type}, expected that of the result "
                    f"{source.outputs[0].type}. Quantise the model again so that all have one scale"
                )
        return source.node(self.name, operands, ConcatenationAttributes(axis))

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the first operand's type; its dimension along the axis is the sum over all operands."""
        axis, first = attributes(node).axis, node.input(0)
        shape = list(first.shape)
        shape[axis] = sum(operand.shape[axis] for operand in node.operands)
        return [TensorType(tuple(shape), first.dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks that the operands can be joined.

        Raises:
            VerifyError: The axis does not exist, or shapes or element types differ.
        """
        axis, first = attributes(node).axis, node.input(0)
        require(0 <= axis < len(first.shape), node, f"axis, got {axis}, expected less than {len(first.shape)}")
        for operand in node.operands:
            fits = operand.dtype is first.dtype and _joinable(operand.shape, first.shape, axis)
            require(
                fits, node, f"operand {operand.name}, got {operand.type}, expected {first.type} but for axis {axis}"
            )

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        return [np.concatenate([np.asarray(operand) for operand in operands], attributes(node).axis)]

    @override
    def shares(self, node: Node) -> list[Share]:
        """Returns that each operand is a part of the result."""
        return along_axis(node, attributes(node).axis, inner_is_result=False)

    @override
    def permuted(self, node: Node, order: axes.Order) -> tuple[Attributes, axes.Order] | None:
        return ConcatenationAttributes(order[attributes(node).axis]), order


def attributes(node: Node) -> ConcatenationAttributes:
    """Returns the attributes of a `concatenation` node."""
    return cast(ConcatenationAttributes, node.attrs)


def _joinable(shape: tuple[int, ...], other: tuple[int, ...], axis: int) -> bool:
    return len(shape) == len(other) and all(
        a == b for index, (a, b) in enumerate(zip(shape, other, strict=True)) if index != axis
    )

"""Reshape: the same elements in the same order under another shape. RESHAPE, SQUEEZE and EXPAND_DIMS become this op."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, Node, TensorType
from aboard.ops.axes import Order, inverse
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.sharing import Share
from aboard.ops.uniform import EVERY


@dataclass(frozen=True)
class ReshapeAttributes(Attributes):
    """Attributes of `reshape`.

    Attributes:
        shape: Shape of the result; all dimensions known.
    """

    shape: tuple[int, ...]


@register
class Reshape(Op):
    """result[i] = operand[i], counted over all elements in row-major order."""

    name = "reshape"
    attributes = ReshapeAttributes
    tflite = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
    moves_data = True
    types = EVERY

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Reads the result's shape, and checks it against the operator.

        The shape operand of RESHAPE is not read: interpreters for microcontrollers use the result's shape too.

        Raises:
            ModelError: The shapes do not fit.
        """
        operand, result = source.input(0), source.outputs[0]
        if source.kind == "SQUEEZE":
            _check(source, squeezed(source, operand.shape), result.shape)
        elif source.kind == "EXPAND_DIMS":
            _check(source, expanded(source, operand.shape), result.shape)
        if operand.type.elements != result.type.elements:
            raise source.unsupported(
                f"result shape, got {result.shape} for an operand of {operand.shape}, expected as many elements. "
                "Export the model with a fixed input shape"
            )
        return source.node(self.name, [operand], ReshapeAttributes(result.shape))

    @override
    def infer(self, node: Node) -> list[TensorType]:
        return [TensorType(attributes(node).shape, node.input(0).dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks that the number of elements stays.

        Raises:
            VerifyError: The shapes have different numbers of elements.
        """
        before, after = node.input(0).type.elements, node.output.type.elements
        require(before == after, node, f"elements, got {before} before and {after} after, expected the same")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        return [np.asarray(operands[0]).reshape(attributes(node).shape)]

    @override
    def shares(self, node: Node) -> list[Share]:
        """Returns that operand and result are the same memory."""
        return [Share(0, 0, inner_is_result=True)]

    @override
    def permuted(self, node: Node, order: Order) -> tuple[Attributes, Order] | None:
        """Moves groups of axes: those that become one axis, or that one axis becomes, stay together."""
        before, after = node.input(0).shape, node.output.shape
        places = {axis: place for place, axis in enumerate(axis for axis in inverse(order) if before[axis] != 1)}
        keyed, last = list[tuple[int, list[int]]](), -1
        for operand_axes, result_axes in _groups(before, after):
            found = [places[axis] for axis in operand_axes if axis in places]
            if found and found != list(range(found[0], found[0] + len(found))):
                return None
            last = found[0] if found else last
            keyed.append((last, result_axes))
        moved = [axis for _, axes in sorted(keyed, key=lambda each: each[0]) for axis in axes]
        return ReshapeAttributes(tuple(after[axis] for axis in moved)), inverse(moved)


def attributes(node: Node) -> ReshapeAttributes:
    """Returns the attributes of a `reshape` node."""
    return cast(ReshapeAttributes, node.attrs)


def divided(node: Node, order: Order) -> list[tuple[Order, Order]]:
    """Divides the transpose before a reshape that joins axes which lay apart: the second half can move past it.

    A shuffle of channels is an example: [rows, columns, 2, 24] -> transpose -> [24, 2, rows, columns] -> reshape ->
    [48, rows, columns]. The first half swaps the channels, the second half moves them before the rows.

    Args:
        node: A `reshape`.
        order: Of the transpose.

    Returns:
        Pairs of the orders of two transposes, one after the other. The first brings axes that become one axis side by
        side: where the first of them is, or where the last one is.
    """
    shape = node.input(0).shape
    groups = [axes for axes, _ in _groups(shape, attributes(node).shape)]
    found = list[tuple[Order, Order]]()
    for place in (min, max):
        ordered = sorted(groups, key=lambda axes: place((order[axis] for axis in axes), default=len(shape)))
        second = inverse([axis for axes in ordered for axis in axes])
        first = tuple(order[axis] for axis in inverse(second))
        identity = tuple(range(len(order)))
        if identity not in (first, second) and (first, second) not in found:
            found.append((first, second))
    return found


def _groups(before: Sequence[int], after: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Returns pairs of neighbouring axes of two shapes with as many elements, as small as possible."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(before) or j < len(after):
        group: tuple[list[int], list[int]] = ([i] if i < len(before) else [], [j] if j < len(after) else [])
        i, j = i + len(group[0]), j + len(group[1])
        while (rest := math.prod(before[k] for k in group[0]) - math.prod(after[k] for k in group[1])) != 0:
            if rest < 0:
                group[0].append(i)
                i += 1
            else:
                group[1].append(j)
                j += 1
        groups.append(group)
    return groups


def squeezed(source: SourceNode, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape that SQUEEZE leaves: without the axes in its option, or without all axes of one element.

    Raises:
        ModelError: An axis of the option does not exist or has more than one element.
    """
    rank = len(shape)
    axes = [int(axis) for axis in source.options["SqueezeDims"]]
    if not axes:
        return tuple(extent for extent in shape if extent != 1)
    dropped = {axis + rank if axis < 0 else axis for axis in axes}
    if not all(0 <= axis < rank and shape[axis] == 1 for axis in dropped):
        raise source.unsupported(
            f"axes to squeeze, got {axes} of shape {shape}, expected axes with one element. "
            "Export the model with a fixed input shape"
        )
    return tuple(extent for axis, extent in enumerate(shape) if axis not in dropped)


def expanded(source: SourceNode, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape that EXPAND_DIMS makes: with one more axis, of one element.

    Raises:
        ModelError: The axis is not a constant, or out of range.
    """
    values = source.integers(1)
    axis = values[0] if len(values) == 1 else len(shape) + 1
    axis = axis + len(shape) + 1 if axis < 0 else axis
    if not 0 <= axis <= len(shape):
        raise source.unsupported(
            f"axis, got {values} for shape {shape}, expected one number in "
            f"[{-len(shape) - 1}, {len(shape)}]. Export the model again"
        )
    return (*shape[:axis], 1, *shape[axis:])


def _check(source: SourceNode, wanted: tuple[int, ...], stated: tuple[int, ...]) -> None:
    if wanted != stated:
        raise source.unsupported(
            f"result shape, got {stated}, expected {wanted}. Export the model with a fixed input shape"
        )

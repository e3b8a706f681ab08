"""Split: one operand cut into parts along an axis. SPLIT (equal parts) and SPLIT_V (given sizes) use this op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, Node, Tensor, TensorType
from aboard.ops import axes
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.sharing import Share, along_axis
from aboard.ops.uniform import EVERY


@dataclass(frozen=True)
class SplitAttributes(Attributes):
    """Attributes of `split`.

    Attributes:
        axis: Axis along which the operand is cut; not negative.
        sizes: Size of each part along the axis, in elements.
    """

    axis: int
    sizes: tuple[int, ...]


@register
class Split(Op):
    """Results are consecutive parts of the operand."""

    name = "split"
    attributes = SplitAttributes
    tflite = ("SPLIT", "SPLIT_V")
    moves_data = True
    types = EVERY

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Reads axis and sizes.

        Raises:
            ModelError: Axis or sizes are computed at run time, or do not divide the operand.
        """
        given_sizes = source.kind == "SPLIT_V"
        operand = source.input(0 if given_sizes else 1)
        axis = _axis(source, 2 if given_sizes else 0, len(operand.shape))
        extent, parts = operand.shape[axis], len(source.outputs)
        sizes = _sizes(source, operand, axis) if given_sizes else (extent // max(parts, 1),) * parts
        if min(sizes, default=0) < 1 or len(sizes) != parts or sum(sizes) != extent:
            raise source.unsupported(
                f"sizes, got {list(sizes)} for {parts} results and an extent of {extent}, "
                "expected as many as results, from 1, which add up to the extent. Export the model again"
            )
        return source.node(self.name, [operand], SplitAttributes(axis, sizes))

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the operand's type for each part, with the part's size along the axis."""
        attrs, operand = attributes(node), node.input(0)
        return [
            TensorType(
                (*operand.shape[: attrs.axis], size, *operand.shape[attrs.axis + 1 :]), operand.dtype, result.type.quant
            )
            for size, result in zip(attrs.sizes, node.outputs, strict=True)
        ]

    @override
    def verify(self, node: Node) -> None:
        """Checks that the parts make up the operand.

        Raises:
            VerifyError: The axis does not exist, or the sizes do not fit results or operand.
        """
        attrs, shape = attributes(node), node.input(0).shape
        require(0 <= attrs.axis < len(shape), node, f"axis, got {attrs.axis}, expected less than {len(shape)}")
        fits = len(attrs.sizes) == len(node.outputs) and sum(attrs.sizes) == shape[attrs.axis]
        require(
            fits,
            node,
            f"sizes, got {attrs.sizes} for {len(node.outputs)} results, expected a sum of {shape[attrs.axis]}",
        )

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        attrs = attributes(node)
        cuts = np.cumsum(attrs.sizes)[:-1].tolist()
        return list(np.split(np.asarray(operands[0]), cuts, attrs.axis))

    @override
    def shares(self, node: Node) -> list[Share]:
        """Returns that each result is a part of the operand."""
        return along_axis(node, attributes(node).axis, inner_is_result=True)

    @override
    def permuted(self, node: Node, order: axes.Order) -> tuple[Attributes, axes.Order] | None:
        return SplitAttributes(order[attributes(node).axis], attributes(node).sizes), order


def attributes(node: Node) -> SplitAttributes:
    """Returns the attributes of a `split` node."""
    return cast(SplitAttributes, node.attrs)


def _axis(source: SourceNode, index: int, rank: int) -> int:
    values = source.integers(index)
    axis = values[0] if len(values) == 1 else rank
    axis = axis + rank if axis < 0 else axis
    if not 0 <= axis < rank:
        raise source.unsupported(
            f"axis, got {values}, expected one number in [{-rank}, {rank - 1}]. Export the model again"
        )
    return axis


def _sizes(source: SourceNode, operand: Tensor, axis: int) -> tuple[int, ...]:
    sizes = source.integers(1)
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = operand.shape[axis] - sum(size for size in sizes if size != -1)
    return tuple(sizes)

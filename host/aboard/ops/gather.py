"""Gathers by index tensors: GATHER along one axis, GATHER_ND by tuples, EMBEDDING_LOOKUP of rows.

Indices come from a caller or from the wire. The reference reads whatever memory an index out of range names, or stops.
Here an index out of range stands for the nearest one in range; a constant one is refused at import.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, Tensor, TensorType
from aboard.ops.axes import Order
from aboard.ops.chain import Chain
from aboard.ops.movement import axis_of
from aboard.ops.registry import Op, SourceNode, composes, register, require

_TYPES = (DType.FLOAT32, DType.INT8)

#: More numbers than this a tuple of indices has in no model that TensorFlow Lite Micro runs.
MAX_INDICES = 5


@dataclass(frozen=True)
class GatherAttributes(Attributes):
    """Attributes of `gather`.

    Attributes:
        axis: Axis of the operand that indices count; not negative.
        batch_dims: So many first axes are common to operand and indices.
    """

    axis: int
    batch_dims: int = 0


@register
class Gather(Op):
    """result[batch, outer, i, inner] = operand[batch, outer, indices[batch, i], inner]; operand 1 is int32."""

    name = "gather"
    selects = True
    attributes = GatherAttributes
    tflite = ("GATHER",)
    types = _TYPES

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Reads axis and common axes.

        Raises:
            ModelError: They do not fit the operands, or a constant index is out of range.
        """
        operand, indices = source.input(0), source.input(1)
        source.check_type(operand, self.types)
        axis = axis_of(source, int(source.options["Axis"]), len(operand.shape))
        batch = int(source.options["BatchDims"])
        batch = batch + len(indices.shape) if batch < 0 else batch
        if not 0 <= batch <= min(axis, len(indices.shape)) or operand.shape[:batch] != indices.shape[:batch]:
            raise source.unsupported(
                f"batch dimensions, got {batch} for {operand.shape} and indices of {indices.shape}, expected equal "
                f"first axes, at most {axis}. Export the model again"
            )
        return source.node(
            self.name, [operand, checked(source, 1, operand.shape[axis : axis + 1])], GatherAttributes(axis, batch)
        )

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the operand's type with the axes of the indices in place of the axis."""
        attrs, shape, indices = gather_attributes(node), node.input(0).shape, node.input(1).shape
        result = (*shape[: attrs.axis], *indices[attrs.batch_dims :], *shape[attrs.axis + 1 :])
        return [TensorType(result, node.input(0).dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks axes and the type of indices.

        Raises:
            VerifyError: They do not fit the operands.
        """
        attrs, rank = gather_attributes(node), len(node.input(0).shape)
        fits = 0 <= attrs.batch_dims <= attrs.axis < rank
        require(fits, node, f"axis, got {attrs.axis} behind {attrs.batch_dims}, expected less than {rank}")
        _require_int32(node)

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Returns the elements taken."""
        attrs, x = gather_attributes(node), np.asarray(operands[0])
        indices = np.clip(np.asarray(operands[1]).astype(np.int64), 0, x.shape[attrs.axis] - 1)
        common, axis = x.shape[: attrs.batch_dims], attrs.axis - attrs.batch_dims
        batches = x.reshape(-1, *x.shape[attrs.batch_dims :])
        each = indices.reshape(batches.shape[0], *indices.shape[attrs.batch_dims :])
        taken = np.stack([np.take(batch, index, axis) for batch, index in zip(batches, each, strict=True)])
        return [taken.reshape((*common, *taken.shape[1:]))]

    @override
    def permuted(self, node: Node, order: Order) -> tuple[Attributes, Order] | None:
        """Moves the axis that a list of indices counts."""
        attrs, rank = gather_attributes(node), len(order)
        if attrs.batch_dims or len(node.input(1).shape) != 1 or rank == 1 or len(node.input(0).shape) != rank:
            return None
        return GatherAttributes(order[attrs.axis]), order


@register
class GatherNd(Op):
    """result[i] = operand[indices[i]], where each element of `indices` but on the last axis is a tuple of indices."""

    name = "gather_nd"
    selects = True
    tflite = ("GATHER_ND",)
    types = _TYPES

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Checks the tuples.

        Raises:
            ModelError: They are longer than the operand has axes, or a constant index is out of range.
        """
        operand, indices = source.input(0), source.input(1)
        source.check_type(operand, self.types)
        most = min(len(operand.shape), MAX_INDICES)
        if not indices.shape or not 1 <= indices.shape[-1] <= most:
            raise source.unsupported(
                f"indices, got shape {indices.shape} for an operand of {operand.shape}, expected tuples of 1 to {most} "
                "on the last axis. Export the model again"
            )
        return source.node(self.name, [operand, checked(source, 1, operand.shape[: indices.shape[-1]])])

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the operand's type with the axes of the tuples in place of those that they index."""
        operand, indices = node.input(0), node.input(1).shape
        shape = (*indices[:-1], *operand.shape[indices[-1] :])
        return [TensorType(shape, operand.dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks the tuples.

        Raises:
            VerifyError: They are longer than the operand has axes, or not int32.
        """
        operand, indices = node.input(0).shape, node.input(1).shape
        fits = len(indices) >= 1 and 1 <= indices[-1] <= len(operand)
        require(fits, node, f"indices, got shape {indices}, expected tuples of 1 to {len(operand)} on the last axis")
        _require_int32(node)

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Returns the elements taken."""
        x, indices = np.asarray(operands[0]), np.asarray(operands[1]).astype(np.int64)
        clamped = [np.clip(indices[..., axis], 0, x.shape[axis] - 1) for axis in range(indices.shape[-1])]
        return [np.asarray(x[tuple(clamped)])]


@composes(
    "EMBEDDING_LOOKUP",
    types=("int32 numbers, int8 or float32 table", "int32 numbers, int8 table to float32"),
    computed_by=("gather", "dequantize"),
)
def embedding_lookup(source: SourceNode) -> list[Node]:
    """Takes rows of a table by their number; rows of int8 may become float32.

    Raises:
        ModelError: The table has no rows or is of another type, or a constant index is out of range.
    """
    lookup, table, chain = source.input(0), source.input(1), Chain(source)
    if table.dtype not in _TYPES or len(table.shape) < 2 or len(lookup.shape) != 1:
        raise source.unsupported(
            f"table and numbers, got {table.type} and {lookup.type}, expected a table of float32 or int8 with at least "
            "two axes, and numbers on one axis. Convert the model to one of these"
        )
    if source.outputs[0].dtype is table.dtype:
        chain.add("gather", [table, checked(source, 0, table.shape[:1])], GatherAttributes(0), source.outputs)
        return chain.nodes
    quant = table.type.quant
    if quant is None or quant.per_channel or quant.zero_point:
        raise source.unsupported(
            f"quantisation of {table.name}, got {table.type}, expected one scale and the zero point 0. "
            "Quantise the model again"
        )
    rows = Tensor(source.outputs[0].name, TensorType((*lookup.shape, *table.shape[1:]), table.dtype, quant))
    chain.add("gather", [table, checked(source, 0, table.shape[:1])], GatherAttributes(0), [rows])
    chain.add("dequantize", [rows], Attributes(), source.outputs)
    return chain.nodes


def gather_attributes(node: Node) -> GatherAttributes:
    """Returns the attributes of a `gather` node."""
    return cast(GatherAttributes, node.attrs)


def counts(shape: Sequence[int], indexed: int) -> list[int]:
    """Returns how many elements an index counts, for each of the first axes of a tensor."""
    return [math.prod(shape[axis + 1 :]) for axis in range(indexed)]


def checked(source: SourceNode, operand: int, extents: Sequence[int]) -> Tensor:
    """Returns an operand of indices as int32.

    Args:
        source: The operator.
        operand: Which operand.
        extents: Of the axes that are indexed; the last axis of indices counts them, where there are several.

    Raises:
        ModelError: The type is not int32, or a constant index is out of range.
    """
    indices = source.input(operand)
    source.check_type(indices, (DType.INT32,))
    if indices.data is None:
        return indices
    source.integers(operand)
    values = indices.data.astype(np.int64)
    if np.any(values < 0) or np.any(values >= np.array(extents)):
        raise source.unsupported(
            f"indices in {indices.name}, got {values.min()} to {values.max()}, expected numbers from 0 and below "
            f"{tuple(extents)}. Export the model again"
        )
    if indices.dtype is DType.INT32:
        return indices
    return Tensor(indices.name, TensorType(indices.shape, DType.INT32), values.astype(np.int32))


def _require_int32(node: Node) -> None:
    dtype = node.input(1).dtype
    require(dtype is DType.INT32, node, f"element type of indices, got {dtype.value}, expected int32")

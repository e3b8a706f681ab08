"""Chains of nodes that one operator of a file becomes: each step reads the result of the one before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aboard.ir import Array, Attributes, DType, Node, Tensor, TensorType
from aboard.ops.broadcast_to import BroadcastAttributes
from aboard.ops.concatenation import ConcatenationAttributes
from aboard.ops.pad import PadAttributes
from aboard.ops.registry import SourceNode
from aboard.ops.reshape import ReshapeAttributes
from aboard.ops.split import SplitAttributes
from aboard.ops.strided_slice import AxisSlice, StridedSliceAttributes
from aboard.ops.transpose import TransposeAttributes


class Chain:
    """Collects the nodes. Every step returns the tensor that it computes; `finish` makes one a result.

    A step that would change nothing adds no node.
    """

    def __init__(self, source: SourceNode) -> None:
        self.nodes: list[Node] = []
        self._source = source

    def finish(self, tensor: Tensor, result: int = 0) -> list[Node]:
        """Makes the operator's result be this tensor, which the last node computes or nobody; returns all nodes.

        Raises:
            ModelError: The file states another shape for the result. Where a file leaves the batch free, converters
                write 1 for it, also behind an operator that multiplies batches.
        """
        wanted = self._source.outputs[result]
        if tensor.shape != wanted.shape:
            raise self._source.unsupported(
                f"result shape, got {wanted.shape}, expected {tensor.shape}. Export the model with a fixed input shape"
            )
        last = self.nodes[-1] if self.nodes else None
        if last is not None and any(tensor is made for made in last.outputs):
            last.outputs = [wanted if made is tensor else made for made in last.outputs]
            last.name = last.output.name
        else:
            self.add("reshape", [tensor], ReshapeAttributes(wanted.shape), [wanted])
        return self.nodes

    def add(self, op: str, inputs: Sequence[Tensor], attrs: Attributes, outputs: Sequence[Tensor]) -> None:
        """Adds a node with these results."""
        self.nodes.append(self._source.node(op, inputs, attrs, outputs))

    def tensor(self, like: Tensor, shape: Sequence[int]) -> Tensor:
        """Returns a new tensor with the element type of another, and its quantisation unless that is per channel."""
        quant = like.type.quant
        plain = None if quant is not None and quant.per_channel else quant
        return Tensor(self._source.outputs[0].name, TensorType(tuple(shape), like.dtype, plain))

    def constant(self, values: Array, dtype: DType) -> Tensor:
        """Returns a new constant without quantisation."""
        return Tensor(self._source.outputs[0].name, TensorType(values.shape, dtype), values.astype(dtype.numpy))

    def reshape(self, tensor: Tensor, shape: Sequence[int]) -> Tensor:
        """Gives a tensor another shape."""
        if tuple(shape) == tensor.shape:
            return tensor
        return self._one("reshape", tensor, shape, ReshapeAttributes(tuple(shape)))

    def transpose(self, tensor: Tensor, order: Sequence[int]) -> Tensor:
        """Puts axes into another order."""
        if list(order) == list(range(len(order))):
            return tensor
        shape = [tensor.shape[axis] for axis in order]
        return self._one("transpose", tensor, shape, TransposeAttributes(tuple(order)))

    def broadcast(self, tensor: Tensor, shape: Sequence[int]) -> Tensor:
        """Repeats axes of one element."""
        if tuple(shape) == tensor.shape:
            return tensor
        return self._one("broadcast_to", tensor, shape, BroadcastAttributes(tuple(shape)))

    def take(self, tensor: Tensor, slices: Sequence[AxisSlice]) -> Tensor:
        """Takes a slice of each axis."""
        shape = tuple(part.count for part in slices)
        if shape == tensor.shape and all(part.stride == 1 or part.count == 1 for part in slices):
            return tensor
        return self._one("strided_slice", tensor, shape, StridedSliceAttributes(tuple(slices), shape))

    def pad(self, tensor: Tensor, padding: Sequence[tuple[int, int]], value: float) -> Tensor:
        """Puts elements of one value, as it is stored, around a tensor."""
        if not np.any(np.array(padding, np.int64)):
            return tensor
        shape = [before + size + after for size, (before, after) in zip(tensor.shape, padding, strict=True)]
        return self._one("pad", tensor, shape, PadAttributes(tuple(padding), value))

    def join(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        """Joins tensors along an axis."""
        shape = list(tensors[0].shape)
        shape[axis] = sum(tensor.shape[axis] for tensor in tensors)
        made = self.tensor(tensors[0], shape)
        self.add("concatenation", tensors, ConcatenationAttributes(axis), [made])
        return made

    def split(self, tensor: Tensor, axis: int) -> list[Tensor]:
        """Cuts a tensor into slices of one index along an axis."""
        shape = (*tensor.shape[:axis], 1, *tensor.shape[axis + 1 :])
        parts = [self.tensor(tensor, shape) for _ in range(tensor.shape[axis])]
        self.add("split", [tensor], SplitAttributes(axis, (1,) * len(parts)), parts)
        return parts

    def _one(self, op: str, tensor: Tensor, shape: Sequence[int], attrs: Attributes) -> Tensor:
        made = self.tensor(tensor, shape)
        self.add(op, [tensor], attrs, [made])
        return made

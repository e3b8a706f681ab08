"""What a transpose does to shapes and types."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from aboard.ir import Graph, Node, Tensor, TensorType
from aboard.ops import transpose
from aboard.ops.axes import Order, inverse


def is_free(shape: Sequence[int], order: Sequence[int]) -> bool:
    """True if a transpose keeps the order of all elements: it moves only axes of one element."""
    moved = [axis for axis in order if shape[axis] != 1]
    return moved == sorted(moved)


def moved_type(before: TensorType, order: Sequence[int]) -> TensorType:
    """Returns the type of a transposed tensor."""
    quant = before.quant
    if quant is not None and quant.axis is not None and quant.per_channel:
        quant = dataclasses.replace(quant, axis=list(order).index(quant.axis % len(before.shape)))
    return TensorType(tuple(before.shape[axis] for axis in order), before.dtype, quant)


def of_higher_rank(tensor: Tensor, rank: int) -> tuple[int, ...]:
    """Returns the shape of a tensor with axes of one element in front."""
    return (1,) * (rank - len(tensor.shape)) + tensor.shape


def moved_bytes(graph: Graph) -> float:
    """Returns how many bytes the transposes of a graph move."""
    nodes = (node for node in graph.nodes if node.op == "transpose")
    return sum(cost(node.output, transpose.attributes(node).order) for node in nodes)


def cost(result: Tensor, order: Order) -> float:
    """Returns the bytes that a transpose with this result moves; 0 if it is a reshape."""
    return 0.0 if is_free(result.shape, inverse(order)) else float(result.type.bytes)


def reshaped(tensor: Tensor, shape: tuple[int, ...]) -> TensorType:
    """Returns the type of a tensor with other axes of one element in front."""
    quant = tensor.type.quant
    if quant is not None and quant.per_channel and quant.axis is not None:
        quant = dataclasses.replace(quant, axis=quant.axis % len(tensor.shape) + len(shape) - len(tensor.shape))
    return TensorType(shape, tensor.dtype, quant)


class Undo:
    """Restores a graph as it was: what a move costs is estimated, and seldom too low."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._nodes, self._outputs = graph, list(graph.nodes), list(graph.outputs)
        self._writes = [state.write for state in graph.states]
        every: list[Node | Tensor] = [*graph.nodes, *graph.tensors()]
        self._fields = [
            (each, {name: list(value) if isinstance(value, list) else value for name, value in vars(each).items()})
            for each in every
        ]

    def __call__(self) -> None:
        """Restores it."""
        for each, fields in self._fields:
            vars(each).update(fields)
        self._graph.nodes, self._graph.outputs = self._nodes, self._outputs
        for state, write in zip(self._graph.states, self._writes, strict=True):
            state.write = write

"""Questions that every rewrite of a graph asks: who reads a tensor, which name is free, what a node stands for."""

from __future__ import annotations

from aboard.ir.graph import Graph, Node, Tensor


def merged_sources(*nodes: Node) -> tuple[int, ...]:
    """Returns the numbers of all operators of the model file that some nodes compute, ascending."""
    return tuple(sorted({number for node in nodes for number in node.sources}))


def only_reader(graph: Graph, tensor: Tensor) -> Node | None:
    """Returns the only node that reads a tensor; None if no node, several nodes or the caller read it."""
    readers = graph.consumers(tensor)
    return readers[0] if len(readers) == 1 and not graph.is_result(tensor) else None


def free_name(graph: Graph, wanted: str) -> str:
    """Returns a name, with a number behind it where a tensor of the graph has the name already."""
    names = {tensor.name for tensor in graph.tensors()}
    name, number = wanted, 1
    while name in names:
        number += 1
        name = f"{wanted}_{number}"
    return name

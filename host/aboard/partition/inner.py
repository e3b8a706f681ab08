"""Copies a set of nodes of a graph into a graph of their own."""

from __future__ import annotations

from collections.abc import Sequence

from aboard.ir import Graph, Node, Tensor


def inner_graph(graph: Graph, nodes: Sequence[Node], name: str) -> Graph:
    """Returns a graph of some nodes; it shares nodes and tensors with the original graph.

    Args:
        graph: The whole graph.
        nodes: The nodes, in execution order.
        name: C identifier for the new graph.
    """
    made = {tensor for node in nodes for tensor in node.outputs}
    read_outside = {tensor for node in graph.nodes if node not in set(nodes) for tensor in node.operands}
    read_outside |= set(graph.results)
    inputs: dict[Tensor, None] = {}
    for node in nodes:
        inputs |= dict.fromkeys(t for t in node.operands if not t.is_constant and t not in made)
    outputs = [tensor for node in nodes for tensor in node.outputs if tensor in read_outside]
    return Graph(name, list(inputs), outputs, list(nodes), graph.source, graph.model_hash)

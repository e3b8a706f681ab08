"""Rewriting steps that several passes share. Those that importers need too are in `aboard.ir.rewriting`."""

from __future__ import annotations

from collections.abc import Iterable

from aboard.ir import Graph, Node, Tensor
from aboard.ir.rewriting import merged_sources


def can_bypass(graph: Graph, node: Node) -> bool:
    """True if a node that returns its operand unchanged can be removed.

    A node must compute each output of the model, under the output's own name: so a node between the model's input, or
    another output, and an output must stay. Tensors at the border of a region keep their names.
    """
    operand, result = node.input(0), node.output
    if _enters_region(graph, result):
        return False
    if not graph.is_result(result):
        return True
    producer = graph.producer(operand)
    if producer is None or producer.op == "subgraph" or _enters_region(graph, operand):
        return False
    return not graph.is_result(operand)


def _enters_region(graph: Graph, tensor: Tensor) -> bool:
    return any(user.op == "subgraph" for user in graph.consumers(tensor))


def bypass(graph: Graph, node: Node) -> None:
    """Removes a node that returns its operand unchanged, for which `can_bypass` is true."""
    operand, result = node.input(0), node.output
    producer = graph.producer(operand)
    graph.remove([node])
    if producer is not None:
        producer.sources = merged_sources(producer, node)
    if producer is not None and graph.is_result(result):
        producer.outputs = [result if tensor is operand else tensor for tensor in producer.outputs]
        graph.replace_uses(operand, result)
    else:
        graph.replace_uses(result, operand)


def replace_operand(node: Node, old: Tensor, new: Tensor) -> None:
    """Makes a node read another tensor."""
    node.inputs = [new if tensor is old else tensor for tensor in node.inputs]


def describe(nodes: Iterable[Node]) -> str | None:
    """Returns the first of some nodes as `<op> <name>`, for `Pass.pending`; None without nodes."""
    return next((f"{node.op} {node.name}" for node in nodes), None)

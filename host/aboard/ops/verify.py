"""Verifies a graph: its structure, and every node against its op."""

from __future__ import annotations

from aboard.errors import VerifyError
from aboard.ir import Graph, Node, Rounding
from aboard.ir.verify import verify_structure
from aboard.ops.registry import get, require


def verify(graph: Graph, *, least_inputs: int = 1) -> None:
    """Checks every rule of the IR.

    Args:
        graph: The graph.
        least_inputs: How many inputs it must have; a branch may need none.

    Raises:
        VerifyError: A rule is broken; the message names the node or tensor.
    """
    verify_structure(graph, least_inputs)
    for node in graph.nodes:
        check_node(node)


def check_node(node: Node) -> None:
    """Checks the attributes of a node, the rules of its op, and the types of its results.

    Raises:
        VerifyError: A rule is broken.
    """
    op = get(node.op)
    require(
        isinstance(node.attrs, op.attributes),
        node,
        f"attributes, got {type(node.attrs).__name__}, expected {op.attributes.__name__}",
    )
    op.verify(node)
    require(node.attrs.rounding is Rounding.TFLITE or op.is_exact(node), node, "rounding, got exact, expected tflite")
    types = op.infer(node)
    require(len(types) == len(node.outputs), node, f"results, got {len(node.outputs)}, expected {len(types)}")
    for tensor, expected in zip(node.outputs, types, strict=True):
        if tensor.type != expected:
            raise VerifyError(f"{node.op} {node.name}: type of {tensor.name}, got {tensor.type}, expected {expected}")

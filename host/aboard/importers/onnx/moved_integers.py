"""Quantisation of integers that nodes move before their scale is known.

A file may transpose or reshape integers of its input, and state what they stand for behind that. Inside, both sides of
such a node have the same quantisation, so that passes can exchange the two nodes.
"""

from __future__ import annotations

import dataclasses

from aboard import ops
from aboard.errors import ModelError
from aboard.ir import Graph, Node, Tensor


def quantise(graph: Graph) -> None:
    """Gives operands and results of nodes that move data one quantisation, in place.

    Raises:
        ModelError: Readers of a tensor give it different ones.
    """
    moving = [node for node in graph.nodes if ops.get(node.op).moves_data]
    for node in reversed(moving):
        for result in node.outputs:
            for operand in node.operands:
                _agree(graph, node, result, operand)
    for node in moving:
        for operand in node.operands[:1]:
            for result in node.outputs:
                _agree(graph, node, operand, result)


def _agree(graph: Graph, node: Node, known: Tensor, other: Tensor) -> None:
    """Gives a tensor the quantisation of another that has the same integers."""
    quant = known.type.quant
    if quant is None or quant.per_channel or other.is_constant or other.dtype is not known.dtype:
        return
    if other.type.quant is None:
        other.type = dataclasses.replace(other.type, quant=quant)
    elif other.type.quant != quant:
        raise ModelError(
            f"{graph.source}: {node.op} {node.name}: quantisation of {other.name}, got {quant} and "
            f"{other.type.quant}, expected one for the same integers. Export the model again"
        )

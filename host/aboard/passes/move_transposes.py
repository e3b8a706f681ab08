"""Moves transposes towards the outputs, past nodes that can compute with axes in another order, until they cancel.

The importer of ONNX puts a transpose before and behind each node whose kernels want channels last::

    transpose -> conv2d -> transpose -> relu -> transpose -> conv2d -> transpose

A transpose moves past a node if what it costs further down is no more than what it costs now. Then two meet, and cancel
or become one; the transposes at the border of the model are left. A transpose that can move only as two is divided. One
moves up, before a node, where that costs less: before a pad, or to an operand that is transposed anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from aboard.ir import Graph
from aboard.ops import transpose
from aboard.ops.axes import Order
from aboard.passes.contract import Pass
from aboard.passes.registry import register
from aboard.passes.transpose_moves import TransposeMoves
from aboard.passes.transposition import Undo, moved_bytes

#: Moves at most, for each node of a graph, between two that move transposes up. Each makes the cost less, or brings a
#: transpose further down, so that they come to an end; costs are estimates, though.
_MOST_MOVES = 20


@register
@dataclass(frozen=True)
class MoveTransposes(Pass):
    """Moves transposes past other nodes and merges them, where the bytes that they move become no more."""

    name: ClassVar[str] = "move-transposes"
    summary: ClassVar[str] = "moves transposes past other nodes until they cancel or reach the border"

    @override
    def run(self, graph: Graph) -> None:
        before = Undo(graph)
        _settle(graph)
        _settle_from_above(graph, before)
        number = 0
        while number < len(_transposes(graph)):
            number = 0 if _lifted(graph, number) else number + 1

    @override
    def pending(self, graph: Graph) -> str | None:
        """Returns None: whether a move pays is known only by trying it."""
        return None


def _transposes(graph: Graph) -> list[tuple[str, str, Order]]:
    """Returns operand, result and order of each transpose."""
    nodes = [node for node in graph.nodes if node.op == "transpose"]
    return [(node.input(0).name, node.output.name, transpose.attributes(node).order) for node in nodes]


def _settle(graph: Graph) -> None:
    """Moves transposes down until none can move or they go in circles, and leaves the graph where they cost least."""
    least, undo = moved_bytes(graph), Undo(graph)
    seen = set[tuple[object, ...]]()
    for _ in range(_MOST_MOVES * len(graph.nodes)):
        if not TransposeMoves(graph).step():
            break
        now, state = moved_bytes(graph), tuple(_transposes(graph))
        if now <= least:
            least, undo = now, Undo(graph)
        if state in seen:
            break
        seen.add(state)
    if moved_bytes(graph) > least:
        undo()


def _settle_from_above(graph: Graph, begin: Undo) -> None:
    """Moves transposes up first and then down; leaves the graph as it was if they cost no less then.

    Args:
        graph: A graph whose transposes were moved down.
        begin: Restores the graph before that.
    """
    least, undo = moved_bytes(graph), Undo(graph)
    begin()
    number = 0
    while number < len(_transposes(graph)):
        if not TransposeMoves(graph).lift(number):
            number += 1
            continue
        number = 0
        while TransposeMoves(graph).merge():
            pass
    _settle(graph)
    if moved_bytes(graph) >= least:
        undo()


def _lifted(graph: Graph, number: int) -> bool:
    """Moves one transpose up and others down; returns False and leaves the graph as it was if they cost no less."""
    before, undo = moved_bytes(graph), Undo(graph)
    if not TransposeMoves(graph).lift(number):
        return False
    _settle(graph)
    if moved_bytes(graph) < before:
        return True
    undo()
    return False

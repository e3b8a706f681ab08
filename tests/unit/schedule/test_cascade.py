"""Turns of cascades: nothing is computed twice, nothing read before it is there or after it is gone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Graph, Node, Tensor
from aboard.kernels.contract import RowWise
from aboard.ops import get, rows_of
from aboard.ops.box import Box
from aboard.passes import NEUTRAL, run_passes
from aboard.schedule.cascade import Cascade, form
from support.image_models import image_model


def cascades(graph: Graph, rng: np.random.Generator) -> list[tuple[Cascade, dict[Node, RowWise]]]:
    """Returns the longest cascade from every node of a graph on, nodes taking one to three rows at once."""
    ways = {
        node: RowWise(int(rng.integers(1, 4)), accumulates=is_global(node), keeps=bool(rng.integers(2)))
        for node in graph.nodes
    }
    found = []
    for first in range(len(graph.nodes)):
        ends = range(len(graph.nodes), first + 1, -1)
        formed = (form(graph, graph.nodes[first:last], ways.get) for last in ends)
        found += [(cascade, ways) for cascade in [next(filter(None, formed), None)] if cascade is not None]
    return found


def is_global(node: Node) -> bool:
    return node.op == "average_pool2d" and node.output.shape[1:3] == (1, 1) and node.input(0).shape[1] > 2


def rows_read(node: Node, way: RowWise, operand: int, first: int, last: int) -> range:
    if way.accumulates:
        return range(first, last)
    boxes = get(node.op).operand_boxes(node, Box.whole(node.output.shape).on(1, first, last))
    box = boxes[operand] if boxes else None
    assert box is not None
    if way.keeps and operand == 0 and first > 0:
        return range(max(box.start[1], rows_read(node, RowWise(), operand, 0, first).stop), box.stop[1])
    return range(box.start[1], box.stop[1])


def play(cascade: Cascade, ways: dict[Node, RowWise]) -> None:
    """Takes the turns with memory in which every row of a ring knows which row of the tensor it holds."""
    memory: dict[Tensor, dict[int, int]] = {tensor: {} for tensor in cascade.depths}
    done = dict.fromkeys(range(len(cascade.nodes)), 0)
    first_turn: set[int] = set()
    for turn in cascade.turns:
        node, way = cascade.nodes[turn.position], ways[cascade.nodes[turn.position]]
        assert turn.first == done[turn.position] < turn.last
        done[turn.position] = turn.last
        for index, tensor in enumerate(node.inputs):
            if tensor is None or tensor.is_constant:
                continue
            for row in rows_read(node, way, index, turn.first, turn.last):
                if tensor in memory:
                    assert memory[tensor].get((row + cascade.phases[tensor]) % cascade.depths[tensor]) == row
                elif turn.position not in first_turn:
                    # Nobody reads what was spent when the node first came: neither it nor any later turn.
                    assert row * row_bytes(tensor) >= cascade.spent[node][tensor]
        first_turn.add(turn.position)
        for tensor in cascade.fleeting:
            if node.output is not tensor and tensor not in node.operands:
                assert not still_needed(cascade, ways, tensor, done)
        if node.output in memory:
            for row in range(turn.first, turn.last):
                slot = (row + cascade.phases[node.output]) % cascade.depths[node.output]
                memory[node.output][slot] = row
    for position, node in enumerate(cascade.nodes):
        whole = node.input(0) if ways[node].accumulates else node.output
        assert done[position] == rows_of(whole.shape)


def row_bytes(tensor: Tensor) -> int:
    return tensor.type.bytes // rows_of(tensor.shape)


def still_needed(cascade: Cascade, ways: dict[Node, RowWise], tensor: Tensor, done: dict[int, int]) -> bool:
    """True when a row of a tensor that has been computed is still to be read."""
    written = next(done[p] for p, node in enumerate(cascade.nodes) if node.output is tensor)
    for position, node in enumerate(cascade.nodes):
        rows = rows_of((node.input(0) if ways[node].accumulates else node.output).shape)
        for index in (i for i, t in enumerate(node.inputs) if t is tensor):
            for row in range(done[position], rows):
                if any(r < written for r in rows_read(node, ways[node], index, row, row + 1)):
                    return True
    return False


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_rows_are_there_when_they_are_read(seed: int) -> None:
    graph = load(image_model(seed), name="model")
    run_passes(graph, NEUTRAL)
    for cascade, ways in cascades(graph, np.random.default_rng(seed)):
        play(cascade, ways)


def test_the_property_is_not_empty() -> None:
    found = 0
    for seed in range(10):
        graph = load(image_model(seed), name="model")
        found += len(cascades(graph, np.random.default_rng(seed)))
    assert found >= 10


def test_what_others_read_too_is_no_cascade() -> None:
    graph = next(g for g in map(graph_of, range(50)) if len(g.outputs) > 1 and len(g.nodes) > 3)
    inner = next(node for node in graph.nodes[:-1] if any(node.output is t for t in graph.outputs))
    at = graph.nodes.index(inner)
    assert form(graph, graph.nodes[at : at + 2], lambda node: RowWise()) is None


def graph_of(seed: int) -> Graph:
    graph = load(image_model(seed), name="model")
    run_passes(graph, NEUTRAL)
    return graph


@pytest.mark.parametrize("way", [None, RowWise(accumulates=True)])
def test_every_node_but_the_last_has_to_give_rows(way: RowWise | None) -> None:
    graph = graph_of(1)
    nodes = graph.nodes[:2]
    assert form(graph, nodes, lambda node: way if node is nodes[0] else RowWise()) is None

"""Stripes of cascades: no row is computed twice, or read before it is written or after it is overwritten."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Graph, Node, Tensor
from aboard.kernels.contract import RowWise
from aboard.ops import get, rows_of
from aboard.ops.box import Box
from aboard.passes import NEUTRAL, run_passes
from aboard.schedule.cascade import Cascade, Stripe
from aboard.schedule.stripes import build_cascade
from support.image_models import image_model, wide_image_model
from support.tflite_builder import ModelBuilder


def cascades(graph: Graph, rng: np.random.Generator) -> list[tuple[Cascade, dict[Node, RowWise]]]:
    """Returns the longest cascade from every node of a graph on, with stripes of one to three rows.

    If only its nodes read the input, the input may be streamed; some cascades minimise RAM.
    """
    ways = {
        node: RowWise(int(rng.integers(1, 4)), accumulates=is_global(node), keeps=bool(rng.integers(2)))
        for node in graph.nodes
    }
    found = []
    for first in range(len(graph.nodes)):
        ends = range(len(graph.nodes), first, -1)
        streamed = graph.inputs[0] if first == 0 and rng.integers(2) else None
        minimise_ram = bool(rng.integers(2))
        formed = (
            build_cascade(graph, graph.nodes[first:last], ways.get, streamed, minimise_ram=minimise_ram)
            for last in ends
        )
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


class Player:
    """Computes the stripes with rolling buffers that know which row of which tensor each of their rows stores."""

    def __init__(self, cascade: Cascade, ways: dict[Node, RowWise]) -> None:
        self.cascade = cascade
        self.ways = ways
        self.rolling = {tensor: shared(cascade, ways, tensor) for tensor in cascade.buffer_rows}
        self.memory: dict[tuple[Tensor, int], tuple[Tensor, int]] = {}
        self.done = dict.fromkeys(range(len(cascade.nodes) + 1), 0)

    def play(self) -> None:
        for stripe in self.cascade.stripes:
            assert stripe.first == self.done[stripe.position] < stripe.last
            self.done[stripe.position] = stripe.last
            if stripe.position == len(self.cascade.nodes):
                assert self.cascade.streamed_input is not None
                assert stripe.last == stripe.first + 1
                self.write(self.cascade.streamed_input, stripe)
            else:
                self.compute(self.cascade.nodes[stripe.position], stripe)
        for position, node in enumerate(self.cascade.nodes):
            assert self.done[position] == rows_computed(node, self.ways)
        if self.cascade.streamed_input is not None:
            assert (
                self.done[len(self.cascade.nodes)]
                == self.cascade.input_stripes
                == rows_of(self.cascade.streamed_input.shape)
            )

    def compute(self, node: Node, stripe: Stripe) -> None:
        assert not self.cascade.minimise_ram or stripe.last == stripe.first + 1
        for index, tensor in enumerate(node.inputs):
            if tensor is not None and not tensor.is_constant:
                rows = rows_read(node, self.ways[node], index, stripe.first, stripe.last)
                self.read(node, tensor, rows, is_first=stripe.first == 0)
        for tensor in self.cascade.transient:
            if node.output is not tensor and tensor not in node.operands:
                assert not still_needed(self.cascade, self.ways, tensor, self.done)
        if node.output in self.rolling:
            self.write(node.output, stripe)
        if stripe.last == rows_computed(node, self.ways):
            assert self.cascade.produced_bytes[node] == written(self.cascade, self.ways, self.done)

    def read(self, node: Node, tensor: Tensor, rows: range, *, is_first: bool) -> None:
        for row in rows:
            if tensor in self.rolling:
                assert self.memory.get(self.slot(tensor, row)) == (tensor, row)
            elif is_first:
                # Nobody reads what was spent when the node first came: neither it nor any later stripe.
                assert row * row_bytes(tensor) >= self.cascade.consumed_bytes[node][tensor]

    def write(self, tensor: Tensor, stripe: Stripe) -> None:
        for row in range(stripe.first, stripe.last):
            self.memory[self.slot(tensor, row)] = tensor, row

    def slot(self, tensor: Tensor, row: int) -> tuple[Tensor, int]:
        buffered = self.rolling[tensor]
        return buffered, (row + self.cascade.start_rows[buffered]) % self.cascade.buffer_rows[buffered]


def rows_computed(node: Node, ways: dict[Node, RowWise]) -> int:
    """Returns in how many rows a node is computed."""
    return rows_of((node.input(0) if ways[node].accumulates else node.output).shape)


def shared(cascade: Cascade, ways: dict[Node, RowWise], tensor: Tensor) -> Tensor:
    """Returns the tensor whose rolling buffer stores a tensor: the next one if one buffer is enough for both."""
    readers = [node for node in cascade.nodes if tensor in node.operands]
    result = readers[0].output if len(readers) == 1 and list(readers[0].operands).count(tensor) == 1 else None
    if (
        result not in cascade.buffer_rows
        or tensor not in cascade.transient
        or not one_by_one(readers[0], ways[readers[0]])
    ):
        return tensor
    return result if cascade.lead_rows[tensor, result] <= cascade.buffer_rows[result] else tensor


def one_by_one(node: Node, way: RowWise) -> bool:
    """True for a node that reads, for each row, that row of its first operand and nothing else of it."""
    rows = rows_of(node.output.shape)
    if way.keeps or way.accumulates or rows != rows_of(node.input(0).shape):
        return False
    return all(rows_read(node, way, 0, row, row + 1) == range(row, row + 1) for row in range(rows))


def written(cascade: Cascade, ways: dict[Node, RowWise], done: dict[int, int]) -> int:
    """Returns the bytes of the result that are there."""
    last = cascade.nodes[-1]
    rows = done[len(cascade.nodes) - 1]
    if not ways[last].accumulates:
        return rows * row_bytes(last.output)
    return last.output.type.bytes if rows == rows_of(last.input(0).shape) else 0


def row_bytes(tensor: Tensor) -> int:
    return tensor.type.bytes // rows_of(tensor.shape)


def still_needed(cascade: Cascade, ways: dict[Node, RowWise], tensor: Tensor, done: dict[int, int]) -> bool:
    """True when a row of a tensor that has been computed is still to be read."""
    writers = [p for p, node in enumerate(cascade.nodes) if node.output is tensor] or [len(cascade.nodes)]
    written = done[writers[0]]
    for position, node in enumerate(cascade.nodes):
        rows = rows_computed(node, ways)
        for index in (i for i, t in enumerate(node.inputs) if t is tensor):
            for row in range(done[position], rows):
                if any(r < written for r in rows_read(node, ways[node], index, row, row + 1)):
                    return True
    return False


@given(st.integers(0, 10_000), st.sampled_from([image_model, wide_image_model]))
@example(541, image_model)  # rows that nobody reads are computed one node after another
@settings(max_examples=40, deadline=None)
def test_rows_are_there_when_they_are_read(seed: int, make: Callable[[int], bytes]) -> None:
    graph = load(make(seed), name="model")
    run_passes(graph, NEUTRAL)
    for cascade, ways in cascades(graph, np.random.default_rng(seed)):
        Player(cascade, ways).play()


def test_the_property_is_not_empty() -> None:
    found = 0
    for seed in range(10):
        graph = load(image_model(seed), name="model")
        found += len(cascades(graph, np.random.default_rng(seed)))
    assert found >= 10


def test_cascades_stream_inputs_share_rolling_buffers_and_minimise_ram() -> None:
    streamed = minimised = sharing = 0
    for seed in range(20):
        for cascade, ways in cascades(graph_of(seed), np.random.default_rng(seed)):
            streamed += cascade.streamed_input is not None
            minimised += cascade.minimise_ram
            sharing += any(shared(cascade, ways, tensor) is not tensor for tensor in cascade.buffer_rows)
    assert min(streamed, minimised, sharing) >= 3


def test_what_others_read_too_is_no_cascade() -> None:
    graph = next(g for g in map(graph_of, range(50)) if len(g.outputs) > 1 and len(g.nodes) > 3)
    inner = next(node for node in graph.nodes[:-1] if any(node.output is t for t in graph.outputs))
    at = graph.nodes.index(inner)
    assert build_cascade(graph, graph.nodes[at : at + 2], lambda node: RowWise()) is None


def graph_of(seed: int) -> Graph:
    graph = load(image_model(seed), name="model")
    run_passes(graph, NEUTRAL)
    return graph


@pytest.mark.parametrize("way", [None, RowWise(accumulates=True)])
def test_every_node_but_the_last_has_to_give_rows(way: RowWise | None) -> None:
    graph = graph_of(1)
    nodes = graph.nodes[:2]
    assert build_cascade(graph, nodes, lambda node: way if node is nodes[0] else RowWise()) is None


@pytest.mark.parametrize(("writes", "reads"), [(2, 1), (2, 2), (1, 2)])
def test_rows_of_a_stripe_are_contiguous(writes: int, reads: int) -> None:
    # Where the reader takes more rows than one, its; else those that are written in a stripe.
    build = ModelBuilder()
    for name in ("x", "y", "z"):
        build.tensor(name, (1, 8, 8, 4), np.int8, scale=0.1)
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "FilterHeight": 3, "FilterWidth": 3}
    build.op("MAX_POOL_2D", ["x"], ["y"], options)
    build.op("MAX_POOL_2D", ["y"], ["z"], {**options, "FilterHeight": 1, "FilterWidth": 1})
    graph = load(build.build(["x"], ["z"]), name="m")
    first, second = graph.nodes
    cascade = build_cascade(graph, graph.nodes, {first: RowWise(writes), second: RowWise(reads)}.get)
    assert cascade is not None
    buffered = first.output
    height, start_row = cascade.buffer_rows[buffered], cascade.start_rows[buffered]
    together = [stripe for stripe in cascade.stripes if stripe.position == (1 if reads > 1 else 0)][1:]
    assert together
    assert height == 2
    assert all((stripe.first + start_row) % height + stripe.last - stripe.first <= height for stripe in together)

"""Where the values are stored that a run leaves for the next one, and when they are copied."""

from __future__ import annotations

import numpy as np
import pytest

from aboard.importers import load
from aboard.ir import Graph
from aboard.kernels.select import strategy
from aboard.memory import state as state_memory
from aboard.schedule.buffer_assigner import assign_buffers
from aboard.schedule.buffers import BufferAssignment
from aboard.schedule.live_ranges import state_block
from aboard.schedule.lowering import Calls, Program, lower
from aboard.target import Target
from support import streams
from support.streams import Stream

TARGET = Target("c -mcpu=cortex-m4")


def assigned(model: bytes) -> tuple[Graph, BufferAssignment, Program]:
    graph = load(model)
    chosen = {node: choice.implementation for node, choice in strategy.choose_all(graph, TARGET, None).items()}
    assignment = assign_buffers(graph, chosen, keep_inputs=False)
    return graph, assignment, lower(graph, assignment, Calls(chosen, TARGET))


def copied(model: bytes) -> list[str]:
    return [state.name for state in assigned(model)[1].copied_states]


def test_a_sum_is_computed_in_place() -> None:
    build = Stream().quantised("x", "s", "n", "y").read("sum", "s")
    build.op("ADD", ["x", "s"], ["n"], {}).assign("sum", "n").op("RELU", ["n"], ["y"])
    model = build.build(["x"], ["y"])
    graph, assignment, program = assigned(model)
    assert assignment.copied_states == []
    (buffer,) = assignment.state_buffers
    assert set(buffer.tensors) == {graph.states[0].read, graph.states[0].write}
    assert program.state_offsets == {buffer: 0}
    assert program.state_bytes == 4
    assert buffer not in program.buffers
    assert not any(live_range.name == buffer.name for live_range in program.live_ranges)


def test_the_next_value_is_written_over_the_old_one_when_that_is_dead() -> None:
    build = Stream().quantised("x", "s", "n", "t", "y").read("v", "s")
    build.op("SUB", ["x", "s"], ["t"], {}).op("ADD", ["x", "t"], ["n"], {}).op("RELU", ["n"], ["y"])
    assert copied(build.assign("v", "n").build(["x"], ["y"])) == []


def test_a_value_is_copied_where_the_old_one_is_still_read() -> None:
    build = Stream().quantised("x", "s", "n", "t", "y").read("v", "s")
    build.op("RELU", ["x"], ["n"]).op("SUB", ["n", "s"], ["t"], {}).op("ADD", ["n", "t"], ["y"], {})
    model = build.assign("v", "n").build(["x"], ["y"])
    graph, assignment, program = assigned(model)
    assert [state.name for state in assignment.copied_states] == ["v"]
    index = program.buffers[assignment.locations[graph.states[0].write].buffer]
    assert program.live_ranges[index].last == len(program.steps), "it is live until the copy"


def test_an_output_is_copied() -> None:
    assert copied(streams.accumulator()) == ["sum"]


def test_a_value_of_two_states_is_copied_to_both_but_one() -> None:
    build = Stream().quantised("x", "s", "t", "n", "y").read("a", "s").read("b", "t")
    build.op("ADD", ["s", "t"], ["n"], {}).op("ADD", ["n", "x"], ["y"], {})
    model = build.assign("a", "n").assign("b", "n").build(["x"], ["y"])
    graph, assignment, _ = assigned(model)
    first, second = (assignment.locations[state.read].buffer for state in graph.states)
    assert first is not second
    assert assignment.locations[graph.states[0].write].buffer not in (first, second)


def test_a_state_that_never_changes_is_not_overwritten() -> None:
    build = Stream().quantised("x", "s", "y", "z").initial("v", np.array([[1, 2, 3, 4]], np.int8)).read("v", "s")
    model = build.op("RELU", ["s"], ["y"]).op("ADD", ["x", "y"], ["z"], {}).build(["x"], ["z"])
    graph, assignment, _ = assigned(model)
    assert assignment.copied_states == []
    (buffer,) = assignment.state_buffers
    assert buffer.tensors == [graph.states[0].read]


def test_a_window_is_where_its_state_is() -> None:
    graph, assignment, program = assigned(streams.window())
    assert [node.op for node in assignment.steps] == ["concatenation", "conv2d", "conv2d"]
    first, second = graph.states
    home = assignment.locations[second.read]
    window = next(tensor for node in graph.nodes for tensor in node.outputs if tensor.name == "cat1")
    assert assignment.locations[window].buffer is home.buffer
    assert (home.view.offset, assignment.locations[second.write].view.offset) == (0, 12)
    assert [state.name for state in assignment.copied_states] == ["stream0", "stream1"]
    assert home.buffer.bytes == 36
    assert assignment.locations[first.read].buffer.bytes == 24
    assert program.state_bytes == 60


def test_delay_lines_do_not_meet() -> None:
    build = Stream().quantised("x", "a", "b", "y").read("a", "a").read("b", "b")
    model = build.op("ADD", ["a", "b"], ["y"], {}).assign("a", "b").assign("b", "a").build(["x"], ["y"])
    graph, assignment, _ = assigned(model)
    homes = assignment.state_buffers
    for state in graph.states:
        other = next(home for home, each in zip(homes, graph.states, strict=True) if each is not state)
        assert assignment.locations[state.write].buffer is not other


@pytest.mark.parametrize(
    ("sizes", "offsets", "end"),
    [
        ([], (), 0),
        ([(3, 4)], (0,), 4),
        ([(3, 4), (8, 8), (1, 16)], (12, 4 + 4, 0), 16),
        ([(5, 4), (5, 4)], (0, 8), 16),
    ],
)
def test_the_block(sizes: list[tuple[int, int]], offsets: tuple[int, ...], end: int) -> None:
    found, size = state_memory.offsets(sizes)
    for (bytes_, align), start in zip(sizes, found, strict=True):
        assert start % align == 0
        assert start + bytes_ <= size
    assert size % 4 == 0
    if len(sizes) < 3:
        assert (found, size) == (offsets, end)


def test_alignment_of_kernels_counts() -> None:
    graph, assignment, program = assigned(streams.window(channels=8))
    block = state_block(assignment, {step.node: step.implementation for step in program.steps})
    assert (dict(block.offsets), block.bytes) == (dict(program.state_offsets), program.state_bytes)
    assert all(offset % 4 == 0 for offset in block.offsets.values())
    assert len(graph.states) == len(block.offsets) == 2

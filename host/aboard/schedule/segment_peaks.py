"""The RAM of a cascade from its own steps alone: no other step of the schedule is looked at.

What other steps run in place does not matter: a tensor that overwrites another one there is live with it at that step
alone. So the tensors around the cascade keep the buffers that aliases give them, and their live ranges are computed
once for all cascades of a graph.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence

from aboard.ir import Graph, Node, Tensor
from aboard.kernels.contract import FunctionCall, Implementation, Scratch, ScratchArg
from aboard.kernels.view import View
from aboard.memory.blocks import live_bytes as live_bytes_of_blocks
from aboard.memory.problem import LiveRange, live_bytes
from aboard.schedule import blocks, buffer_assigner
from aboard.schedule.assigner import Assigner
from aboard.schedule.blocks import Overwriting
from aboard.schedule.buffer_assigner import in_rolling_buffer
from aboard.schedule.buffers import Buffer, BufferAssignment
from aboard.schedule.cascade import Cascade
from aboard.schedule.live_ranges import allocation_problem, buffer_ranges, views
from aboard.schedule.lowering import Program, Step

#: Returns the scratch of a node for some views.
ScratchOf = Callable[[Node, tuple[View | None, ...], tuple[View, ...]], Sequence[Scratch]]


class SegmentPeaks:
    """Peaks of the cascades of a graph without states.

    Attributes:
        ranges: Live range of each buffer of the graph, if every step computes all rows at once and nothing in place.
    """

    def __init__(
        self, graph: Graph, implementations: Mapping[Node, Implementation], scratch_of: ScratchOf, *, keep_inputs: bool
    ) -> None:
        """Computes the live ranges around cascades.

        Args:
            graph: A verified graph in execution order, without states.
            implementations: The implementation of every node.
            scratch_of: Returns the scratch of a node.
            keep_inputs: True if the run must not overwrite the graph's inputs.
        """
        self.scratch_of = scratch_of
        self.keep_inputs = keep_inputs
        self.assigner = Assigner(graph, implementations, keep_inputs)
        self.assigner.steps = [node for node in graph.nodes if not self.assigner.alias(node)]
        assignment = BufferAssignment(self.assigner.locations, self.assigner.steps)
        self.ranges = buffer_ranges(graph, assignment, implementations, keep_inputs=keep_inputs)
        self._live: list[list[Buffer]] = [[] for _ in assignment.steps]
        for buffer, found in self.ranges.items():
            for step in range(found.first, min(found.last + 1, len(self._live))):
                self._live[step].append(buffer)

    def peak(self, first: int, cascade: Cascade, streamed_input: Tensor | None) -> int:
        """Returns a lower bound of the RAM while a cascade is computed.

        Args:
            first: Index of its first step.
            cascade: The cascade.
            streamed_input: The input whose rows the caller pushes, whether or not the cascade reads it.
        """
        assigner, implementations = self.assigner, self.assigner.implementations
        local = self._assigned(cascade, streamed_input)
        scratch = [self.scratch_of(node, *views(node, local)) for node in cascade.nodes]
        elsewhere = {buffer: _moved(self.ranges[buffer], first) for buffer in local.buffers if buffer in self.ranges}
        problem = allocation_problem(
            assigner.graph, local, implementations, scratch, keep_inputs=self.keep_inputs, elsewhere=elsewhere
        )
        steps = range(first, first + len(cascade.nodes))
        own = {assigner.locations[tensor].buffer for tensor in cascade.buffer_rows}
        around = dict.fromkeys(buffer for step in steps for buffer in self._live[step])
        beside = [_moved(self.ranges[b], first) for b in around if b not in elsewhere and b not in own]
        live_ranges = [*problem.live_ranges, *beside]
        return max(live_bytes(live_ranges, problem.overlaps, step - first) for step in steps)

    def peak_in_blocks(self, first: int, cascade: Cascade, streamed_input: Tensor | None) -> int:
        """Returns a lower bound of the RAM of a cascade whose rows lie in blocks; arguments as for `peak`."""
        assigner, implementations = self.assigner, self.assigner.implementations
        local = self._assigned(cascade, streamed_input, in_blocks=True)
        scratch = [self.scratch_of(node, *views(node, local)) for node in cascade.nodes]
        elsewhere = {buffer: _moved(self.ranges[buffer], first) for buffer in local.buffers if buffer in self.ranges}
        problem = allocation_problem(
            assigner.graph, local, implementations, scratch, keep_inputs=self.keep_inputs, elsewhere=elsewhere
        )
        steps = tuple(
            Step(index, node, implementations[node], _with_scratch(scratch[index]), (), (), problem.scratch[index])
            for index, node in enumerate(cascade.nodes)
        )
        program = Program(
            assigner.graph, local, steps, problem.live_ranges, (), problem.buffers, stream_state=problem.stream_state
        )
        made = blocks.problem(program, Overwriting.ALL)
        own = {assigner.locations[tensor].buffer for tensor in cascade.buffer_rows}
        around = dict.fromkeys(buffer for step in steps for buffer in self._live[first + step.index])
        beside = sum(self.ranges[b].bytes for b in around if b not in elsewhere and b not in own)
        return max(live_bytes_of_blocks(made.blocks, made.min_offsets)) + beside

    def _assigned(
        self, cascade: Cascade, streamed_input: Tensor | None, *, in_blocks: bool = False
    ) -> BufferAssignment:
        """Returns the assignment of the tensors that the nodes of a cascade read and write."""
        local = copy.copy(self.assigner)
        touched = dict.fromkeys(t for node in cascade.nodes for t in [*node.operands, *node.outputs])
        local.locations = {t: self.assigner.locations[t] for t in touched if t in self.assigner.locations}
        local.steps = list(cascade.nodes)
        if in_blocks:
            local.locations |= buffer_assigner.in_blocks(cascade, 0)
        else:
            local.locations |= {tensor: in_rolling_buffer(tensor, cascade) for tensor in cascade.buffer_rows}
            for node in reversed(cascade.nodes):
                local.run_stripes_in_place(node, cascade)
        return BufferAssignment(local.locations, local.steps, (cascade,), streamed_input=streamed_input)


def _with_scratch(scratch: Sequence[Scratch]) -> FunctionCall:
    """Returns a call of which nothing but its scratch is known."""
    return FunctionCall("", tuple(ScratchArg(each, "void *") for each in scratch), 0)


def _moved(live_range: LiveRange, first: int) -> LiveRange:
    return dataclasses.replace(live_range, first=live_range.first - first, last=live_range.last - first)

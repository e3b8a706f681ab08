"""Live ranges of the buffers of a schedule: together they are the allocation problem that the planner solves."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aboard.base.manifest import label
from aboard.ir import Graph, Node, Tensor
from aboard.kernels.contract import Implementation, Scratch
from aboard.kernels.view import View
from aboard.memory import state
from aboard.memory.problem import LiveRange, Overlap
from aboard.schedule.buffers import AFTER_LAST, Buffer, BufferAssignment
from aboard.schedule.cascade import Cascade


@dataclass(frozen=True)
class AllocationProblem:
    """The buffers that need an address.

    Attributes:
        live_ranges: One for each buffer of an arena, then for each scratch buffer, then for the state of a streamed
            input.
        buffers: Index of each of these buffers in `live_ranges`.
        scratch: For each step, the indices of its scratch buffers in `live_ranges`.
        overlaps: Pairs that may share bytes although a step needs both.
        stream_state: Index of the state that a run keeps between two rows of a streamed input; None without one.
    """

    live_ranges: tuple[LiveRange, ...]
    buffers: Mapping[Buffer, int]
    scratch: tuple[tuple[int, ...], ...]
    overlaps: tuple[Overlap, ...]
    stream_state: int | None = None


@dataclass(frozen=True)
class StateBlock:
    """Layout of the state block.

    Attributes:
        offsets: Of each buffer that stores a state, bytes from the start of the block.
        positions: Offset of the positions of rolling windows.
        bytes: Size of the block; 0 for a model without state.
    """

    offsets: Mapping[Buffer, int]
    positions: int
    bytes: int


def stream_state_words(assignment: BufferAssignment) -> int:
    """Returns the 32-bit numbers that a run keeps between two rows of a streamed input.

    These are the rows pushed and the next stripe; then the rows computed of each node of the cascade that reads the
    input, and the rows that this cascade has taken.
    """
    cascade = next((each for each in assignment.cascades if each.streamed_input is not None), None)
    return 2 + (0 if cascade is None else len(cascade.nodes) + 1)


def views(node: Node, assignment: BufferAssignment) -> tuple[tuple[View | None, ...], tuple[View, ...]]:
    """Returns the views of a node's operands, None for an absent one, and of its results."""
    outputs = tuple(assignment.locations[tensor].view for tensor in node.outputs)
    for cascade in assignment.cascades:
        if node in cascade.nodes:
            outputs = (dataclasses.replace(outputs[0], stripe_height=cascade.stripe_height(node)),)
    return tuple(_view(tensor, assignment) for tensor in node.inputs), outputs


def _view(tensor: Tensor | None, assignment: BufferAssignment) -> View | None:
    if tensor is None:
        return None
    if tensor.is_constant:
        return View.whole(tensor.shape, tensor.dtype.bytes)
    return assignment.locations[tensor].view


def allocation_problem(
    graph: Graph,
    assignment: BufferAssignment,
    implementations: Mapping[Node, Implementation],
    scratch: Sequence[Sequence[Scratch]],
    *,
    keep_inputs: bool,
    elsewhere: Mapping[Buffer, LiveRange] | None = None,
) -> AllocationProblem:
    """Returns the allocation problem of a schedule.

    Args:
        graph: The graph.
        assignment: Buffers of its tensors.
        implementations: The implementation of every node.
        scratch: For each step, its scratch buffers.
        keep_inputs: True if a run must not overwrite the inputs.
        elsewhere: If `assignment` has a part of the steps, the live ranges of its buffers through all steps, which are
            counted from the first step of the part.
    """
    builder = _ProblemBuilder(graph, assignment, implementations, elsewhere)
    builder.add_buffers(keep_inputs=keep_inputs)
    builder.add_scratch(scratch)
    builder.add_overlaps()
    state = builder.add_stream_state()
    live_ranges, overlaps = tuple(builder.live_ranges), tuple(builder.overlaps)
    return AllocationProblem(live_ranges, builder.buffers, tuple(builder.scratch), overlaps, state)


def buffer_ranges(
    graph: Graph, assignment: BufferAssignment, implementations: Mapping[Node, Implementation], *, keep_inputs: bool
) -> dict[Buffer, LiveRange]:
    """Returns the live range of each buffer of an arena; arguments as for `allocation_problem`."""
    builder = _ProblemBuilder(graph, assignment, implementations, None)
    builder.add_buffers(keep_inputs=keep_inputs)
    return {buffer: builder.live_ranges[index] for buffer, index in builder.buffers.items()}


def state_block(assignment: BufferAssignment, implementations: Mapping[Node, Implementation]) -> StateBlock:
    """Returns the layout of the state block: buffers that store states, then the positions of rolling windows."""
    buffers = assignment.state_buffers
    aligns = {buffer: max(4, *(tensor.dtype.bytes for tensor in buffer.tensors)) for buffer in buffers}
    for node in assignment.steps:
        for tensor in [*node.operands, *node.outputs]:
            location = assignment.locations.get(tensor)
            if location is not None and location.buffer in aligns:
                aligns[location.buffer] = max(aligns[location.buffer], implementations[node].alignment(node))
    positions = state.POSITION_BYTES * len(assignment.position_counts)
    sizes = [(buffer.bytes, aligns[buffer]) for buffer in buffers]
    found, size = state.offsets([*sizes, (positions, state.POSITION_BYTES)])
    return StateBlock(dict(zip(buffers, found, strict=False)), found[-1], size)


class _ProblemBuilder:
    def __init__(
        self,
        graph: Graph,
        assignment: BufferAssignment,
        implementations: Mapping[Node, Implementation],
        elsewhere: Mapping[Buffer, LiveRange] | None,
    ) -> None:
        self.graph = graph
        self.assignment = assignment
        self.implementations = implementations
        self.elsewhere = elsewhere
        self.live_ranges: list[LiveRange] = []
        self.buffers = {buffer: index for index, buffer in enumerate(assignment.buffers)}
        self.scratch: list[tuple[int, ...]] = []
        self.overlaps: list[Overlap] = []
        self.cascades: list[tuple[Cascade, range]] = []
        for cascade in assignment.cascades:
            start = assignment.steps.index(cascade.nodes[0])
            self.cascades.append((cascade, range(start, start + len(cascade.nodes))))

    def add_buffers(self, *, keep_inputs: bool) -> None:
        """Adds the live range of each buffer: it is live as long as any tensor in it."""
        first: dict[Buffer, int] = {}
        last: dict[Buffer, int] = {}
        align: dict[Buffer, int] = {}
        end = len(self.assignment.steps) - 1 + AFTER_LAST

        def is_live(tensor: Tensor, step: int, alignment: int = 4) -> None:
            buffer = self.assignment.locations[tensor].buffer
            if buffer not in self.buffers:
                return  # It stores a state, and is no part of an arena.
            first[buffer] = min(first.get(buffer, step), step)
            last[buffer] = max(last.get(buffer, step), step)
            align[buffer] = max(align.get(buffer, 1), alignment, tensor.dtype.bytes)

        for tensor in () if self.elsewhere is not None else self.graph.inputs:
            is_live(tensor, 0)
            is_live(tensor, end if keep_inputs else 0)
        for step, node in enumerate(self.assignment.steps):
            for tensor in self._in_buffers(node):
                is_live(tensor, step, self.implementations[node].alignment(node))
        for cascade, span in self.cascades:
            for tensor in dict.fromkeys(t for node in cascade.nodes for t in self._in_buffers(node)):
                if tensor not in cascade.transient:
                    is_live(tensor, span[0])
                    is_live(tensor, span[-1])
        for tensor in () if self.elsewhere is not None else self.graph.results:
            if tensor in self.assignment.locations:
                is_live(tensor, end)
        for buffer, known in (self.elsewhere or {}).items():
            first[buffer] = min(first.get(buffer, known.first), known.first)
            last[buffer] = max(last.get(buffer, known.last), known.last)
            align[buffer] = max(align.get(buffer, 1), known.align)
        self.live_ranges += [
            LiveRange(buffer.name, buffer.bytes, first.get(buffer, 0), last.get(buffer, 0), align[buffer])
            for buffer in self.buffers
        ]

    def _in_buffers(self, node: Node) -> list[Tensor]:
        return [tensor for tensor in [*node.operands, *node.outputs] if tensor in self.assignment.locations]

    def add_scratch(self, scratch: Sequence[Sequence[Scratch]]) -> None:
        """Adds each scratch buffer: live during its step, or during the whole cascade if it persists."""
        spans = [range(index, index + 1) for index in range(len(scratch))]
        for _, span in self.cascades:
            spans[span[0] : span[-1] + 1] = [span] * len(span)
        for index, wanted in enumerate(scratch):
            name = label(self.assignment.steps[index].name, 27)
            self.scratch.append(tuple(range(len(self.live_ranges), len(self.live_ranges) + len(wanted))))
            for number, each in enumerate(wanted):
                span = spans[index] if each.persistent else range(index, index + 1)
                scratch_name = f"scratch {number} of {name}"
                self.live_ranges.append(LiveRange(scratch_name, each.bytes, span[0], span[-1], each.align))

    def add_stream_state(self) -> int | None:
        """Adds the state between two rows of a streamed input; it is live from the first step until the next run."""
        if self.assignment.streamed_input is None:
            return None
        end = len(self.assignment.steps) - 1 + AFTER_LAST
        self.live_ranges.append(LiveRange("rows of the input", 4 * stream_state_words(self.assignment), 0, end, 4))
        return len(self.live_ranges) - 1

    def add_overlaps(self) -> None:
        """Adds the pairs that may share bytes: in single steps, then in cascades."""
        cascaded = {node for cascade, _ in self.cascades for node in cascade.nodes}
        for step, node in enumerate(self.assignment.steps):
            if node not in cascaded:
                self._add_single(step, node)
        for cascade, span in self.cascades:
            dying = [t for t in cascade.min_offsets if self._dies(t, span)]
            for operand in sorted(dying, key=lambda t: -t.type.bytes)[:1]:
                self._add_cascade(operand, cascade, span)
            if not dying:
                # Beside an operand that dies, these pairs would count bytes twice and loosen the lower bound.
                self._add_late_result(cascade, span)

    def _add_single(self, step: int, node: Node) -> None:
        operand = node.optional_input(0)
        if operand is None or not self._dies(operand, range(step, step + 1)):
            return
        read_again = any(self._index(t) == self._index(operand) for t in node.operands[1:])
        if read_again or not self._is_born(node.output, range(step, step + 1)):
            return
        min_offset = self.implementations[node].overlap(node, *views(node, self.assignment))
        self._add(operand, self._index(node.output), min_offset)

    def _add_cascade(self, operand: Tensor, cascade: Cascade, span: range) -> None:
        """Adds the result of the last node, and the buffers first used when a part of the operand is consumed."""
        if self._is_born(cascade.nodes[-1].output, span):
            self._add(operand, self._index(cascade.nodes[-1].output), cascade.min_offsets[operand])
        seen: set[int] = set()
        for step, node in zip(span, cascade.nodes, strict=True):
            consumed = cascade.consumed_bytes[node][operand]
            rolling = self._index(node.output) if node.output in cascade.buffer_rows else None
            born = [*self.scratch[step], *([] if rolling is None or rolling in seen else [rolling])]
            seen |= set(born)
            for index in born if consumed else ():
                self._add(operand, index, self.live_ranges[index].bytes - consumed)

    def _add_late_result(self, cascade: Cascade, span: range) -> None:
        """Adds the buffers that are dead before the last rows of the result are written."""
        result, produced = cascade.nodes[-1].output, dict[int, int]()
        if not self._is_born(result, span):
            return
        index, bytes_ = self._index(result), result.type.bytes
        for step, node in zip(span, cascade.nodes, strict=True):
            # Rows that no stripe reads are written after the result: a writer needs its rolling buffer too.
            rolling = [self._index(t) for t in [*node.operands, node.output] if t in cascade.buffer_rows]
            for needed in [*self.scratch[step], *rolling]:
                if needed is not None and self.live_ranges[needed].last in span:
                    produced[needed] = max(produced.get(needed, 0), cascade.produced_bytes[node])
        streamed = cascade.streamed_input
        if streamed is not None:
            buffer = self.buffers[self.assignment.locations[streamed].buffer]
            pushed = max(count for node, count in cascade.produced_bytes.items() if streamed in node.outputs)
            produced[buffer] = max(produced.get(buffer, 0), pushed)
        for needed, bytes_produced in produced.items():
            if index is not None and needed != index and bytes_produced < bytes_:
                self.overlaps.append(Overlap(needed, index, bytes_produced))

    def _add(self, operand: Tensor, result: int | None, min_offset: int | None) -> None:
        index = self._index(operand)
        if index is not None and result is not None and min_offset is not None and index != result:
            self.overlaps.append(Overlap(index, result, min_offset))

    def _index(self, tensor: Tensor) -> int | None:
        location = self.assignment.locations.get(tensor)
        return None if location is None else self.buffers.get(location.buffer)

    def _fills_buffer(self, tensor: Tensor) -> bool:
        location = self.assignment.locations[tensor]
        return location.view.offset == 0 and location.view.span == location.buffer.bytes

    def _dies(self, tensor: Tensor, span: range) -> bool:
        """True if a tensor fills its buffer, and the live range of the buffer ends within some steps."""
        index = self._index(tensor)
        return index is not None and self._fills_buffer(tensor) and self.live_ranges[index].last in span

    def _is_born(self, tensor: Tensor, span: range) -> bool:
        """True if a tensor fills its buffer, and the live range of the buffer begins within some steps."""
        index = self._index(tensor)
        return index is not None and self._fills_buffer(tensor) and self.live_ranges[index].first in span

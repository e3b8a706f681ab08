"""The memory map of a compiled model, piece by piece, and the stripes of its cascades."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from aboard.compiler.scheduled import Scheduled
from aboard.ir import Graph, Tensor
from aboard.schedule.buffers import Buffer
from aboard.schedule.cascade import Cascade
from aboard.schedule.lowering import Program

PieceKind = Literal["input", "output", "tensor", "rolling buffer", "scratch"]


@dataclass(frozen=True)
class ArenaPiece:
    """A buffer in an arena, with its live range.

    Attributes:
        name: Name of its tensor, or `scratch`.
        kind: Kind of its content. For several tensors, the first kind of the list that one tensor has.
        arena: Number of the arena.
        offset: Bytes from the start of the arena.
        bytes: Size.
        first: First step during which it is live.
        last: Last step.
        step: The step that first writes the buffer, or whose scratch it is; None for an input.
        rolling: Height of a rolling buffer and rows of its tensor; None for other kinds.
        aliases: Number of further tensors that the buffer stores.
    """

    name: str
    kind: PieceKind
    arena: int
    offset: int
    bytes: int
    first: int
    last: int
    step: int | None
    rolling: tuple[int, int] | None = None
    aliases: int = 0


@dataclass(frozen=True)
class Lane:
    """A layer of a cascade.

    Attributes:
        step: The layer; None for the caller, who pushes rows of the input.
        rows: Total number of rows that the layer computes, or that the caller pushes.
        stripes: For each of its stripes, its number among all stripes of the cascade, its first row, and one past its
            last.
    """

    step: int | None
    rows: int
    stripes: tuple[tuple[int, int, int], ...]

    @property
    def stripe_height(self) -> int:
        """Largest number of rows of a stripe."""
        return max(last - first for _, first, last in self.stripes)


@dataclass(frozen=True)
class CascadeStripes:
    """The stripes of a cascade in execution order.

    Attributes:
        first: Its first step.
        last: Its last step.
        lanes: The lane of the caller if the input is streamed, then the lanes of the layers in order.
        count: Number of stripes of all lanes.
    """

    first: int
    last: int
    lanes: tuple[Lane, ...]
    count: int


def pieces(scheduled: Scheduled) -> tuple[ArenaPiece, ...]:
    """Returns the memory map, the largest buffers first."""
    program, layout = scheduled.program, scheduled.layout
    last = max(len(program.steps) - 1, 0)
    named = _buffers(program) | _scratch(program)
    found = []
    for index, (name, kind, step, rolling, aliases) in named.items():
        live = program.live_ranges[index]
        address = layout.homes[index], layout.offsets[index], live.bytes
        if live.bytes:
            found.append(ArenaPiece(name, kind, *address, live.first, min(live.last, last), step, rolling, aliases))
    return tuple(sorted(found, key=lambda p: (-p.bytes * (p.last - p.first + 1), p.first, p.offset)))


_About = tuple[str, PieceKind, int | None, tuple[int, int] | None, int]


def _buffers(program: Program) -> dict[int, _About]:
    writers = {tensor: step.index for step in program.steps for tensor in step.node.outputs}
    return {index: _about(buffer, program, writers) for buffer, index in program.buffers.items()}


def _about(buffer: Buffer, program: Program, writers: Mapping[Tensor, int]) -> _About:
    rolling = None
    for tensor in buffer.tensors:
        view = program.assignment.locations[tensor].view
        if view.buffer_rows < view.rows:
            rolling = rolling or (view.buffer_rows, view.rows)
    first = buffer.tensors[0] if buffer.tensors else None
    step = None if first is None else writers.get(first)
    return buffer.name, _kind(buffer, program.graph, rolling), step, rolling, len(buffer.tensors) - 1


def _kind(buffer: Buffer, graph: Graph, rolling: tuple[int, int] | None) -> PieceKind:
    if any(tensor in graph.inputs for tensor in buffer.tensors):
        return "input"
    if any(tensor in graph.outputs for tensor in buffer.tensors):
        return "output"
    return "tensor" if rolling is None else "rolling buffer"


def _scratch(program: Program) -> dict[int, _About]:
    return {index: ("scratch", "scratch", step.index, None, 0) for step in program.steps for index in step.scratch}


def cascades(scheduled: Scheduled) -> tuple[CascadeStripes, ...]:
    """Returns the stripes of each cascade."""
    assignment = scheduled.program.assignment
    index = {node: number for number, node in enumerate(assignment.steps)}
    return tuple(_stripes(cascade, [index[node] for node in cascade.nodes]) for cascade in assignment.cascades)


def _stripes(cascade: Cascade, steps: list[int]) -> CascadeStripes:
    by_lane: dict[int, list[tuple[int, int, int]]] = {}
    for number, stripe in enumerate(cascade.stripes):
        by_lane.setdefault(stripe.position, []).append((number, stripe.first, stripe.last))
    lanes = [
        # The caller's position is after the last layer, but its lane is the first.
        Lane(steps[position] if position < len(steps) else None, max(last for *_, last in stripes), tuple(stripes))
        for position, stripes in sorted(by_lane.items(), key=lambda lane: (lane[0] < len(steps), lane[0]))
    ]
    return CascadeStripes(steps[0], steps[-1], tuple(lanes), len(cascade.stripes))

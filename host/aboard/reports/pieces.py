"""What lies in the arenas of a compiled model and when: the pieces of its memory map, and the turns of its cascades."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from aboard.compiler.fitting import Scheduled
from aboard.ir import Graph, Tensor
from aboard.schedule.cascade import Cascade
from aboard.schedule.lowering import Program
from aboard.schedule.storage import Buffer

Kind = Literal["input", "output", "tensor", "ring", "scratch"]


@dataclass(frozen=True)
class Piece:
    """A piece of an arena.

    Attributes:
        name: The tensor it was made for, or `scratch`.
        kind: What lies in it; of a piece with several tensors the first of the kinds that is one of theirs.
        arena: Number of the arena.
        offset: Bytes from the start of the arena.
        bytes: Size.
        first: First step during which it lives.
        last: Last step.
        step: The step that writes it first, or whose scratch it is; None for an input.
        ring: Rows that a ring holds, and of how many; None where it is none.
        shares: How many more tensors lie in it.
    """

    name: str
    kind: Kind
    arena: int
    offset: int
    bytes: int
    first: int
    last: int
    step: int | None
    ring: tuple[int, int] | None = None
    shares: int = 0


@dataclass(frozen=True)
class Lane:
    """A layer of a cascade.

    Attributes:
        step: The layer; None for the caller, who brings rows of the input.
        rows: Rows that it computes, or takes in, in all.
        turns: For each of its turns, its number among all turns of the cascade, its first row, and one past its last.
    """

    step: int | None
    rows: int
    turns: tuple[tuple[int, int, int], ...]

    @property
    def rows_a_turn(self) -> int:
        """Rows of a turn, at most."""
        return max(last - first for _, first, last in self.turns)


@dataclass(frozen=True)
class Turns:
    """A cascade as it runs.

    Attributes:
        first: Its first step.
        last: Its last step.
        lanes: Its caller, where it brings rows, and its layers, in order.
        count: How many turns they take together.
    """

    first: int
    last: int
    lanes: tuple[Lane, ...]
    count: int


def pieces(scheduled: Scheduled) -> tuple[Piece, ...]:
    """Returns the memory map, the largest pieces first."""
    program, layout = scheduled.program, scheduled.layout
    last = max(len(program.steps) - 1, 0)
    named = _buffers(program) | _scratch(program)
    found = []
    for index, (name, kind, step, ring, shares) in named.items():
        request = program.requests[index]
        place = layout.homes[index], layout.offsets[index], request.bytes
        if request.bytes:
            found.append(Piece(name, kind, *place, request.first, min(request.last, last), step, ring, shares))
    return tuple(sorted(found, key=lambda p: (-p.bytes * (p.last - p.first + 1), p.first, p.offset)))


_About = tuple[str, Kind, int | None, tuple[int, int] | None, int]


def _buffers(program: Program) -> dict[int, _About]:
    writers = {tensor: step.index for step in program.steps for tensor in step.node.outputs}
    return {index: _about(buffer, program, writers) for buffer, index in program.buffers.items()}


def _about(buffer: Buffer, program: Program, writers: Mapping[Tensor, int]) -> _About:
    ring = None
    for tensor in buffer.tensors:
        view = program.storage.places[tensor].view
        if view.depth < view.rows:
            ring = ring or (view.depth, view.rows)
    first = buffer.tensors[0] if buffer.tensors else None
    step = None if first is None else writers.get(first)
    return buffer.name, _kind(buffer, program.graph, ring), step, ring, len(buffer.tensors) - 1


def _kind(buffer: Buffer, graph: Graph, ring: tuple[int, int] | None) -> Kind:
    if any(tensor in graph.inputs for tensor in buffer.tensors):
        return "input"
    if any(tensor in graph.outputs for tensor in buffer.tensors):
        return "output"
    return "tensor" if ring is None else "ring"


def _scratch(program: Program) -> dict[int, _About]:
    return {index: ("scratch", "scratch", step.index, None, 0) for step in program.steps for index in step.scratch}


def cascades(scheduled: Scheduled) -> tuple[Turns, ...]:
    """Returns the cascades as they run."""
    storage = scheduled.program.storage
    index = {node: number for number, node in enumerate(storage.steps)}
    return tuple(_turns(cascade, [index[node] for node in cascade.nodes]) for cascade in storage.cascades)


def _turns(cascade: Cascade, steps: list[int]) -> Turns:
    by_lane: dict[int, list[tuple[int, int, int]]] = {}
    for number, turn in enumerate(cascade.turns):
        by_lane.setdefault(turn.position, []).append((number, turn.first, turn.last))
    lanes = [
        # Whoever takes turns and is no layer of the cascade is its caller, who comes first.
        Lane(steps[position] if position < len(steps) else None, max(last for *_, last in turns), tuple(turns))
        for position, turns in sorted(by_lane.items(), key=lambda lane: (lane[0] < len(steps), lane[0]))
    ]
    return Turns(steps[0], steps[-1], tuple(lanes), len(cascade.turns))

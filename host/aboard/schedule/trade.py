"""The trade between RAM and instructions: the schedules of the Pareto front, and the one that was taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aboard.ir import Graph, Node
from aboard.memory import planner
from aboard.memory.arenas import Layout
from aboard.schedule import blocks, blocks_instead, search
from aboard.schedule.buffers import BufferAssignment
from aboard.schedule.cascade import Cascade
from aboard.schedule.cost import instructions
from aboard.schedule.lowering import Calls, Program, lower


@dataclass(frozen=True)
class Weighed:
    """A schedule with its costs.

    Attributes:
        ram_bytes: RAM of its memory plan in one arena.
        bound_bytes: Lower bound of the RAM of any plan for it.
        cascades: Indices of the first and the last step of each cascade.
        extra_stripes: Kernel calls beyond one for each step.
        less_scratch: True with the forms of kernels that need the least scratch, where the module has others.
        instructions: Estimated instructions of the host.
        taken: True for the schedule of the module.
    """

    ram_bytes: int
    bound_bytes: int
    cascades: tuple[tuple[int, int], ...]
    extra_stripes: int
    less_scratch: bool
    instructions: int
    taken: bool


@dataclass(frozen=True)
class Trade:
    """The schedules to choose from.

    Attributes:
        rule: Rule of the choice, in words.
        weighed: The Pareto front of RAM and instructions, from the schedule without cascades to the one with the least
            RAM. The schedule that was taken is always included.
    """

    rule: str
    weighed: tuple[Weighed, ...]


def weigh(graph: Graph, calls: Calls, taken: BufferAssignment, rule: str) -> Trade:
    """Returns the schedules of a graph with their costs.

    Args:
        graph: The graph after all passes.
        calls: Calls of its nodes.
        taken: Buffer assignment of the chosen schedule.
        rule: Rule of the choice, in words.
    """
    assignments = list(search.pareto_front(graph, calls))
    if not any(_same(each.cascades, taken.cascades) for each in assignments):
        assignments.append(taken)
    found = [_weighed(graph, calls, each, taken) for each in assignments]
    less = calls.in_less_scratch()
    if less is not None:
        found += [_weighed(graph, less, each, None) for each in search.pareto_front(graph, less)]
    # A plan may need more RAM than its largest step, so a schedule with more stripes is not always smaller.
    best = [each for each in found if each.taken or not any(_dominates(other, each) for other in found)]
    return Trade(rule, tuple(sorted(best, key=lambda w: (-w.ram_bytes, w.instructions))))


def _dominates(one: Weighed, other: Weighed) -> bool:
    """True if one needs less RAM and no more instructions, or fewer instructions and no more RAM."""
    mine, others = (one.ram_bytes, one.instructions), (other.ram_bytes, other.instructions)
    return mine != others and all(a <= b for a, b in zip(mine, others, strict=True))


def _weighed(graph: Graph, calls: Calls, assignment: BufferAssignment, taken: BufferAssignment | None) -> Weighed:
    """Returns a schedule with its costs; `taken` is None for other forms of kernels than those of the module."""
    is_taken = taken is not None and _same(assignment.cascades, taken.cascades)
    assigned = taken if taken is not None and is_taken else assignment
    program, layout = _laid_out(lower(graph, assigned, calls), calls, is_taken=is_taken)
    return Weighed(
        ram_bytes=layout.peak,
        bound_bytes=layout.bound,
        cascades=tuple(_span(cascade.nodes, assignment) for cascade in assignment.cascades),
        extra_stripes=sum(c.stripes_of(node) - 1 for c in assignment.cascades for node in c.nodes),
        less_scratch=taken is None,
        instructions=instructions(program.steps, assignment, calls.target),
        taken=is_taken,
    )


def _laid_out(program: Program, calls: Calls, *, is_taken: bool) -> tuple[Program, Layout]:
    """Returns a schedule with its memory plan; with rows in blocks if it was taken so, or where that saves RAM."""
    layout = blocks.layout(program) if program.table_bytes else None
    if layout is not None:
        return program, layout
    layout = Layout.single(planner.plan(program.live_ranges, program.overlaps))
    found = None if is_taken else blocks_instead.of(program, calls, layout.peak)
    return found or (program, layout)


def _span(nodes: Sequence[Node], assignment: BufferAssignment) -> tuple[int, int]:
    return assignment.steps.index(nodes[0]), assignment.steps.index(nodes[-1])


def _same(some: Sequence[Cascade], others: Sequence[Cascade]) -> bool:

    def key(cascade: Cascade) -> tuple[object, ...]:
        return cascade.nodes, cascade.stripes, cascade.minimise_ram

    return [key(cascade) for cascade in some] == [key(cascade) for cascade in others]

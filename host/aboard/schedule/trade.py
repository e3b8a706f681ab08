"""The trade between RAM and instructions: what the schedules cost that the search weighs, and which one was taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aboard.ir import Graph, Node
from aboard.kernels.contract import ExternalCall
from aboard.memory import planner
from aboard.schedule import search
from aboard.schedule.cascade import Cascade
from aboard.schedule.cost import cost
from aboard.schedule.lowering import Calls, lower
from aboard.schedule.storage import Storage


@dataclass(frozen=True)
class Weighed:
    """A schedule that was weighed.

    Attributes:
        ram_bytes: What its plan needs, in one arena.
        bound_bytes: What no plan of it can go below.
        cascades: Indices of the first and the last step of each cascade.
        turns: Calls beyond one for each step.
        instructions: Of the host, estimated.
        taken: True for the schedule of the module.
    """

    ram_bytes: int
    bound_bytes: int
    cascades: tuple[tuple[int, int], ...]
    turns: int
    instructions: int
    taken: bool


@dataclass(frozen=True)
class Trade:
    """What the schedules cost that were weighed.

    Attributes:
        rule: By which rule one was taken, in words.
        weighed: From the one without cascades to the one that needs least: each takes more instructions and less RAM
            than the one before it. The one that was taken is always there.
    """

    rule: str
    weighed: tuple[Weighed, ...]


def weigh(graph: Graph, calls: Calls, taken: Storage, rule: str) -> Trade:
    """Returns what the schedules of a graph cost.

    Args:
        graph: As compiled.
        calls: Of its nodes.
        taken: Storage of the schedule that was taken.
        rule: By which rule it was taken, in words.
    """
    stored = list(search.front(graph, calls))
    if not any(_same(each.cascades, taken.cascades) for each in stored):
        stored.append(taken)
    found = [_weighed(graph, calls, each, taken) for each in stored]
    # Plans may need more than any step: then one with more turns is no smaller.
    best = [each for each in found if each.taken or not any(_beats(other, each) for other in found)]
    return Trade(rule, tuple(sorted(best, key=lambda w: (-w.ram_bytes, w.instructions))))


def _beats(one: Weighed, other: Weighed) -> bool:
    """True where one needs less memory and no more instructions, or fewer instructions and no more memory."""
    mine, others = (one.ram_bytes, one.instructions), (other.ram_bytes, other.instructions)
    return mine != others and all(a <= b for a, b in zip(mine, others, strict=True))


def _weighed(graph: Graph, calls: Calls, stored: Storage, taken: Storage) -> Weighed:
    program = lower(graph, stored, calls)
    plan = planner.plan(program.requests, program.overlaps)
    hosted = [step for step in program.steps if not isinstance(step.call, ExternalCall)]
    counts = [cost(step, stored, calls.target).instructions for step in hosted]
    return Weighed(
        ram_bytes=plan.peak,
        bound_bytes=plan.bound,
        cascades=tuple(_span(cascade.nodes, stored) for cascade in stored.cascades),
        turns=sum(cascade.turns_of(node) - 1 for cascade in stored.cascades for node in cascade.nodes),
        instructions=sum(counts),
        taken=_same(stored.cascades, taken.cascades),
    )


def _span(nodes: Sequence[Node], stored: Storage) -> tuple[int, int]:
    return stored.steps.index(nodes[0]), stored.steps.index(nodes[-1])


def _same(some: Sequence[Cascade], others: Sequence[Cascade]) -> bool:

    def key(cascade: Cascade) -> tuple[object, ...]:
        return cascade.nodes, cascade.turns, cascade.sparing

    return [key(cascade) for cascade in some] == [key(cascade) for cascade in others]

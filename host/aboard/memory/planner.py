"""Places buffers in an arena: greedy orders first, then an exact search that improves the plan or proves it best.

Offset assignment for given lifetimes is NP-hard (it is dynamic storage allocation). Yet for most models one of a few
greedy orders meets the lower bound. If none does, the exact search answers whether a plan exists for capacities
between the bound and the best plan known, within a budget of partial plans. When the budget ends, the plan has a gap to
its bound (`MemoryPlan.bound`). No clock is read: the same model gives the same plan on every machine.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from aboard.memory import exact
from aboard.memory.greedy import Greedy
from aboard.memory.interference import InterferenceGraph
from aboard.memory.problem import WORD, LiveRange, MemoryPlan, Overlap, lower_bound, restricted, round_up
from aboard.memory.validate import validate

#: Partial plans that the exact search may examine for a problem, and for a part of its buffers.
EXACT_BUDGET, PART_BUDGET = 30_000, 100
#: Partial plans for each buffer: for a plan at the bound, and for each capacity between the bound and the best plan.
#: The capacities come as near to the peak of the best plan as a 64th of it.
BOUND_BUDGET, PROBE_BUDGET, NEAR = 50, 10, 64
#: The parts are the buffers of at least a fourth, an eighth and so on of the arena.
PARTS = (4, 8, 16)


def plan(live_ranges: Sequence[LiveRange], overlaps: Sequence[Overlap] = ()) -> MemoryPlan:
    """Places buffers so that the arena is as small as the search can find.

    Args:
        live_ranges: Live ranges of the buffers to place.
        overlaps: Pairs that may share bytes although they are live together.

    Returns:
        A validated plan; `MemoryPlan.optimal` is True if it is proven best.
    """
    return _planned(tuple(live_ranges), tuple(overlaps))


@functools.lru_cache(maxsize=128)
def _planned(live_ranges: tuple[LiveRange, ...], overlaps: tuple[Overlap, ...]) -> MemoryPlan:
    """Returns the plan. Searches for less RAM and for advice often end at a problem that is solved already."""
    if not live_ranges:
        return MemoryPlan((), 0, 0)
    found = _best(live_ranges, overlaps)
    validate(live_ranges, found, overlaps)
    return found


def quick_peak(live_ranges: Sequence[LiveRange], overlaps: Sequence[Overlap], enough: int) -> int:
    """Returns the bytes of an arena by the greedy orders that `plan` tries first.

    Args:
        live_ranges: Live ranges of the buffers to place.
        overlaps: Pairs that may share bytes although they are live together.
        enough: The search stops after an order that needs at most this many bytes.
    """
    greedy = Greedy(live_ranges, overlaps)
    greedy.by_keys(enough)
    return greedy.peak


def _best(live_ranges: Sequence[LiveRange], overlaps: Sequence[Overlap]) -> MemoryPlan:
    greedy = Greedy(live_ranges, overlaps)
    bound = lower_bound(live_ranges, overlaps)
    greedy.by_keys(bound)
    if greedy.peak > bound:
        greedy.outwards(bound)
    known = MemoryPlan(tuple(greedy.offsets), greedy.peak, bound)
    graph = None if known.optimal else InterferenceGraph.of(live_ranges, overlaps)
    if graph is not None:
        known = _Improvement(live_ranges, overlaps, graph, known).best()
    if not known.optimal:
        greedy.local(known.bound)
        if greedy.peak < known.peak:
            known = MemoryPlan(tuple(greedy.offsets), greedy.peak, known.bound)
    return known


class _Improvement:
    """Improves a plan with the exact search, and raises its bound."""

    def __init__(
        self, live_ranges: Sequence[LiveRange], overlaps: Sequence[Overlap], graph: InterferenceGraph, known: MemoryPlan
    ) -> None:
        self.count, self.graph = len(live_ranges), graph
        self.offsets, self.peak, self.bound = known.offsets, known.peak, known.bound
        self.left = EXACT_BUDGET
        large = [[i for i, r in enumerate(live_ranges) if r.bytes * part >= known.peak] for part in PARTS]
        parts = [InterferenceGraph.of(*restricted(live_ranges, overlaps, members)) for members in large if members]
        self.parts = [part for part in parts if part is not None]

    def best(self) -> MemoryPlan:
        """Searches a plan at the bound, then between the bound and the best plan, then any better plan."""
        self._probe(self.bound, BOUND_BUDGET * self.count)
        self._close_in()
        while self.bound < self.peak:
            if not self._probe(self.peak - WORD, self.left // 2):
                break
        if self.bound < self.peak:
            self._probe(self.bound, self.left)
        return MemoryPlan(self.offsets, self.peak, self.bound)

    def _close_in(self) -> None:
        """Halves the gap between the bound and the best plan; a capacity without an answer counts as out of reach."""
        least = self.bound
        while self.peak - least > max(self.peak // NEAR, WORD):
            capacity = (least + self.peak) // (2 * WORD) * WORD
            if not self._probe(capacity, PROBE_BUDGET * self.count):
                least = capacity

    def _probe(self, capacity: int, budget: int) -> bool | None:
        """Searches a plan; returns True if there is one, False if there is none, None without an answer."""
        if any(self._refutes(part, capacity) for part in self.parts):
            self.bound = max(self.bound, capacity + WORD)
            return False
        answer = exact.fit(self.graph, capacity, min(budget, self.left))
        self.left -= answer.states
        if answer.offsets is not None:
            ends = [at + size for at, size in zip(answer.offsets, self.graph.bytes.tolist(), strict=True)]
            self.offsets, self.peak = answer.offsets, round_up(max(ends), WORD)
            return True
        if answer.closed:
            self.bound = max(self.bound, capacity + WORD)
            return False
        return None

    @staticmethod
    def _refutes(part: InterferenceGraph, capacity: int) -> bool:
        """True if a part of the buffers already does not fit; with few buffers the search is short."""
        answer = exact.fit(part, capacity, PART_BUDGET)
        return answer.closed and answer.offsets is None

"""Places buffers in an arena: greedy orders first, then an exact search that improves the plan or proves it best.

Offset assignment for given lifetimes is NP-hard (it is dynamic storage allocation). Yet for most models one of a few
greedy orders meets the lower bound. Where none does, the exact search answers whether a plan exists for capacities
between the bound and the best that is known. It does so within a budget of states; when that ends, the plan states
its gap (`Plan.bound`). No clock is read: the same model gives the same plan on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence

from aboard.memory import exact
from aboard.memory.geometry import Geometry
from aboard.memory.greedy import Greedy
from aboard.memory.problem import WORD, Overlap, Plan, Request, lower_bound, restricted, round_up
from aboard.memory.validate import validate

#: States that the exact search may look at for a problem, and for a part of its requests.
EXACT_BUDGET, PART_BUDGET = 30_000, 100
#: States for each request: for a plan at the bound, and for each capacity between it and the best plan; and how near
#: these come to that plan: a 64th of it.
BOUND_BUDGET, PROBE_BUDGET, NEAR = 50, 10, 64
#: The parts are the requests of at least a fourth, an eighth and so on of the arena.
PARTS = (4, 8, 16)


def plan(requests: Sequence[Request], overlaps: Sequence[Overlap] = ()) -> Plan:
    """Places buffers so that the arena is as small as can be found.

    Args:
        requests: What to place.
        overlaps: Pairs that may share bytes though they are alive together.

    Returns:
        A validated plan; `Plan.optimal` says whether it is proven best.
    """
    if not requests:
        return Plan((), 0, 0)
    found = _best(requests, overlaps)
    validate(requests, found, overlaps)
    return found


def quick_peak(requests: Sequence[Request], overlaps: Sequence[Overlap], enough: int) -> int:
    """Returns the bytes of an arena that holds requests, by the orders that are tried first.

    Args:
        requests: What to place.
        overlaps: Pairs that may share bytes though they are alive together.
        enough: No order is tried after one that needs no more than this.
    """
    greedy = Greedy(requests, overlaps)
    greedy.by_keys(enough)
    return greedy.peak


def _best(requests: Sequence[Request], overlaps: Sequence[Overlap]) -> Plan:
    greedy = Greedy(requests, overlaps)
    bound = lower_bound(requests, overlaps)
    greedy.by_keys(bound)
    if greedy.peak > bound:
        greedy.outwards(bound)
    known = Plan(tuple(greedy.offsets), greedy.peak, bound)
    geometry = None if known.optimal else Geometry.of(requests, overlaps)
    if geometry is not None:
        known = _Improvement(requests, overlaps, geometry, known).best()
    if not known.optimal:
        greedy.local(known.bound)
        if greedy.peak < known.peak:
            known = Plan(tuple(greedy.offsets), greedy.peak, known.bound)
    return known


class _Improvement:
    """Makes a plan better with the exact search, and raises its bound."""

    def __init__(
        self, requests: Sequence[Request], overlaps: Sequence[Overlap], geometry: Geometry, known: Plan
    ) -> None:
        self.count, self.geometry = len(requests), geometry
        self.offsets, self.peak, self.bound = known.offsets, known.peak, known.bound
        self.left = EXACT_BUDGET
        large = [[i for i, r in enumerate(requests) if r.bytes * part >= known.peak] for part in PARTS]
        parts = [Geometry.of(*restricted(requests, overlaps, members)) for members in large if members]
        self.parts = [part for part in parts if part is not None]

    def best(self) -> Plan:
        """Asks for plans at the bound, then between it and the best one, then for any better one."""
        self._probe(self.bound, BOUND_BUDGET * self.count)
        self._close_in()
        while self.bound < self.peak:
            if not self._probe(self.peak - WORD, self.left // 2):
                break
        if self.bound < self.peak:
            self._probe(self.bound, self.left)
        return Plan(self.offsets, self.peak, self.bound)

    def _close_in(self) -> None:
        """Halves what lies between the bound and the best plan; capacities without an answer count as out of reach."""
        least = self.bound
        while self.peak - least > max(self.peak // NEAR, WORD):
            capacity = (least + self.peak) // (2 * WORD) * WORD
            if not self._probe(capacity, PROBE_BUDGET * self.count):
                least = capacity

    def _probe(self, capacity: int, budget: int) -> bool | None:
        """Asks for a plan; returns True where there is one, False where there is none, None without an answer."""
        if any(self._refutes(part, capacity) for part in self.parts):
            self.bound = max(self.bound, capacity + WORD)
            return False
        answer = exact.fit(self.geometry, capacity, min(budget, self.left))
        self.left -= answer.states
        if answer.offsets is not None:
            ends = [at + size for at, size in zip(answer.offsets, self.geometry.bytes.tolist(), strict=True)]
            self.offsets, self.peak = answer.offsets, round_up(max(ends), WORD)
            return True
        if answer.closed:
            self.bound = max(self.bound, capacity + WORD)
            return False
        return None

    @staticmethod
    def _refutes(part: Geometry, capacity: int) -> bool:
        """True when not even some of the requests fit: with few of them the search has few states."""
        answer = exact.fit(part, capacity, PART_BUDGET)
        return answer.closed and answer.offsets is None

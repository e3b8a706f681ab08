"""Places buffers in an arena: greedy orders, local search, then exact search for small problems.

Offset assignment for given lifetimes is NP-hard (it is dynamic storage allocation), yet for real models one of a few
greedy orders nearly always meets the lower bound. Where none does, nor one that differs a little from the best of
them, a branch and bound over first-fit orders either proves the best plan or runs out of its budget of placements; then
the plan states its gap (`Plan.bound`). No clock is
read: the same model gives the same plan on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from aboard.memory.problem import WORD, Overlap, Plan, Request, lower_bound, round_up
from aboard.memory.validate import validate

#: Placements the exact search may try before it gives up.
EXACT_BUDGET = 50_000
#: For which requests a proof is tried: those of at least a fourth (and so on) of the arena, and those alive around so
#: many of the fullest steps, over so many neighbouring steps.
PROOF_SIZES, PROOF_STEPS, PROOF_WIDTHS = (4, 8, 16), 3, (1, 2, 3)
#: Orders the local search may try.
LOCAL_BUDGET = 2_000


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
    solver = _Solver(requests, overlaps)
    solver.greedy()
    for effort in (solver.local, solver.raise_bound, solver.exact):
        if solver.peak > solver.bound:
            effort()
    result = Plan(tuple(solver.offsets), solver.peak, solver.bound)
    validate(requests, result, overlaps)
    return result


def quick_peak(requests: Sequence[Request], overlaps: Sequence[Overlap], enough: int) -> int:
    """Returns the bytes of an arena that holds requests, by the orders that are tried first.

    Args:
        requests: What to place.
        overlaps: Pairs that may share bytes though they are alive together.
        enough: No order is tried after one that needs no more than this.
    """
    solver = _Solver(requests, overlaps)
    solver.by_keys(enough)
    return solver.peak


def _away_from(pivot: Request, request: Request, direction: int) -> tuple[int, ...]:
    """Returns a key that sorts requests by how long before or after a pivot they live, the pivot itself first."""
    gap = max(pivot.first - request.last, request.first - pivot.last, 0)
    return (request is not pivot, gap, direction * request.first, -request.bytes)


class _Solver:
    def __init__(self, requests: Sequence[Request], overlaps: Sequence[Overlap]) -> None:
        self.requests = list(requests)
        self.overlaps = list(overlaps)
        self.bound = lower_bound(requests, overlaps)
        # For a pair (placed, new) that may overlap: where the new one may not begin, relative to the placed one.
        self.forbidden: dict[tuple[int, int], tuple[int, int]] = {}
        for o in overlaps:
            operand, result = self.requests[o.operand].bytes, self.requests[o.result].bytes
            distance = min(o.distance, result)
            self.forbidden[o.operand, o.result] = (-distance, operand)
            self.forbidden[o.result, o.operand] = (-operand, distance)
        self.neighbours = [
            [j for j, b in enumerate(self.requests) if j != i and a.overlaps(b)] for i, a in enumerate(self.requests)
        ]
        self.offsets: list[int] = []
        self.order: list[int] = []
        self.peak = 1 << 62

    def first_fit(self, index: int, offsets: list[int | None]) -> int:
        """Returns the lowest offset at which a request fits beside those already placed."""
        request = self.requests[index]
        forbidden: list[tuple[int, int]] = []
        for j in self.neighbours[index]:
            at = offsets[j]
            if at is not None:
                below, above = self.forbidden.get((j, index), (-request.bytes, self.requests[j].bytes))
                forbidden.append((at + below, at + above))
        at = 0
        for begin, end in sorted(forbidden):
            if at <= begin:
                break
            if at < end:
                at = round_up(end, request.align)
        return at

    def place(self, order: Sequence[int]) -> None:
        """Places in an order by first fit and keeps the result if it is the best so far."""
        offsets: list[int | None] = [None] * len(self.requests)
        peak = 0
        for index in order:
            at = self.first_fit(index, offsets)
            offsets[index] = at
            peak = max(peak, round_up(at + self.requests[index].bytes, WORD))
            if peak >= self.peak:
                return
        self.offsets = [at for at in offsets if at is not None]
        self.order, self.peak = list(order), peak

    def greedy(self) -> None:
        """Tries the orders that are good in practice: by size and life, then outwards in time from each request."""
        self.by_keys(self.bound)
        if self.peak == self.bound:
            return
        for pivot in self.requests:
            for backwards in (0, 1, -1):
                ranked = sorted((_away_from(pivot, r, backwards), i) for i, r in enumerate(self.requests))
                self.place([index for _, index in ranked])
                if self.peak == self.bound:
                    return

    def by_keys(self, enough: int) -> None:
        """Tries the orders by size and life until an arena of `enough` bytes will do."""
        keys: list[Callable[[Request], tuple[int, ...]]] = [
            lambda r: (-r.bytes, r.first),
            lambda r: (-r.bytes * (r.last - r.first + 1), r.first),
            lambda r: (r.first, -r.bytes),
            lambda r: (-(r.last - r.first), -r.bytes),
            lambda r: (-r.last, -r.bytes),
        ]
        for key in keys:
            self.place([index for _, index in sorted((key(r), i) for i, r in enumerate(self.requests))])
            if self.peak <= enough:
                return

    def exact(self) -> None:
        """Branches over which request is placed next, always at its lowest offset, never below the last placement.

        Every plan can be pushed down until each buffer rests on another or on 0; placing its buffers by ascending
        offset visits it. So the search is complete, and what it finds within its budget is the best there is.
        """
        offsets: list[int | None] = [None] * len(self.requests)
        budget = [EXACT_BUDGET]
        if self._branch(offsets, list(range(len(self.requests))), 0, 0, budget):
            return
        if budget[0] > 0:
            self.bound = self.peak  # the whole tree was searched: nothing better exists

    def _branch(self, offsets: list[int | None], left: list[int], floor: int, peak: int, budget: list[int]) -> bool:
        if not left:
            self.offsets = [at for at in offsets if at is not None]
            self.peak = peak
            return self.peak == self.bound
        ends = [(max(self.first_fit(i, offsets), 0), -self.requests[i].bytes, i) for i in left]
        for at, _, index in sorted(ends):
            top = max(peak, round_up(at + self.requests[index].bytes, WORD))
            if at < floor or top >= self.peak:
                continue
            budget[0] -= 1
            if budget[0] <= 0:
                return False
            offsets[index] = at
            rest = [i for i in left if i != index]
            if self._branch(offsets, rest, at, top, budget):
                return True
            offsets[index] = None
        return False

    def local(self) -> None:
        """Swaps buffers in the best order, keeping what is better; a fixed seed makes it repeatable."""
        rng = random.Random(0)  # noqa: S311 - not for secrets
        for _ in range(LOCAL_BUDGET):
            order = list(self.order or range(len(self.requests)))
            for _ in range(rng.randint(1, 3)):
                i, j = rng.randrange(len(order)), rng.randrange(len(order))
                order[i], order[j] = order[j], order[i]
            self.place(order)
            if self.peak == self.bound:
                return

    def raise_bound(self) -> None:
        """Shows, where it can, that no plan is better than the one found: not even for some of the requests.

        What some need, all need. Tried are the largest requests, and those alive around the fullest steps.
        """
        if any(self._proves(members) for members in self._subsets()):
            self.bound = self.peak

    def _subsets(self) -> Iterator[list[int]]:
        everyone = list(enumerate(self.requests))
        for part in PROOF_SIZES:
            yield [i for i, r in everyone if r.bytes * part >= self.peak]
        steps = sorted({r.first for r in self.requests}, key=lambda step: -self._load(step))
        for width in PROOF_WIDTHS:
            for step in steps[:PROOF_STEPS]:
                first, last = step - width // 2, step + (width + 1) // 2
                yield [i for i, r in everyone if r.first <= last and first <= r.last]

    def _load(self, step: int) -> int:
        return sum(r.bytes for r in self.requests if r.first <= step <= r.last)

    def _proves(self, members: Sequence[int]) -> bool:
        """True when some of the requests need as much as the plan for all."""
        number = {request: index for index, request in enumerate(members)}
        inside = [o for o in self.overlaps if o.operand in number and o.result in number]
        part = _Solver(
            [self.requests[i] for i in members],
            [Overlap(number[o.operand], number[o.result], o.distance) for o in inside],
        )
        part.peak = self.peak
        budget = [EXACT_BUDGET]
        part._branch([None] * len(members), list(range(len(members))), 0, 0, budget)
        return budget[0] > 0 and part.peak == self.peak

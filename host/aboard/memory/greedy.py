"""Places buffers by first fit, in orders that are good in practice and in orders that differ a little from the best.

Where the bytes of an arena are as few as its bound, one of the first orders nearly always shows it, at once. What they
find is also where the exact search (`memory/exact.py`) begins.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from aboard.memory.problem import WORD, Overlap, Request, round_up

#: Placements that the orders from each request outwards, and the local search, may cost.
OUTWARDS_BUDGET, LOCAL_BUDGET = 30_000, 30_000


def _away_from(pivot: Request, request: Request, direction: int) -> tuple[int, ...]:
    """Returns a key that sorts requests by how long before or after a pivot they live, the pivot itself first."""
    gap = max(pivot.first - request.last, request.first - pivot.last, 0)
    return (request is not pivot, gap, direction * request.first, -request.bytes)


class Greedy:
    """Orders tried on a problem, and the best plan that they led to.

    Attributes:
        offsets: For each request, bytes from the start of the arena.
        peak: Bytes of the arena.
    """

    def __init__(self, requests: Sequence[Request], overlaps: Sequence[Overlap]) -> None:
        self.requests = list(requests)
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
        self.placements = 0

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
            self.placements += 1
            peak = max(peak, round_up(at + self.requests[index].bytes, WORD))
            if peak >= self.peak:
                return
        self.offsets = [at for at in offsets if at is not None]
        self.order, self.peak = list(order), peak

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

    def outwards(self, enough: int) -> None:
        """Tries the orders outwards in time from each request, the largest first, until `enough` bytes will do."""
        limit = self.placements + OUTWARDS_BUDGET
        for pivot in sorted(self.requests, key=lambda r: -r.bytes):
            for backwards in (0, 1, -1):
                if self.peak <= enough or self.placements >= limit:
                    return
                ranked = sorted((_away_from(pivot, r, backwards), i) for i, r in enumerate(self.requests))
                self.place([index for _, index in ranked])

    def local(self, enough: int) -> None:
        """Swaps buffers in the best order, keeping what is better; a fixed seed makes it repeatable."""
        rng = random.Random(0)  # noqa: S311 - not for secrets
        limit = self.placements + LOCAL_BUDGET
        while self.peak > enough and self.placements < limit:
            order = list(self.order)
            for _ in range(rng.randint(1, 3)):
                i, j = rng.randrange(len(order)), rng.randrange(len(order))
                order[i], order[j] = order[j], order[i]
            self.place(order)

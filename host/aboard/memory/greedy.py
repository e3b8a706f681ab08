"""Places buffers by first fit, in orders that work well in practice and in orders that differ slightly from the best.

If a plan at the lower bound exists, one of the first orders nearly always finds it at once. Otherwise the exact search
(`memory/exact.py`) begins with their best plan.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from aboard.memory.problem import WORD, LiveRange, Overlap, round_up

#: Placements that the orders from each buffer outwards, and the local search, may cost.
OUTWARDS_BUDGET, LOCAL_BUDGET = 30_000, 30_000


def _away_from(pivot: LiveRange, live_range: LiveRange, direction: int) -> tuple[int, ...]:
    """Returns a key that sorts buffers by the steps between their live ranges and that of a pivot, the pivot first."""
    gap = max(pivot.first - live_range.last, live_range.first - pivot.last, 0)
    return (live_range is not pivot, gap, direction * live_range.first, -live_range.bytes)


class Greedy:
    """Greedy orders tried on a problem, and the best plan among them.

    Attributes:
        offsets: For each buffer, bytes from the start of the arena.
        peak: Bytes of the arena.
    """

    def __init__(self, live_ranges: Sequence[LiveRange], overlaps: Sequence[Overlap]) -> None:
        self.live_ranges = list(live_ranges)
        # For a pair (placed, new) that may overlap: the range of offsets, relative to the placed one, that is
        # forbidden.
        self.forbidden: dict[tuple[int, int], tuple[int, int]] = {}
        for o in overlaps:
            operand, result = self.live_ranges[o.operand].bytes, self.live_ranges[o.result].bytes
            min_offset = min(o.min_offset, result)
            self.forbidden[o.operand, o.result] = (-min_offset, operand)
            self.forbidden[o.result, o.operand] = (-operand, min_offset)
        self.neighbours = [
            [j for j, b in enumerate(self.live_ranges) if j != i and a.overlaps(b)]
            for i, a in enumerate(self.live_ranges)
        ]
        self.offsets: list[int] = []
        self.order: list[int] = []
        self.peak = 1 << 62
        self.placements = 0

    def first_fit(self, index: int, offsets: list[int | None]) -> int:
        """Returns the lowest offset at which a buffer fits beside the placed ones."""
        live_range = self.live_ranges[index]
        forbidden: list[tuple[int, int]] = []
        for j in self.neighbours[index]:
            at = offsets[j]
            if at is not None:
                below, above = self.forbidden.get((j, index), (-live_range.bytes, self.live_ranges[j].bytes))
                forbidden.append((at + below, at + above))
        at = 0
        for begin, end in sorted(forbidden):
            if at <= begin:
                break
            if at < end:
                at = round_up(end, live_range.align)
        return at

    def place(self, order: Sequence[int]) -> None:
        """Places in an order by first fit and keeps the result if it is the best so far."""
        offsets: list[int | None] = [None] * len(self.live_ranges)
        peak = 0
        for index in order:
            at = self.first_fit(index, offsets)
            offsets[index] = at
            self.placements += 1
            peak = max(peak, round_up(at + self.live_ranges[index].bytes, WORD))
            if peak >= self.peak:
                return
        self.offsets = [at for at in offsets if at is not None]
        self.order, self.peak = list(order), peak

    def by_keys(self, enough: int) -> None:
        """Tries the orders by size and live range until the peak is at most `enough` bytes."""
        keys: list[Callable[[LiveRange], tuple[int, ...]]] = [
            lambda r: (-r.bytes, r.first),
            lambda r: (-r.bytes * (r.last - r.first + 1), r.first),
            lambda r: (r.first, -r.bytes),
            lambda r: (-(r.last - r.first), -r.bytes),
            lambda r: (-r.last, -r.bytes),
        ]
        for key in keys:
            self.place([index for _, index in sorted((key(r), i) for i, r in enumerate(self.live_ranges))])
            if self.peak <= enough:
                return

    def outwards(self, enough: int) -> None:
        """Tries the orders outwards in time from each buffer, the largest first, until the peak is at most `enough`."""
        limit = self.placements + OUTWARDS_BUDGET
        for pivot in sorted(self.live_ranges, key=lambda r: -r.bytes):
            for backwards in (0, 1, -1):
                if self.peak <= enough or self.placements >= limit:
                    return
                ranked = sorted((_away_from(pivot, r, backwards), i) for i, r in enumerate(self.live_ranges))
                self.place([index for _, index in ranked])

    def local(self, enough: int) -> None:
        """Swaps buffers in the best order and keeps improvements; a fixed seed makes the search deterministic."""
        rng = random.Random(0)  # noqa: S311 - not for secrets
        limit = self.placements + LOCAL_BUDGET
        while self.peak > enough and self.placements < limit:
            order = list(self.order)
            for _ in range(rng.randint(1, 3)):
                i, j = rng.randrange(len(order)), rng.randrange(len(order))
                order[i], order[j] = order[j], order[i]
            self.place(order)

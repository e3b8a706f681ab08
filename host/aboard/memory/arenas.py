"""Divides requests between arenas, the fastest first, and plans each of them.

A model that fits the first arena lies in it as a whole. Else what is used most per byte is offered the fastest arena
first and goes to the first in which it fits beside what is there. Whether it fits is asked with the cheap half of the
planner (bound and greedy orders), so an arena is never promised more than it holds; then every arena is planned in
full. Where that order leaves something without a place, orders by size are tried. A pair that may share bytes does so
only within one arena.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aboard.base.manifest import label
from aboard.errors import CapacityError
from aboard.memory import planner
from aboard.memory.problem import Overlap, Plan, Request, lower_bound, restricted
from aboard.target.regions import ArenaRegion


@dataclass(frozen=True)
class Layout:
    """Where requests lie, in one arena or in several.

    Attributes:
        homes: For each request, the number of its arena.
        offsets: For each request, bytes from the start of its arena.
        peaks: Bytes of each arena.
        bounds: For each arena, what no plan for the requests in it can go below.
        regions: For each arena, the memory region it is meant for; none where there is one arena and no region is
            named.
    """

    homes: tuple[int, ...]
    offsets: tuple[int, ...]
    peaks: tuple[int, ...]
    bounds: tuple[int, ...]
    regions: tuple[str, ...] = ()

    @classmethod
    def single(cls, plan: Plan, region: str | None = None) -> Layout:
        """Returns the layout in which all lies in one arena."""
        return cls(
            homes=(0,) * len(plan.offsets),
            offsets=plan.offsets,
            peaks=(plan.peak,),
            bounds=(plan.bound,),
            regions=() if region is None else (region,),
        )

    @property
    def peak(self) -> int:
        """Bytes of all arenas together."""
        return sum(self.peaks)

    @property
    def bound(self) -> int:
        """Sum of the bounds."""
        return sum(self.bounds)


def plan(
    requests: Sequence[Request],
    overlaps: Sequence[Overlap],
    accesses: Sequence[float],
    arenas: Sequence[ArenaRegion],
    where: str,
) -> Layout:
    """Places requests in arenas.

    Args:
        requests: What to place.
        overlaps: Pairs that may share bytes though they are alive together.
        accesses: How often each request is read and written in a run, in bytes or any other measure.
        arenas: Their regions, fastest first, and limits; none for one arena without either.
        where: The model, for messages.

    Returns:
        The layout; arenas in which nothing lies are left out, but for one.

    Raises:
        CapacityError: The requests do not fit, or no way was found to fit them.
    """
    if not arenas:
        return Layout.single(planner.plan(requests, overlaps))
    first = arenas[0]
    if first.limit is None or lower_bound(requests, overlaps) <= first.limit:
        whole = planner.plan(requests, overlaps)
        if first.limit is None or whole.peak <= first.limit:
            return Layout.single(whole, first.name)
    for key in _orders(requests, accesses):
        order = sorted(range(len(requests)), key=key)
        members = _divided(requests, overlaps, order, arenas)
        if members is not None:
            return _planned(requests, overlaps, members, arenas)
    raise CapacityError(_refusal(requests, overlaps, arenas, where))


def _orders(requests: Sequence[Request], accesses: Sequence[float]) -> list[Callable[[int], tuple[float, ...]]]:
    return [
        lambda i: (-accesses[i] / max(requests[i].bytes, 1), i),
        lambda i: (-requests[i].bytes, -accesses[i], i),
        lambda i: (-requests[i].bytes * (requests[i].last - requests[i].first + 1), i),
    ]


def _divided(
    requests: Sequence[Request], overlaps: Sequence[Overlap], order: Sequence[int], arenas: Sequence[ArenaRegion]
) -> list[list[int]] | None:
    """Returns the requests of each arena, or None where one is left without a place."""
    members: list[list[int]] = [[] for _ in arenas]
    for index in order:
        home = next(
            (n for n, arena in enumerate(arenas) if _fits(requests, overlaps, [*members[n], index], arena.limit)), None
        )
        if home is None:
            return None
        members[home].append(index)
    return [sorted(chosen) for chosen in members]


def _fits(requests: Sequence[Request], overlaps: Sequence[Overlap], members: Sequence[int], limit: int | None) -> bool:
    """True when some requests have a plan within a limit that is found at once."""
    if limit is None:
        return True
    part, within = restricted(requests, overlaps, members)
    return lower_bound(part, within) <= limit and planner.quick_peak(part, within, limit) <= limit


def _planned(
    requests: Sequence[Request],
    overlaps: Sequence[Overlap],
    members: Sequence[Sequence[int]],
    arenas: Sequence[ArenaRegion],
) -> Layout:
    """Returns the layout of a division; full plans begin with the orders that showed that each fits."""
    used = [n for n, chosen in enumerate(members) if chosen] or [0]
    plans = [planner.plan(*restricted(requests, overlaps, members[n])) for n in used]
    homes, offsets = [0] * len(requests), [0] * len(requests)
    for home, (n, found) in enumerate(zip(used, plans, strict=True)):
        for index, offset in zip(members[n], found.offsets, strict=True):
            homes[index], offsets[index] = home, offset
    return Layout(
        homes=tuple(homes),
        offsets=tuple(offsets),
        peaks=tuple(found.peak for found in plans),
        bounds=tuple(found.bound for found in plans),
        regions=tuple(arenas[n].name for n in used),
    )


def _refusal(
    requests: Sequence[Request], overlaps: Sequence[Overlap], arenas: Sequence[ArenaRegion], where: str
) -> str:
    largest = max(requests, key=lambda request: request.bytes)
    needed = lower_bound(requests, overlaps)
    room = sum(arena.limit or 0 for arena in arenas)
    got = ", ".join(f"{arena.limit} bytes in {arena.name}" for arena in arenas)
    expected = f"at least {needed} bytes together, {largest.bytes} of them in one piece ({label(largest.name)})"
    hopeless = needed > room or largest.bytes > max(arena.limit or 0 for arena in arenas)
    note = "" if hopeless else "; they are enough by their sum, and no way was found to divide them"
    return (
        f"{where}: tensors do not fit the arenas, got {got}, expected {expected}{note}. "
        "Raise a limit of -arena, add a region to it, or take a smaller model"
    )

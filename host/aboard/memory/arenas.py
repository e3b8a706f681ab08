"""Divides buffers between arenas, the fastest first, and plans each arena.

A model that fits the first arena is stored there as a whole. Otherwise the buffers with the most accesses for each byte
choose first: a buffer goes to the first arena in which it fits beside the buffers already there. The cheap half of the
planner (bound and greedy orders) decides whether it fits, so the full plan of an arena always fits too. If that order
leaves a buffer without an arena, orders by size are tried. A pair may share bytes only within one arena.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from aboard.base.manifest import label
from aboard.errors import CapacityError
from aboard.memory import planner
from aboard.memory.problem import LiveRange, MemoryPlan, Overlap, lower_bound, restricted
from aboard.memory.state import StatePlace, at_end
from aboard.target.regions import STATE_IN_ARENA, STATE_SEPARATE, ArenaRegion


@dataclass(frozen=True)
class Layout:
    """The address of each buffer, in one arena or in several.

    Attributes:
        homes: For each buffer, the number of its arena.
        offsets: For each buffer, bytes from the start of its arena.
        peaks: Bytes of each arena.
        bounds: For each arena, a lower bound of its bytes.
        regions: For each arena, the memory region it is meant for; empty for one arena without a named region.
        state: Where the state block is; None for a model without state.
        tables: For each tensor whose rows lie in blocks, the name of its table (`View.table`), and for each row the
            units (`View.table_unit`) from the offset of its buffer.
    """

    homes: tuple[int, ...]
    offsets: tuple[int, ...]
    peaks: tuple[int, ...]
    bounds: tuple[int, ...]
    regions: tuple[str, ...] = ()
    state: StatePlace | None = None
    tables: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @classmethod
    def single(cls, plan: MemoryPlan, region: str | None = None) -> Layout:
        """Returns the layout with all buffers in one arena."""
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

    @property
    def ram(self) -> int:
        """Bytes of all arenas and of the state block."""
        return self.peak + (self.state.bytes if self.state is not None and self.state.apart else 0)

    def with_state(self, bytes_: int, mode: str, arenas: Sequence[ArenaRegion], where: str) -> Layout:
        """Returns the layout with a state block; unchanged if there is no state.

        Args:
            bytes_: Size of the block.
            mode: `separate`, `arena` or the name of a region.
            arenas: Regions and limits of the target's arenas; empty for one arena without either.
            where: The model, for messages.

        Raises:
            CapacityError: With `arena`, if no arena has room.
        """
        if not bytes_:
            return self
        if mode != STATE_IN_ARENA:
            region = None if mode == STATE_SEPARATE else mode
            return replace(self, state=StatePlace(len(self.peaks), 0, bytes_, region))
        used = [arena for name in self.regions for arena in arenas if arena.name == name]
        place = at_end(self.peaks, bytes_, used, where)
        grown = [
            place.start + bytes_ - self.peaks[place.home] if n == place.home else 0 for n in range(len(self.peaks))
        ]
        peaks = tuple(peak + more for peak, more in zip(self.peaks, grown, strict=True))
        bounds = tuple(bound + more for bound, more in zip(self.bounds, grown, strict=True))
        return replace(self, peaks=peaks, bounds=bounds, state=place)


def plan(
    live_ranges: Sequence[LiveRange],
    overlaps: Sequence[Overlap],
    accesses: Sequence[float],
    arenas: Sequence[ArenaRegion],
    where: str,
) -> Layout:
    """Places buffers in arenas.

    Args:
        live_ranges: Live ranges of the buffers to place.
        overlaps: Pairs that may share bytes although they are live together.
        accesses: Reads and writes of each buffer in a run, in bytes or any other measure.
        arenas: Regions and limits of the arenas, fastest first; empty for one arena without either.
        where: The model, for error messages.

    Returns:
        The layout; without empty arenas, but with at least one arena.

    Raises:
        CapacityError: The buffers do not fit, or no division was found that fits.
    """
    if not arenas:
        return Layout.single(planner.plan(live_ranges, overlaps))
    first = arenas[0]
    if first.limit is None or lower_bound(live_ranges, overlaps) <= first.limit:
        whole = planner.plan(live_ranges, overlaps)
        if first.limit is None or whole.peak <= first.limit:
            return Layout.single(whole, first.name)
    for key in _orders(live_ranges, accesses):
        order = sorted(range(len(live_ranges)), key=key)
        members = _divided(live_ranges, overlaps, order, arenas)
        if members is not None:
            return _planned(live_ranges, overlaps, members, arenas)
    raise CapacityError(_refusal(live_ranges, overlaps, arenas, where))


def _orders(live_ranges: Sequence[LiveRange], accesses: Sequence[float]) -> list[Callable[[int], tuple[float, ...]]]:
    return [
        lambda i: (-accesses[i] / max(live_ranges[i].bytes, 1), i),
        lambda i: (-live_ranges[i].bytes, -accesses[i], i),
        lambda i: (-live_ranges[i].bytes * (live_ranges[i].last - live_ranges[i].first + 1), i),
    ]


def _divided(
    live_ranges: Sequence[LiveRange], overlaps: Sequence[Overlap], order: Sequence[int], arenas: Sequence[ArenaRegion]
) -> list[list[int]] | None:
    """Returns the buffers of each arena, or None if a buffer fits none."""
    members: list[list[int]] = [[] for _ in arenas]
    for index in order:
        home = next(
            (n for n, arena in enumerate(arenas) if _fits(live_ranges, overlaps, [*members[n], index], arena.limit)),
            None,
        )
        if home is None:
            return None
        members[home].append(index)
    return [sorted(chosen) for chosen in members]


def _fits(
    live_ranges: Sequence[LiveRange], overlaps: Sequence[Overlap], members: Sequence[int], limit: int | None
) -> bool:
    """True if a greedy order places some buffers within a limit."""
    if limit is None:
        return True
    part, within = restricted(live_ranges, overlaps, members)
    return lower_bound(part, within) <= limit and planner.quick_peak(part, within, limit) <= limit


def _planned(
    live_ranges: Sequence[LiveRange],
    overlaps: Sequence[Overlap],
    members: Sequence[Sequence[int]],
    arenas: Sequence[ArenaRegion],
) -> Layout:
    """Returns the layout of a division. Full plans begin with the greedy orders by which `_fits` accepted it."""
    used = [n for n, chosen in enumerate(members) if chosen] or [0]
    plans = [planner.plan(*restricted(live_ranges, overlaps, members[n])) for n in used]
    homes, offsets = [0] * len(live_ranges), [0] * len(live_ranges)
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
    live_ranges: Sequence[LiveRange], overlaps: Sequence[Overlap], arenas: Sequence[ArenaRegion], where: str
) -> str:
    largest = max(live_ranges, key=lambda live_range: live_range.bytes)
    needed = lower_bound(live_ranges, overlaps)
    room = sum(arena.limit or 0 for arena in arenas)
    got = ", ".join(f"{arena.limit} bytes in {arena.name}" for arena in arenas)
    expected = f"at least {needed} bytes together, {largest.bytes} of them in one piece ({label(largest.name)})"
    hopeless = needed > room or largest.bytes > max(arena.limit or 0 for arena in arenas)
    note = "" if hopeless else "; they are enough by their sum, and no way was found to divide them"
    return (
        f"{where}: tensors do not fit the arenas, got {got}, expected {expected}{note}. "
        "Raise a limit of -arena, add a region to it, or take a smaller model"
    )

"""The allocation problem: buffers with sizes and live ranges are placed in one arena.

A plan is a packing of rectangles: a buffer is as high as its size and as wide as its live range. Only the offset can be
chosen, so a rectangle moves up and down, never sideways::

    offset
     peak +               +-----------+
          |               |  scratch  |
          |               +-----------+-----------+
          +---------------+           b           |
          |     input     +-----------+-----------+
          +---------------+-----------+
          |             a             |
        0 +---------------------------+
               step 0         step 1      step 2

Step 1 sets the peak: with a, b and scratch it has the most live bytes, which no plan can go below. Step 1 reads a and
writes b. If its kernel may run in place, an `Overlap` lets b start within a, and the peak falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class LiveRange:
    """A buffer that needs an offset, and the steps during which it is live.

    Attributes:
        name: Name in error messages and memory maps.
        bytes: Size, at least 1.
        first: First step during which it is live.
        last: Last step during which it is live; inclusive.
        align: Alignment of its offset, a power of two.
    """

    name: str
    bytes: int
    first: int
    last: int
    align: int = 4

    def overlaps(self, other: LiveRange) -> bool:
        """True if both are live at some step."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Overlap:
    """Two buffers that may share bytes although a step needs both: it reads one and writes the other.

    Attributes:
        operand: Index of the buffer that is read for the last time.
        result: Index of the buffer that is written for the first time.
        min_offset: Minimum in-place offset: bytes from the start of the result to the start of the operand, at least,
            so that no byte is written before its last read. With a smaller offset the two must not share
            bytes. If negative, the result may start within the operand, whose first bytes are consumed by then.
    """

    operand: int
    result: int
    min_offset: int


@dataclass(frozen=True)
class MemoryPlan:
    """A solution of an allocation problem.

    Attributes:
        offsets: For each buffer, bytes from the start of the arena.
        peak: Bytes of the arena.
        bound: Lower bound of the peak of every plan, from the most bytes that are live at one step.
    """

    offsets: tuple[int, ...]
    peak: int
    bound: int

    @property
    def optimal(self) -> bool:
        """True if the plan meets the bound."""
        return self.peak == self.bound


#: The size of an arena is a multiple of a word.
WORD = 4


def round_up(value: int, align: int) -> int:
    """Returns the smallest multiple of `align` that is at least `value`."""
    return (value + align - 1) // align * align


def restricted(
    live_ranges: Sequence[LiveRange], overlaps: Sequence[Overlap], members: Sequence[int]
) -> tuple[list[LiveRange], list[Overlap]]:
    """Returns the problem restricted to some buffers.

    Args:
        live_ranges: Live ranges of all buffers.
        overlaps: Pairs that may share bytes.
        members: Indices of the buffers to keep, in the order of the result.
    """
    number = {index: n for n, index in enumerate(members)}
    within = [
        replace(o, operand=number[o.operand], result=number[o.result])
        for o in overlaps
        if o.operand in number and o.result in number
    ]
    return [live_ranges[index] for index in members], within


def lower_bound(live_ranges: Sequence[LiveRange], overlaps: Sequence[Overlap] = ()) -> int:
    """Returns the most bytes needed at any step, in whole words.

    Args:
        live_ranges: Live ranges of all buffers.
        overlaps: Pairs that may share bytes.
    """
    steps = {live_range.first for live_range in live_ranges}
    return round_up(max((live_bytes(live_ranges, overlaps, step) for step in steps), default=0), WORD)


def live_bytes(live_ranges: Sequence[LiveRange], overlaps: Sequence[Overlap], step: int) -> int:
    """Returns a lower bound of the bytes of an arena at a step.

    Live buffers do not share bytes, except for the bytes that pairs may share. Only the topmost buffer may end off a
    multiple of the common alignment, so all sizes but one are rounded up to the smallest alignment.

    Args:
        live_ranges: Live ranges of all buffers.
        overlaps: As for `lower_bound`.
        step: The step.
    """
    live = {i: r.bytes for i, r in enumerate(live_ranges) if r.first <= step <= r.last}
    align = min((live_ranges[i].align for i in live), default=1)
    padding = [round_up(size, align) - size for size in live.values()]
    together = [o for o in overlaps if o.operand in live and o.result in live]
    partners = {operand: [o for o in together if o.operand == operand] for operand in {o.operand for o in together}}
    shared = sum(_shared(live_ranges, mine, together, align) for mine in partners.values() if len(mine) > 1)
    for result in {o.result for o in together}:
        unshared = [o for o in together if o.result == result and len(partners[o.operand]) == 1]
        shared += _shared_with(live_ranges, result, unshared, together, align)
    return sum(live.values()) + sum(padding) - max(padding, default=0) - shared


def _shared_with(
    live_ranges: Sequence[LiveRange], result: int, unshared: Sequence[Overlap], others: Sequence[Overlap], align: int
) -> int:
    """Returns the most bytes that a result may share with operands that share with no other buffer.

    The operands do not share bytes with each other, so together they share only the bytes beyond the least offset.
    """
    if not unshared:
        return 0
    room = live_ranges[result].bytes - round_up(max(0, min(o.min_offset for o in unshared)), align)
    total = sum(_shared(live_ranges, [o], others, align) for o in unshared)
    return total if len(unshared) == 1 else min(total, round_up(max(0, room), align))


def _shared(live_ranges: Sequence[LiveRange], mine: Sequence[Overlap], others: Sequence[Overlap], align: int) -> int:
    """Returns the most bytes that an operand and results may share.

    Results that do not share bytes with each other reach into the operand only as far as the furthest result.
    """
    size = live_ranges[mine[0].operand].bytes
    room = [live_ranges[o.result].bytes - round_up(o.min_offset, align) for o in mine]
    each = [max(0, min(size, live_ranges[o.result].bytes, r)) for o, r in zip(mine, room, strict=True)]
    total = sum(round_up(bytes_, align) for bytes_ in each)
    results = {o.result for o in mine}
    apart = not any(o.operand in results and o.result in results for o in others)
    return min(total, round_up(max(0, min(size, max(room))), align)) if apart else total

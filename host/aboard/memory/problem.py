"""The memory planning problem: buffers with sizes and lifetimes are to be placed in one arena."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Request:
    """A buffer that needs a place.

    Attributes:
        name: For messages and memory maps.
        bytes: Size, at least 1.
        first: First step during which it is alive.
        last: Last step during which it is alive; inclusive.
        align: Alignment of its offset, a power of two.
    """

    name: str
    bytes: int
    first: int
    last: int
    align: int = 4

    def overlaps(self, other: Request) -> bool:
        """True when both are alive at some step."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Overlap:
    """Two requests that may share bytes though a step needs both: it reads the one and writes the other.

    Attributes:
        operand: Index of the request that is read, for the last time.
        result: Index of the request that is written, for the first time.
        distance: They may share bytes where the operand begins at least so many bytes after the result; then no byte is
            written before it was read for the last time. Elsewhere they must be apart. Below 0 the result may lie
            within the operand, whose first bytes have been read when the result is born.
    """

    operand: int
    result: int
    distance: int


@dataclass(frozen=True)
class Plan:
    """A solution.

    Attributes:
        offsets: For each request, bytes from the start of the arena.
        peak: Bytes of the arena.
        bound: Lower bound: the most that is alive at any step; no plan for these lifetimes needs less.
    """

    offsets: tuple[int, ...]
    peak: int
    bound: int

    @property
    def optimal(self) -> bool:
        """True when the plan meets the bound."""
        return self.peak == self.bound


#: Arenas are whole words.
WORD = 4


def round_up(value: int, align: int) -> int:
    """Returns the smallest multiple of `align` that is at least `value`."""
    return (value + align - 1) // align * align


def restricted(
    requests: Sequence[Request], overlaps: Sequence[Overlap], members: Sequence[int]
) -> tuple[list[Request], list[Overlap]]:
    """Returns the problem of some requests alone.

    Args:
        requests: The requests.
        overlaps: Their pairs.
        members: Indices of those to keep, in the order in which they are returned.
    """
    number = {index: n for n, index in enumerate(members)}
    within = [
        replace(o, operand=number[o.operand], result=number[o.result])
        for o in overlaps
        if o.operand in number and o.result in number
    ]
    return [requests[index] for index in members], within


def lower_bound(requests: Sequence[Request], overlaps: Sequence[Overlap] = ()) -> int:
    """Returns the most bytes needed at any step, in whole words.

    Args:
        requests: The requests.
        overlaps: Pairs that may share bytes.
    """
    steps = {request.first for request in requests}
    return round_up(max((load(requests, overlaps, step) for step in steps), default=0), WORD)


def load(requests: Sequence[Request], overlaps: Sequence[Overlap], step: int) -> int:
    """Returns the bytes needed at a step, at least.

    What is alive together lies side by side, but for what pairs may share. Only the topmost may end off a multiple of
    the common alignment, so all sizes but one are rounded up to the smallest alignment.

    Args:
        requests: The requests.
        overlaps: As for `lower_bound`.
        step: The step.
    """
    alive = {i: r.bytes for i, r in enumerate(requests) if r.first <= step <= r.last}
    align = min((requests[i].align for i in alive), default=1)
    padding = [round_up(size, align) - size for size in alive.values()]
    together = [o for o in overlaps if o.operand in alive and o.result in alive]
    partners = {operand: [o for o in together if o.operand == operand] for operand in {o.operand for o in together}}
    shared = sum(_shared(requests, mine, together, align) for mine in partners.values() if len(mine) > 1)
    for result in {o.result for o in together}:
        alone = [o for o in together if o.result == result and len(partners[o.operand]) == 1]
        shared += _shared_with(requests, result, alone, together, align)
    return sum(alive.values()) + sum(padding) - max(padding, default=0) - shared


def _shared_with(
    requests: Sequence[Request], result: int, alone: Sequence[Overlap], others: Sequence[Overlap], align: int
) -> int:
    """Returns the bytes that a result may share with operands that share with nothing else, at most.

    Operands are apart from each other, so they share no more of it than lies beyond the least distance.
    """
    if not alone:
        return 0
    room = requests[result].bytes - round_up(max(0, min(o.distance for o in alone)), align)
    total = sum(_shared(requests, [o], others, align) for o in alone)
    return total if len(alone) == 1 else min(total, round_up(max(0, room), align))


def _shared(requests: Sequence[Request], mine: Sequence[Overlap], others: Sequence[Overlap], align: int) -> int:
    """Returns the bytes that an operand and results may share, at most: those of all, or of the one that reaches most.

    Results that lie side by side reach no further into the operand together than the furthest of them.
    """
    size = requests[mine[0].operand].bytes
    room = [requests[o.result].bytes - round_up(o.distance, align) for o in mine]
    each = [max(0, min(size, requests[o.result].bytes, r)) for o, r in zip(mine, room, strict=True)]
    total = sum(round_up(bytes_, align) for bytes_ in each)
    results = {o.result for o in mine}
    apart = not any(o.operand in results and o.result in results for o in others)
    return min(total, round_up(max(0, min(size, max(room))), align)) if apart else total

"""The memory planning problem: buffers with sizes and lifetimes are to be placed in one arena."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
            written before it was read for the last time. At least 0. Elsewhere they must be apart.
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


def round_up(value: int, align: int) -> int:
    """Returns the smallest multiple of `align` that is at least `value`."""
    return (value + align - 1) // align * align


def lower_bound(requests: Sequence[Request], overlaps: Sequence[Overlap] = ()) -> int:
    """Returns the most bytes needed at any step.

    What is alive together lies side by side; an operand and a result that may overlap are one piece. Only the topmost
    piece may end off a multiple of the common alignment, so all sizes but one are rounded up to the smallest alignment.

    Args:
        requests: The requests.
        overlaps: Each request is the operand of at most one of them, and the result of at most one.
    """
    bound = 0
    for step in {request.first for request in requests}:
        alive = {i: r.bytes for i, r in enumerate(requests) if r.first <= step <= r.last}
        align = min(requests[i].align for i in alive)
        for overlap in overlaps:
            if overlap.operand in alive and overlap.result in alive:
                operand, result = alive.pop(overlap.operand), alive[overlap.result]
                together = max(result, round_up(overlap.distance, align) + operand)
                alive[overlap.result] = min(together, operand + result)
        padding = [round_up(size, align) - size for size in alive.values()]
        bound = max(bound, sum(alive.values()) + sum(padding) - max(padding))
    return bound

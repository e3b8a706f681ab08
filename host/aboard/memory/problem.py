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


def lower_bound(requests: Sequence[Request]) -> int:
    """Returns the most bytes alive at any step.

    What is alive together lies side by side. Only the topmost buffer may end off a multiple of the common alignment,
    so all sizes but one are rounded up to the smallest alignment among them.
    """
    bound = 0
    for step in {request.first for request in requests}:
        alive = [request for request in requests if request.first <= step <= request.last]
        align = min(request.align for request in alive)
        padding = [round_up(request.bytes, align) - request.bytes for request in alive]
        bound = max(bound, sum(request.bytes for request in alive) + sum(padding) - max(padding))
    return bound

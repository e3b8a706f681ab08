"""What the exact search knows of a problem from the start: who meets whom, where, and in which order to place them.

All lengths are counted in units of the smallest alignment. *Sections* are the steps at which a largest set of requests
is alive; every other step has a part of one of them.

Two requests that are alive together lie one above the other: either `j` begins at least `above[i, j]` after `i`, or `i`
at least `above[j, i]` after `j`. That is the size of the lower one, except for a pair that may share bytes, whose
operand may begin `distance` after the result, even before it where the distance is below 0. So that every request can
be placed after all it rests on, requests are placed in the order of their starts with a `shift` for each, chosen such
that whatever rests on another has the larger shifted start. For problems without distances below 0 no shift is needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from aboard.memory.problem import Overlap, Request

Ints = NDArray[np.int64]

#: More than any offset; small enough that products with twice the number of requests stay within 63 bits.
FAR = 1 << 40
#: Problems with more requests are left to greedy orders: two matrices of this width are made.
MOST_REQUESTS = 1_000


@dataclass(frozen=True)
class Geometry:
    """A problem of n requests and s sections, in units of its smallest alignment.

    Attributes:
        unit: Bytes of a unit.
        bytes: (n,) Sizes in bytes.
        sizes: (n,) Sizes in units, rounded up.
        aligns: (n,) Alignments in units.
        lives: (n,) Steps during which each request is alive.
        above: (n, n) Units from the start of the row's request to that of the column's, at least, if that is above;
            -FAR where they do not meet.
        below: (n, n) The same with rows and columns exchanged, for reading rows; FAR where they do not meet.
        shift: (n,) What is added to `scale` times a start for the order of placement.
        scale: Factor of starts in that order.
        begin: (n,) First section of each request.
        end: (n,) Section behind the last one of each.
        load: (s,) Units alive in each section, at least.
        shares: For each request, the pairs it is in: the other one, first section and section behind the last of those
            they share, and units by which they may overlap.
        twins: For each request, others that differ from it by name only.
        members: Requests of section 0, then of section 1, and so on.
        starts: (s + 1,) Where the members of each section begin.
    """

    unit: int
    bytes: Ints
    sizes: Ints
    aligns: Ints
    lives: Ints
    above: Ints
    below: Ints
    shift: Ints
    scale: int
    begin: Ints
    end: Ints
    load: Ints
    shares: tuple[tuple[tuple[int, int, int, int], ...], ...]
    twins: tuple[tuple[int, ...], ...]
    members: Ints
    starts: Ints

    @classmethod
    def of(cls, requests: Sequence[Request], overlaps: Sequence[Overlap]) -> Geometry | None:
        """Returns the geometry of a problem, or None where the exact search does not apply.

        That is so for more than `MOST_REQUESTS`, and where distances far below 0 let requests rest on each other in a
        circle, which no schedule of this compiler asks for.
        """
        if len(requests) > MOST_REQUESTS:
            return None
        unit = min((r.align for r in requests), default=1)
        bytes_ = np.array([r.bytes for r in requests], np.int64)
        sizes = -(-bytes_ // unit)
        begin, end = _sections(requests)
        above = np.where((begin[:, None] < end) & (begin < end[:, None]), sizes[:, None], -FAR)
        np.fill_diagonal(above, -FAR)
        shares = _pair(above, sizes, overlaps, unit, begin, end)
        scale, shift = _order(above)
        if shift is None:
            return None
        load = np.zeros(max(end, default=0), np.int64)
        for i, size in enumerate(sizes):
            load[begin[i] : end[i]] += size
            for j, first, last, units in shares[i]:
                if i < j:
                    load[first:last] -= units
        members = [np.flatnonzero((begin <= s) & (s < end)) for s in range(len(load))]
        return cls(
            unit=unit,
            bytes=bytes_,
            sizes=sizes,
            aligns=np.array([r.align // unit for r in requests], np.int64),
            lives=np.array([r.last - r.first + 1 for r in requests], np.int64),
            above=above,
            below=np.where(above.T == -FAR, FAR, above.T),
            shift=shift,
            scale=scale,
            begin=begin,
            end=end,
            load=load,
            shares=shares,
            twins=_twins(requests, shares),
            members=np.concatenate([*members, np.zeros(0, np.int64)]),
            starts=np.cumsum([0, *(len(m) for m in members)]),
        )


def _sections(requests: Sequence[Request]) -> tuple[Ints, Ints]:
    """Returns the first section of each request and the one behind its last."""
    births = sorted({r.first for r in requests})
    deaths = sorted({r.last for r in requests})
    kept, dead = [], 0
    for step, following in pairwise([*births, math.inf]):
        died = dead
        while dead < len(deaths) and deaths[dead] < following:
            dead += 1
        if dead > died:
            kept.append(step)
    begin = np.searchsorted(kept, [r.first for r in requests]).astype(np.int64)
    end = np.searchsorted(kept, [r.last for r in requests], side="right").astype(np.int64)
    return begin, end


def _pair(
    above: Ints, sizes: Ints, overlaps: Sequence[Overlap], unit: int, begin: Ints, end: Ints
) -> tuple[tuple[tuple[int, int, int, int], ...], ...]:
    """Enters pairs that may share bytes into `above`, and returns for each request which they are."""
    shares: list[list[tuple[int, int, int, int]]] = [[] for _ in sizes]
    for o in overlaps:
        i, j = o.operand, o.result
        if above[i, j] == -FAR:
            continue
        distance = min(-(-o.distance // unit), int(sizes[j]))
        if distance <= -sizes[i]:  # the result may begin anywhere: they do not meet
            above[i, j] = above[j, i] = -FAR
        else:
            above[j, i] = distance
        units = max(0, min(int(sizes[i]), int(sizes[j]), int(sizes[j]) - distance))
        first, last = int(max(begin[i], begin[j])), int(min(end[i], end[j]))
        if units:
            shares[i].append((j, first, last, units))
            shares[j].append((i, first, last, units))
    return tuple(tuple(mine) for mine in shares)


def _order(above: Ints) -> tuple[int, Ints | None]:
    """Returns scale and shifts of starts such that what rests on another comes after it, or no shifts if none are."""
    count = len(above)
    shift = np.zeros(count, np.int64)
    scale = 1 if above[above > -FAR].min(initial=1) > 0 else count + 1
    for _ in range(count + 1):
        least = np.max(shift[:, None] - np.where(above > -FAR, above * scale, FAR) + 1, axis=0, initial=0)
        if (least <= shift).all():
            return scale, shift
        shift = np.maximum(shift, least)
    return scale, None


def _twins(
    requests: Sequence[Request], shares: Sequence[Sequence[tuple[int, int, int, int]]]
) -> tuple[tuple[int, ...], ...]:
    alike: dict[tuple[int, ...], list[int]] = {}
    for i, r in enumerate(requests):
        key = (r.bytes, r.first, r.last, r.align, -1) if not shares[i] else (i,)
        alike.setdefault(key, []).append(i)
    return tuple(
        tuple(sorted(j for group in alike.values() if i in group for j in group if j != i))
        for i in range(len(requests))
    )

"""The interference graph of an allocation problem: which buffers are live together, and how far apart they must start.

All lengths are counted in units of the smallest alignment. A *clique* is a step with a largest set of live buffers;
the buffers of every other step are a part of one of them.

Two buffers that are live together are separated: either `j` starts at least `separation[i, j]` after `i`, or `i` at
least `separation[j, i]` after `j`. That is the size of the lower one, except for a pair that may share bytes, whose
operand may start `min_offset` after the result, or even before the result if `min_offset` is negative.

The exact search places buffers in the order of their starts, so that a buffer comes after all buffers that it rests on.
Negative offsets break that order. So each buffer has a `shift`, chosen such that a buffer that rests on another one has
the larger shifted start. A problem without negative offsets needs no shifts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from aboard.memory.problem import LiveRange, Overlap

Ints = NDArray[np.int64]

#: More than any offset; small enough that products with twice the number of buffers stay within 63 bits.
FAR = 1 << 40
#: Problems with more buffers are left to greedy orders: the graph has two matrices of this width.
MOST_BUFFERS = 1_000


@dataclass(frozen=True)
class InterferenceGraph:
    """The graph of n buffers with k cliques, in units of the smallest alignment.

    Attributes:
        unit: Bytes of a unit.
        bytes: (n,) Sizes in bytes.
        sizes: (n,) Sizes in units, rounded up.
        aligns: (n,) Alignments in units.
        durations: (n,) Steps during which each buffer is live.
        separation: (n, n) Minimum units from the start of the row's buffer to that of the column's if the column's is
            above; -FAR if the two are not live together.
        separation_below: (n, n) The transpose, for fast access to rows; FAR if the two are not live together.
        shift: (n,) Added to `scale` times a start for the order of placement.
        scale: Factor of starts in that order.
        first_clique: (n,) First clique of each buffer.
        end_clique: (n,) One past its last clique.
        load: (k,) Lower bound of the live units in each clique.
        overlaps_of: For each buffer, the pairs it is in: the other buffer, the first clique of both, one past their
            last, and the units by which they may overlap.
        interchangeable: For each buffer, the buffers that differ from it by name only.
        members: Buffers of clique 0, then of clique 1, and so on.
        starts: (k + 1,) Start of the members of each clique in `members`.
    """

    unit: int
    bytes: Ints
    sizes: Ints
    aligns: Ints
    durations: Ints
    separation: Ints
    separation_below: Ints
    shift: Ints
    scale: int
    first_clique: Ints
    end_clique: Ints
    load: Ints
    overlaps_of: tuple[tuple[tuple[int, int, int, int], ...], ...]
    interchangeable: tuple[tuple[int, ...], ...]
    members: Ints
    starts: Ints

    @classmethod
    def of(cls, live_ranges: Sequence[LiveRange], overlaps: Sequence[Overlap]) -> InterferenceGraph | None:
        """Returns the graph of a problem, or None if the exact search cannot solve it.

        The exact search cannot solve a problem with more than `MOST_BUFFERS`, or with negative offsets that let buffers
        rest on each other in a circle, which no schedule of this compiler contains.
        """
        if len(live_ranges) > MOST_BUFFERS:
            return None
        unit = min((r.align for r in live_ranges), default=1)
        bytes_ = np.array([r.bytes for r in live_ranges], np.int64)
        sizes = -(-bytes_ // unit)
        first_clique, end_clique = _cliques(live_ranges)
        separation = np.where(
            (first_clique[:, None] < end_clique) & (first_clique < end_clique[:, None]), sizes[:, None], -FAR
        )
        np.fill_diagonal(separation, -FAR)
        overlaps_of = _pair(separation, sizes, overlaps, unit, first_clique, end_clique)
        scale, shift = _order(separation)
        if shift is None:
            return None
        load = np.zeros(max(end_clique, default=0), np.int64)
        for i, size in enumerate(sizes):
            load[first_clique[i] : end_clique[i]] += size
            for j, first, last, units in overlaps_of[i]:
                if i < j:
                    load[first:last] -= units
        members = [np.flatnonzero((first_clique <= s) & (s < end_clique)) for s in range(len(load))]
        return cls(
            unit=unit,
            bytes=bytes_,
            sizes=sizes,
            aligns=np.array([r.align // unit for r in live_ranges], np.int64),
            durations=np.array([r.last - r.first + 1 for r in live_ranges], np.int64),
            separation=separation,
            separation_below=np.where(separation.T == -FAR, FAR, separation.T),
            shift=shift,
            scale=scale,
            first_clique=first_clique,
            end_clique=end_clique,
            load=load,
            overlaps_of=overlaps_of,
            interchangeable=_interchangeable(live_ranges, overlaps_of),
            members=np.concatenate([*members, np.zeros(0, np.int64)]),
            starts=np.cumsum([0, *(len(m) for m in members)]),
        )


def _cliques(live_ranges: Sequence[LiveRange]) -> tuple[Ints, Ints]:
    """Returns the first clique of each buffer and one past its last."""
    births = sorted({r.first for r in live_ranges})
    deaths = sorted({r.last for r in live_ranges})
    kept, dead = [], 0
    for step, following in pairwise([*births, math.inf]):
        died = dead
        while dead < len(deaths) and deaths[dead] < following:
            dead += 1
        if dead > died:
            kept.append(step)
    first_clique = np.searchsorted(kept, [r.first for r in live_ranges]).astype(np.int64)
    end_clique = np.searchsorted(kept, [r.last for r in live_ranges], side="right").astype(np.int64)
    return first_clique, end_clique


def _pair(
    separation: Ints, sizes: Ints, overlaps: Sequence[Overlap], unit: int, first_clique: Ints, end_clique: Ints
) -> tuple[tuple[tuple[int, int, int, int], ...], ...]:
    """Enters the pairs that may share bytes into `separation`, and returns the pairs of each buffer."""
    overlaps_of: list[list[tuple[int, int, int, int]]] = [[] for _ in sizes]
    for o in overlaps:
        i, j = o.operand, o.result
        if separation[i, j] == -FAR:
            continue
        min_offset = min(-(-o.min_offset // unit), int(sizes[j]))
        if min_offset <= -sizes[i]:  # the result may start anywhere
            separation[i, j] = separation[j, i] = -FAR
        else:
            separation[j, i] = min_offset
        units = max(0, min(int(sizes[i]), int(sizes[j]), int(sizes[j]) - min_offset))
        first, last = int(max(first_clique[i], first_clique[j])), int(min(end_clique[i], end_clique[j]))
        if units:
            overlaps_of[i].append((j, first, last, units))
            overlaps_of[j].append((i, first, last, units))
    return tuple(tuple(mine) for mine in overlaps_of)


def _order(separation: Ints) -> tuple[int, Ints | None]:
    """Returns scale and shifts of starts; no shifts if no order places each buffer after those that it rests on."""
    count = len(separation)
    shift = np.zeros(count, np.int64)
    scale = 1 if separation[separation > -FAR].min(initial=1) > 0 else count + 1
    for _ in range(count + 1):
        least = np.max(shift[:, None] - np.where(separation > -FAR, separation * scale, FAR) + 1, axis=0, initial=0)
        if (least <= shift).all():
            return scale, shift
        shift = np.maximum(shift, least)
    return scale, None


def _interchangeable(
    live_ranges: Sequence[LiveRange], overlaps_of: Sequence[Sequence[tuple[int, int, int, int]]]
) -> tuple[tuple[int, ...], ...]:
    alike: dict[tuple[int, ...], list[int]] = {}
    for i, r in enumerate(live_ranges):
        key = (r.bytes, r.first, r.last, r.align, -1) if not overlaps_of[i] else (i,)
        alike.setdefault(key, []).append(i)
    return tuple(
        tuple(sorted(j for group in alike.values() if i in group for j in group if j != i))
        for i in range(len(live_ranges))
    )

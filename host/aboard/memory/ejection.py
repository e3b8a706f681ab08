"""Places blocks within a limit by ejection, where orders of first fit end above it.

The blocks of a plan that end above the limit are taken out. Each is put where the placed blocks in its way weigh least,
and these are taken out in turn. A block weighs more each time it is taken out, so that no two blocks displace each
other for ever. The search ends when all blocks are placed, or with its budget. No clock is read, and the seed is fixed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from aboard.memory.problem import round_up

#: Searches, each with another seed, and most ejections of a search: all together take some seconds.
SEARCHES, EJECTIONS = 5, 5_000

#: Part by which weights are changed at random, so that equal places are taken in turn.
_NOISE = 0.05

#: Forbidden ranges of the offsets of a block: of each, the other block, and its bounds relative to the other's offset.
Ranges = Sequence[tuple[int, int, int]]


def within(
    limit: int, offsets: Sequence[int], sizes: Sequence[int], aligns: Sequence[int], ranges: Sequence[Ranges]
) -> list[int] | None:
    """Returns offsets with which no block ends above a limit; None if none are found.

    Args:
        limit: Bytes of the arena.
        offsets: Those of a plan that needs more.
        sizes: Bytes of each block.
        aligns: Alignment of each block.
        ranges: Forbidden ranges of each block, bounds excluded.
    """
    if max(sizes, default=0) > limit:
        return None
    made = (_searched(limit, offsets, sizes, aligns, ranges, seed) for seed in range(SEARCHES))
    return next((found for found in made if found is not None), None)


def _searched(
    limit: int,
    offsets: Sequence[int],
    sizes: Sequence[int],
    aligns: Sequence[int],
    ranges: Sequence[Ranges],
    seed: int,
) -> list[int] | None:
    """Returns the offsets that one search finds."""
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    found = [at if at + size <= limit else -1 for at, size in zip(offsets, sizes, strict=True)]
    out = [index for index, at in enumerate(found) if at < 0]
    weights = [math.sqrt(size) for size in sizes]
    step = list(weights)
    for _ in range(EJECTIONS):
        if not out:
            return found
        index = out.pop(max(range(len(out)), key=lambda place: sizes[out[place]]))
        near = [(found[o] + begin, found[o] + end, o) for o, begin, end in ranges[index] if found[o] >= 0]
        at, displaced = _lightest(near, limit - sizes[index], aligns[index], weights, rng)
        found[index] = at
        for other in displaced:
            found[other] = -1
            weights[other] += step[other]
        out += displaced
    return None


def _lightest(
    near: Sequence[tuple[int, int, int]], top: int, align: int, weights: Sequence[float], rng: random.Random
) -> tuple[int, list[int]]:
    """Returns the offset, at most `top`, at which the blocks in the way weigh least, and these blocks.

    Args:
        near: Forbidden ranges of placed blocks, bounds excluded, each with its block.
        top: Largest offset.
        align: Alignment of the offset.
        weights: Weight of each block.
        rng: Draws among offsets that weigh about the same.
    """
    ends = {round_up(end, align) for _, end, _ in near} | {begin // align * align for begin, _, _ in near}
    best, place, displaced = math.inf, 0, set[int]()
    for at in sorted({0, top // align * align, *(end for end in ends if 0 <= end <= top)}):
        weight, inside = 0.0, set[int]()
        for begin, end, other in near:
            if begin < at < end and other not in inside:
                inside.add(other)
                weight += weights[other]
                if weight >= best:
                    break
        else:
            weight *= 1 + _NOISE * rng.random()
            if weight < best:
                best, place, displaced = weight, at, inside
    return place, sorted(displaced)

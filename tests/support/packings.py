"""Memory planning problems whose best plan is known: rectangles of time and memory, cut up until none is left over."""

from __future__ import annotations

import random

from aboard.memory.problem import LiveRange


def tiling(seed: int, count: int, steps: int, capacity: int) -> list[LiveRange]:
    """Returns buffers that fill an arena of `capacity` bytes over all steps, without a gap.

    Args:
        seed: Which problem of its kind.
        count: Requests, few enough that rectangles left are worth cutting.
        steps: Steps of the schedule.
        capacity: Bytes of the arena.
    """
    rng = random.Random(seed)
    rectangles = [(0, steps, 0, capacity)]
    while len(rectangles) < count:
        rectangles.sort(key=lambda r: -(r[1] - r[0]) * (r[3] - r[2]))
        begin, end, low, high = rectangles.pop(rng.randrange(min(4, len(rectangles))))
        if end - begin > 1 and (rng.random() < 0.5 or high - low < 2):
            cut = rng.randint(begin + 1, end - 1)
            rectangles += [(begin, cut, low, high), (cut, end, low, high)]
        else:
            cut = low + max(1, int((high - low) * rng.uniform(0.2, 0.8)))
            rectangles += [(begin, end, low, cut), (begin, end, cut, high)]
    rng.shuffle(rectangles)
    return [LiveRange(f"r{n}", high - low, begin, end - 1, 1) for n, (begin, end, low, high) in enumerate(rectangles)]

"""Which points of a space are tried, and in which order.

A small space is tried whole. Of a large one, first every value of every knob is tried alone, beside the defaults of the
others; then points whose cost a model predicts to be low, and now and then one at random, so that the model also learns
where it is wrong. The model is a sum of one term for each value of each knob, fitted to the logarithms of the costs
that were measured: knobs often multiply costs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np

from aboard.kernels.tunable import KERNEL
from aboard.tuning.space import Point

#: Largest space that is tried whole, unless the user limits the points.
WHOLE = 256

#: Every so many points of a large space, one is drawn at random.
_RANDOM_EVERY = 4

#: Weight of small terms against an exact fit of few points.
_RIDGE = 1e-3


class Proposer:
    """Proposes points of one space, the defaults first, then known points.

    Attributes:
        count: Number of points that it proposes.
    """

    def __init__(
        self, points: Sequence[Point], known: Sequence[Point] = (), limit: int | None = None, seed: int = 0
    ) -> None:
        """Plans the search.

        Args:
            points: All points, the defaults first.
            known: Points of earlier records, tried right after the defaults.
            limit: Largest number of points; None for all of a small space and `WHOLE` of a large one.
            seed: Seed of the random points.
        """
        most = WHOLE if limit is None else limit
        self.count = min(len(points), most)
        self._points = points
        self._random = random.Random(seed)  # noqa: S311 - not for secrets, and a search must repeat
        self._planned = _distinct(
            [points[0], *(p for p in known if p in points), *_first(points, is_whole=len(points) <= most)]
        )
        self._tried: list[tuple[Point, float | None]] = []

    def next(self) -> Point | None:
        """Returns the next point; None if there is none left. `told` must follow."""
        if len(self._tried) >= self.count:
            return None
        if len(self._tried) < len(self._planned):
            return self._planned[len(self._tried)]
        done = [point for point, _ in self._tried]
        left = [point for point in self._points if point not in done]
        if len(self._tried) % _RANDOM_EVERY == 0:
            return self._random.choice(left)
        return self._likely(left)

    def told(self, point: Point, cost: float | None) -> None:
        """Takes the cost of a proposed point; None if it was refused or not measured."""
        self._tried.append((point, cost))

    def _likely(self, left: Sequence[Point]) -> Point:
        """Returns the point with the lowest predicted cost."""
        costs = [(point, cost) for point, cost in self._tried if cost is not None]
        terms = sorted({(name, str(value)) for point in self._points for name, value in point.items()})
        if not costs:
            return left[0]
        known = _features([point for point, _ in costs], terms)
        logs = np.log([max(cost, 1.0) for _, cost in costs])
        mean = logs.mean()
        gram = known.T @ known + _RIDGE * np.eye(known.shape[1])
        weights = np.linalg.solve(gram, known.T @ (logs - mean))
        return left[int(np.argmin(_features(left, terms) @ weights))]


def _features(
    points: Sequence[Point], terms: Sequence[tuple[str, str]]
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Returns a row for each point, with 1 for each value that it has."""
    return np.array([[float(str(point.get(name, math.nan)) == value) for name, value in terms] for point in points])


def _first(points: Sequence[Point], *, is_whole: bool) -> list[Point]:
    """Returns all points of a small space; of a large one those that change one knob, or the kernel alone."""
    if is_whole:
        return list(points)
    #: The first point of each kernel.
    heads: dict[tuple[str, ...], Point] = {}
    found = []
    for point in points:
        kind = (*point, str(point.get(KERNEL)))
        default = heads.setdefault(kind, point)
        if sum(point[name] != default[name] for name in point) <= 1:
            found.append(point)
    return found


def _distinct(points: Sequence[Point]) -> list[Point]:
    found: list[Point] = []
    for point in points:
        if point not in found:
            found.append(point)
    return found

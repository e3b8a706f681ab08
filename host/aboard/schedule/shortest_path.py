"""Shortest paths over segments, of which only those on a best path are traced.

A *segment* is a single step or a cascade, a path is a partition of the steps into segments. A cascade has a lower bound
of its peak until it is traced: then the bound becomes its peak. The best path by bounds is traced, and searched again,
until all of it is traced. Then no other path is better, because bounds are never above peaks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from aboard.base import progress
from aboard.schedule.segment_bounds import CascadeBound

Ints = NDArray[np.int64]

#: More than any peak and any number of stripes; the sum of two fits 63 bits.
_FAR = 1 << 60


class SegmentTable:
    """Segments by their ends, each end's from the shortest to the longest.

    Attributes:
        count: Number of steps.
    """

    def __init__(self, singles: Sequence[int], candidates: Sequence[CascadeBound]) -> None:
        """Keeps segments that are not traced.

        Args:
            singles: Peak of each step by itself.
            candidates: Cascades.
        """
        self.count = len(singles)
        self._ended: list[list[CascadeBound | None]] = [[None] for _ in singles]
        for each in sorted(candidates, key=lambda c: (c.end, c.end - c.first)):
            self._ended[each.end - 1].append(each)
        self._known: set[tuple[int, int]] = set()
        self._firsts: list[Ints] = []
        self._peaks: list[Ints] = []
        self._extras: list[Ints] = []
        for step, ended in enumerate(self._ended):
            known = [each for each in ended if each is not None]
            self._firsts.append(np.array([step, *(each.first for each in known)], np.int64))
            self._peaks.append(np.array([singles[step], *(each.least_bytes for each in known)], np.int64))
            self._extras.append(np.array([0, *(each.extra_stripes for each in known)], np.int64))

    def least_peak(self, enough: int, trace: Callable[[CascadeBound], int | None]) -> int:
        """Returns the least peak of any path; `enough` if a path has at most as many bytes.

        Args:
            enough: Bytes below which peaks do not count.
            trace: Returns the peak of a cascade, or None if the steps cannot be one. It is called once for a cascade.
        """

        def length(so_far: Ints, step: int) -> Ints:
            return np.maximum(so_far, self._peaks[step])

        return self._traced(enough, length, trace)[0]

    def fewest_stripes(
        self, limit: int, trace: Callable[[CascadeBound], int | None]
    ) -> list[tuple[int, CascadeBound | None]]:
        """Returns the path with the fewest stripes among those with at most some peak; None stands for a single step.

        Args:
            limit: Bytes; some path must have at most as many.
            trace: As for `least_peak`.
        """

        def length(so_far: Ints, step: int) -> Ints:
            return so_far + np.where(self._peaks[step] <= limit, self._extras[step], _FAR)

        return [(first, self._ended[end][index]) for first, end, index in self._traced(0, length, trace)[1]]

    def _traced(
        self, start: int, length: Callable[[Ints, int], Ints], trace: Callable[[CascadeBound], int | None]
    ) -> tuple[int, list[tuple[int, int, int]]]:
        """Returns the length of the shortest path; of each segment, now traced, first and last step and index."""
        while True:
            total, path = self._shortest(start, length)
            waiting = [
                (end, index, candidate)
                for end, index in path
                if (candidate := self._ended[end][index]) is not None and (end, index) not in self._known
            ]
            left = sum(candidate.end - candidate.first for _, _, candidate in waiting)
            progress.report("schedule", self.count - left, self.count)
            if not waiting:
                return total, [(int(self._firsts[end][index]), end, index) for end, index in path]
            for end, index, candidate in waiting:
                peak = trace(candidate)
                self._peaks[end][index] = _FAR if peak is None else peak
                self._known.add((end, index))

    def _shortest(self, start: int, length: Callable[[Ints, int], Ints]) -> tuple[int, list[tuple[int, int]]]:
        """Returns the length of the shortest path, and the last step and index of each segment; prefers short ones."""
        best = np.full(self.count + 1, start, np.int64)
        chosen = []
        for step, firsts in enumerate(self._firsts):
            lengths = length(best[firsts], step)
            chosen.append(int(lengths.argmin()))
            best[step + 1] = min(int(lengths[chosen[step]]), _FAR)
        path, step = [], self.count
        while step > 0:
            path.append((step - 1, chosen[step - 1]))
            step = int(self._firsts[step - 1][chosen[step - 1]])
        return int(best[-1]), path[::-1]

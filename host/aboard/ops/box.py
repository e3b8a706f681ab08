"""Boxes: parts of tensors that are cut out along the axes. What tiles are described by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Box:
    """A part of a tensor: on every axis, the elements from `start` to before `stop`.

    Attributes:
        start: First index on each axis of the tensor, outermost first; () for a scalar.
        stop: One past the last index on each axis.
    """

    start: tuple[int, ...]
    stop: tuple[int, ...]

    @classmethod
    def whole(cls, shape: Sequence[int]) -> Box:
        """Returns the box of a whole tensor."""
        return cls((0,) * len(shape), tuple(shape))

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements on each axis."""
        return tuple(stop - start for start, stop in zip(self.start, self.stop, strict=True))

    @property
    def elements(self) -> int:
        """Elements in all."""
        return math.prod(self.shape)

    @property
    def slices(self) -> tuple[slice, ...]:
        """The index with which numpy cuts the box out of the tensor."""
        return tuple(slice(start, stop) for start, stop in zip(self.start, self.stop, strict=True))

    def on(self, axis: int, start: int, stop: int) -> Box:
        """Returns the box with another range on one axis."""
        starts, stops = list(self.start), list(self.stop)
        starts[axis], stops[axis] = start, stop
        return Box(tuple(starts), tuple(stops))

    def hull(self, other: Box) -> Box:
        """Returns the smallest box that holds this one and another of the same tensor."""
        starts = tuple(map(min, self.start, other.start))
        return Box(starts, tuple(map(max, self.stop, other.stop)))

    def within(self, shape: Sequence[int]) -> Box:
        """Returns the box of an operand of this shape that broadcasting spreads over this box."""
        skipped = len(self.start) - len(shape)
        ranges = zip(self.start[skipped:], self.stop[skipped:], shape, strict=True)
        ends = [(0, 1) if extent == 1 else (start, stop) for start, stop, extent in ranges]
        return Box(tuple(start for start, _ in ends), tuple(stop for _, stop in ends))

    def runs(self, shape: Sequence[int]) -> int:
        """Returns into how many pieces the box falls in a tensor of this shape that is stored without gaps."""
        run = 1
        for size, extent in zip(reversed(self.shape), reversed(shape), strict=True):
            run *= size
            if size < extent:
                break
        return self.elements // max(run, 1)

    def __str__(self) -> str:
        return "[" + ", ".join(f"{a}:{b}" for a, b in zip(self.start, self.stop, strict=True)) + "]"

"""Boxes: rectangular parts of tensors, by which tiles are described."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Box:
    """A part of a tensor: the elements from `start` up to but not including `stop` on every axis.

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
        """Total number of elements."""
        return math.prod(self.shape)

    @property
    def slices(self) -> tuple[slice, ...]:
        """The index with which numpy reads the box from the tensor."""
        return tuple(slice(start, stop) for start, stop in zip(self.start, self.stop, strict=True))

    def on(self, axis: int, start: int, stop: int) -> Box:
        """Returns the box with another range on one axis."""
        starts, stops = list(self.start), list(self.stop)
        starts[axis], stops[axis] = start, stop
        return Box(tuple(starts), tuple(stops))

    def hull(self, other: Box) -> Box:
        """Returns the smallest box that contains this box and another box of the same tensor."""
        starts = tuple(map(min, self.start, other.start))
        return Box(starts, tuple(map(max, self.stop, other.stop)))

    def within(self, shape: Sequence[int]) -> Box:
        """Returns the box of an operand of this shape that broadcasts to this box."""
        skipped = len(self.start) - len(shape)
        ranges = zip(self.start[skipped:], self.stop[skipped:], shape, strict=True)
        ends = [(0, 1) if extent == 1 else (start, stop) for start, stop, extent in ranges]
        return Box(tuple(start for start, _ in ends), tuple(stop for _, stop in ends))

    def runs(self, shape: Sequence[int]) -> int:
        """Returns the number of contiguous runs of the box in a tensor of this shape without gaps."""
        run = 1
        for size, extent in zip(reversed(self.shape), reversed(shape), strict=True):
            run *= size
            if size < extent:
                break
        return self.elements // max(run, 1)

    def __str__(self) -> str:
        return "[" + ", ".join(f"{a}:{b}" for a, b in zip(self.start, self.stop, strict=True)) + "]"

"""Arrays whose axes are in another order than their shape says."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from aboard.check.compare.real_numbers import Reals


def orders(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yields the orders of axes in which an array has its numbers at other places."""
    extents = [axis for axis in range(len(shape)) if shape[axis] > 1]
    for moved in itertools.permutations(extents):
        order = list(range(len(shape)))
        for axis, other in zip(extents, moved, strict=True):
            order[axis] = other
        if list(moved) != extents:
            yield tuple(order)


def reordered(values: Reals, order: tuple[int, ...]) -> tuple[Reals, Reals]:
    """Returns an array whose axes are written, or read, in another order than its shape says."""
    read = values.reshape([values.shape[axis] for axis in order]).transpose(np.argsort(order))
    return values.transpose(order).reshape(values.shape), read.reshape(values.shape)

"""Orders of axes: for each axis of a transposed tensor, the axis of the tensor before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")

#: For each axis of a transposed tensor, the axis of the tensor before.
Order = tuple[int, ...]


def inverse(order: Sequence[int]) -> Order:
    """Returns the order that undoes another."""
    return tuple(sorted(range(len(order)), key=lambda axis: order[axis]))


def composed(first: Sequence[int], second: Sequence[int]) -> Order:
    """Returns the one order that has the effect of two, one after the other."""
    return tuple(first[axis] for axis in second)


def before(values: Sequence[_T], order: Sequence[int]) -> tuple[_T, ...]:
    """Returns what belongs to each axis of the tensor before, given what belongs to each axis of the transposed one."""
    return tuple(values[axis] for axis in inverse(order))

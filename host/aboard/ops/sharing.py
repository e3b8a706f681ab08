"""Memory shared by results and operands of an op that only moves data, so that the move needs no code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aboard.ir import Node


@dataclass(frozen=True)
class Share:
    """One tensor of a node is a part of another.

    Attributes:
        operand: Index of the operand.
        result: Index of the result.
        inner_is_result: True if the result is a part of the operand (split, slice, reshape), False if the operand is a
            part of the result (concatenation).
        starts: For each axis, the index in the outer tensor of the inner tensor's first element; the inner tensor has
            its own shape, all strides are 1. None if the inner tensor's elements are consecutive in the outer tensor
            (reshape).
        first: If `starts` is None, the flat index in the outer tensor of the inner tensor's first element.
    """

    operand: int
    result: int
    inner_is_result: bool
    starts: tuple[int, ...] | None = None
    first: int = 0


def along_axis(node: Node, axis: int, *, inner_is_result: bool) -> list[Share]:
    """Returns the shares of a split (or concatenation) along one axis.

    Args:
        node: The node; operand 0 is split, or all operands are joined.
        axis: Not negative.
        inner_is_result: True for a split, False for a concatenation.
    """
    parts = node.outputs if inner_is_result else node.operands
    shares: list[Share] = []
    start = 0
    for index, part in enumerate(parts):
        starts = tuple(start if a == axis else 0 for a in range(len(part.shape)))
        shares.append(
            Share(0, index, True, starts) if inner_is_result else Share(index, 0, False, starts),
        )
        start += part.shape[axis]
    return shares


def box_offsets(outer: Sequence[int], inner: Sequence[int], starts: Sequence[int]) -> tuple[int, int, int] | None:
    """Returns the start of a box in a tensor as (row, pixel, channel), or None if no view can express the box.

    Rows count all leading axes, so a box may cut only one of these, and only if the axes before it have one element.

    Args:
        outer: Shape of the tensor.
        inner: Shape of the box; same rank.
        starts: First index of the box on each axis.
    """
    if len(outer) != len(inner):
        return None
    rank = len(outer)
    channel = starts[-1] if rank else 0
    pixel = starts[-2] if rank >= 3 else 0
    leading = range(rank - 2 if rank >= 3 else rank - 1) if rank >= 2 else range(0)
    row, cut = 0, False
    for axis in leading:
        if inner[axis] == outer[axis]:
            row = row * outer[axis]
            continue
        if any(outer[before] != 1 for before in leading if before < axis) or cut:
            return None
        row, cut = starts[axis], True
    return row, pixel, channel

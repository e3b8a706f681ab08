"""Finds the nodes of a schedule that need the forms of kernels with less scratch, which take longer."""

from __future__ import annotations

from aboard.compiler.scheduled import Scheduled
from aboard.ir import Node
from aboard.schedule.lowering import Calls, Step


def where_needed(found: Scheduled, plain: Calls) -> frozenset[Node]:
    """Returns the nodes whose other form finds no room in the arena beside what is live while they are computed.

    The bytes that are free need not be contiguous, so a schedule with these forms alone may need a little more RAM.

    Args:
        found: A schedule in one arena, all of whose kernels have less scratch.
        plain: The same nodes with the forms of kernels that are preferred.
    """
    return frozenset(
        step.node
        for step in found.program.steps
        if step.implementation is not plain.implementations[step.node] and not _has_room(found, plain, step)
    )


def _has_room(found: Scheduled, plain: Calls, step: Step) -> bool:
    """True if the scratch of the other form fits at a step, and it computes the same rows at once."""
    node, other = step.node, plain.implementations[step.node]
    if other.row_wise(node) != step.implementation.row_wise(node):
        return False
    own, wanted = (
        sum(each.bytes for each in call.scratch) for call in (step.call, plain.of(node, step.inputs, step.outputs))
    )
    return wanted - own <= found.layout.peak - _occupied(found, step.index)


def _occupied(found: Scheduled, index: int) -> int:
    """Returns the bytes of the arena that are in use at a step; buffers may lie over each other."""
    ranges = zip(found.layout.offsets, found.program.live_ranges, strict=True)
    live = sorted((offset, offset + each.bytes) for offset, each in ranges if each.first <= index <= each.last)
    occupied, end = 0, 0
    for start, stop in live:
        occupied += max(stop - max(start, end), 0)
        end = max(end, stop)
    return occupied

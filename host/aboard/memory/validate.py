"""Checks a memory plan independently of the planner."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from aboard.errors import VerifyError
from aboard.memory.problem import LiveRange, MemoryPlan, Overlap


def validate(live_ranges: Sequence[LiveRange], plan: MemoryPlan, overlaps: Sequence[Overlap] = ()) -> None:
    """Checks a plan: offsets are aligned and inside the arena, and live buffers share no byte except by an `Overlap`.

    Raises:
        VerifyError: The plan is wrong; this is a bug of aboard.
    """
    if len(live_ranges) != len(plan.offsets):
        raise VerifyError(f"memory plan: {len(plan.offsets)} offsets, expected {len(live_ranges)}")
    placed = list(zip(live_ranges, plan.offsets, strict=True))
    for live_range, offset in placed:
        if offset < 0 or offset + live_range.bytes > plan.peak:
            raise VerifyError(
                f"memory plan: {live_range.name} at {offset}..{offset + live_range.bytes}, "
                f"expected within 0..{plan.peak}"
            )
        if offset % live_range.align:
            raise VerifyError(f"memory plan: {live_range.name} at {offset}, expected a multiple of {live_range.align}")
    allowed = {
        frozenset((o.operand, o.result))
        for o in overlaps
        if plan.offsets[o.operand] >= plan.offsets[o.result] + o.min_offset
    }
    for (i, (a, at_a)), (j, (b, at_b)) in combinations(enumerate(placed), 2):
        shared = at_a < at_b + b.bytes and at_b < at_a + a.bytes
        if shared and a.overlaps(b) and frozenset((i, j)) not in allowed:
            raise VerifyError(f"memory plan: {a.name} and {b.name} are live together and share bytes")

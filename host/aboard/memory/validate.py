"""Checks a memory plan without knowing how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from aboard.errors import VerifyError
from aboard.memory.problem import Overlap, Plan, Request


def validate(requests: Sequence[Request], plan: Plan, overlaps: Sequence[Overlap] = ()) -> None:
    """Checks that a plan is right: aligned, inside the arena, nothing alive shares a byte but what may.

    Raises:
        VerifyError: It is not; our bug.
    """
    if len(requests) != len(plan.offsets):
        raise VerifyError(f"memory plan: {len(plan.offsets)} offsets, expected {len(requests)}")
    placed = list(zip(requests, plan.offsets, strict=True))
    for request, offset in placed:
        if offset < 0 or offset + request.bytes > plan.peak:
            raise VerifyError(
                f"memory plan: {request.name} at {offset}..{offset + request.bytes}, expected within 0..{plan.peak}"
            )
        if offset % request.align:
            raise VerifyError(f"memory plan: {request.name} at {offset}, expected a multiple of {request.align}")
    allowed = {
        frozenset((o.operand, o.result))
        for o in overlaps
        if plan.offsets[o.operand] >= plan.offsets[o.result] + o.distance
    }
    for (i, (a, at_a)), (j, (b, at_b)) in combinations(enumerate(placed), 2):
        shared = at_a < at_b + b.bytes and at_b < at_a + a.bytes
        if shared and a.overlaps(b) and frozenset((i, j)) not in allowed:
            raise VerifyError(f"memory plan: {a.name} and {b.name} are alive together and share bytes")

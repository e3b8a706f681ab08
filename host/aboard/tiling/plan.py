"""Plans how a match is computed tile by tile: as quickly as the device's figures say it can be done in its memory.

Sizes of tiles, the order of the loops over them, one buffer or two, and what stays in memory for good are tried with an
estimate; of the best, whole plans are made, and the quickest of these is taken. No clock and no chance takes part: the
same layer gives the same plan on every machine.
"""

from __future__ import annotations

import heapq

from aboard.errors import TargetError
from aboard.ops.subgraph import Matched
from aboard.target.device import MemoryRegion, TileConstraint
from aboard.tiling.build import build
from aboard.tiling.choices import Choice, Estimator
from aboard.tiling.layer import Layer
from aboard.tiling.tiles import TilePlan
from aboard.tiling.validate import validate

#: How many whole plans are made at most, and how many tiles they may have together beyond the first plan.
_PLANS, _TILES = 6, 1500


def plan(matched: Matched, constraint: TileConstraint, region: MemoryRegion, where: str) -> TilePlan:
    """Returns the plan for a match.

    Args:
        matched: The match; its last node's result is cut.
        constraint: What the device says of it.
        region: The memory of the name that the constraint gives.
        where: The device, for messages.

    Raises:
        TargetError: Not even the smallest tile fits, or the match cannot be cut as the constraint asks.
    """
    estimator = Estimator(Layer(matched, constraint, where), region)
    ranked = heapq.nsmallest(_PLANS, estimator.choices(), key=lambda found: found[1].key)
    best = _best(estimator, [choice for choice, _ in ranked])
    if best is None:
        best = build(estimator.layer, region, _fitting(estimator))
    if best is None:
        raise _too_small(estimator)
    validate(best, matched, constraint)
    return best


def check(matched: Matched, constraint: TileConstraint, region: MemoryRegion, where: str) -> None:
    """Finds out whether there is a plan, without making it; arguments and errors as for `plan`."""
    _fitting(Estimator(Layer(matched, constraint, where), region))


def _best(estimator: Estimator, choices: list[Choice]) -> TilePlan | None:
    best: TilePlan | None = None
    tiles = 0
    for choice in choices:
        if best is not None and tiles + choice.tiles > _TILES:
            continue
        tiles += choice.tiles
        found = build(estimator.layer, estimator.region, choice)
        if found is not None and (best is None or _rank(found) < _rank(best)):
            best = found
    return best


def _rank(found: TilePlan) -> tuple[float, int, int, int]:
    return found.cycles, found.traffic_bytes, found.bytes, len(found.tiles)


def _fitting(estimator: Estimator) -> Choice:
    """Returns the way with the smallest tiles.

    Raises:
        TargetError: Not even that fits.
    """
    choice, size = estimator.smallest()
    if size > estimator.region.size_bytes:
        raise _too_small(estimator)
    return choice


def _too_small(estimator: Estimator) -> TargetError:
    layer, region = estimator.layer, estimator.region
    _, least = estimator.smallest()
    return TargetError(
        f"{layer.where}: scratchpad too small for {layer.name}, got {region.size_bytes:,} bytes in region "
        f"{region.name}, expected at least {least:,}. Use a device with more memory, or leave the layer to the host"
    )

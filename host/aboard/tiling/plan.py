"""Plans how a match is computed tile by tile: with the fewest cycles that the accelerator's figures and memory allow.

An estimate compares tile sizes, loop orders, one buffer or two, and pieces that stay resident. The best candidates
become whole plans, and the plan with the fewest cycles is taken. The result is deterministic: the same layer gives the
same plan on every machine.
"""

from __future__ import annotations

import heapq

from aboard.errors import TargetError
from aboard.ops.subgraph import Matched
from aboard.target.device import MemoryRegion, TileConstraint
from aboard.tiling.build import build
from aboard.tiling.tiled_match import TiledMatch
from aboard.tiling.tiles import TilePlan
from aboard.tiling.tilings import Tiling, TilingEstimator
from aboard.tiling.validate import validate

#: Largest number of whole plans, and largest number of their tiles beyond the first plan.
_PLANS, _TILES = 6, 1500


def plan(matched: Matched, constraint: TileConstraint, region: MemoryRegion, where: str) -> TilePlan:
    """Returns the plan for a match.

    Args:
        matched: The match; the result of its last node is cut.
        constraint: The accelerator's limits for it.
        region: The memory region that the constraint names.
        where: The device, for error messages.

    Raises:
        TargetError: The smallest tile does not fit, or the match cannot be cut as the constraint requires.
    """
    estimator = TilingEstimator(TiledMatch(matched, constraint, where), region)
    ranked = heapq.nsmallest(_PLANS, estimator.tilings(), key=lambda found: found[1].key)
    best = _best(estimator, [tiling for tiling, _ in ranked])
    if best is None:
        best = build(estimator.layer, region, _fitting(estimator))
    if best is None:
        raise _too_small(estimator)
    validate(best, matched, constraint)
    return best


def check(matched: Matched, constraint: TileConstraint, region: MemoryRegion, where: str) -> None:
    """Checks that a plan exists, without making it; arguments and errors as for `plan`."""
    _fitting(TilingEstimator(TiledMatch(matched, constraint, where), region))


def _best(estimator: TilingEstimator, tilings: list[Tiling]) -> TilePlan | None:
    best: TilePlan | None = None
    tiles = 0
    for tiling in tilings:
        if best is not None and tiles + tiling.tiles > _TILES:
            continue
        tiles += tiling.tiles
        found = build(estimator.layer, estimator.region, tiling)
        if found is not None and (best is None or _rank(found) < _rank(best)):
            best = found
    return best


def _rank(found: TilePlan) -> tuple[float, int, int, int]:
    return found.cycles, found.traffic_bytes, found.bytes, len(found.tiles)


def _fitting(estimator: TilingEstimator) -> Tiling:
    """Returns the tiling with the smallest tiles.

    Raises:
        TargetError: The smallest tiles do not fit.
    """
    tiling, size = estimator.smallest()
    if size > estimator.region.size_bytes:
        raise _too_small(estimator)
    return tiling


def _too_small(estimator: TilingEstimator) -> TargetError:
    layer, region = estimator.layer, estimator.region
    _, least = estimator.smallest()
    return TargetError(
        f"{layer.where}: scratchpad too small for {layer.name}, got {region.size_bytes:,} bytes in region "
        f"{region.name}, expected at least {least:,}. Use a device with more memory, or leave the layer to the host"
    )

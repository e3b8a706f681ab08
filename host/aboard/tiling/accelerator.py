"""Reads the memory and the limits of an accelerator (columns `memory` and `tiles`), and plans its tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aboard.errors import TargetError, did_you_mean
from aboard.ops.subgraph import Matched
from aboard.target import MemoryRegion, Target, TileConstraint, columns
from aboard.target.kind import Value
from aboard.tiling.axes import CHANNELS, COLUMNS, ROWS
from aboard.tiling.plan import check, plan
from aboard.tiling.tiles import TilePlan


def memory(device: Target) -> tuple[MemoryRegion, ...]:
    """Returns the memory regions of an accelerator; empty without the column.

    Raises:
        TargetError: The column holds another type, a duplicate name, or impossible figures.
    """
    found: tuple[MemoryRegion, ...] = columns.call(device, "memory") or ()
    where = f"kind {device.kind.name}, column memory"
    for region in found:
        if not isinstance(region, MemoryRegion):
            raise TargetError(f"{where}: got {type(region).__name__}, expected MemoryRegion. Return a tuple of them")
        wrong = _region_problem(region)
        if wrong is not None:
            raise TargetError(f"{where}: region {region.name}, {wrong}. Correct it")
    names = [region.name for region in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise TargetError(f"{where}: got region {twice} twice, expected names of their own. Rename one of them")
    return found


def _region_problem(region: MemoryRegion) -> str | None:
    if region.size_bytes < 1 or region.bytes_per_cycle <= 0:
        return f"got {region.size_bytes} bytes at {region.bytes_per_cycle} a cycle, expected more than 0 of both"
    if region.align < 1 or region.align & (region.align - 1):
        return f"alignment, got {region.align}, expected a power of two"
    return None


def plans(device: Target, patterns: Sequence[Matched], tuning: Mapping[str, Value]) -> tuple[TilePlan | None, ...]:
    """Returns the tile plan of each match, or None if the accelerator needs no tiles.

    Args:
        device: The accelerator.
        patterns: The matches.
        tuning: Values of its knobs.

    Raises:
        TargetError: A column is wrong, or a match does not fit however it is cut.
    """
    made: list[TilePlan | None] = []
    for matched in patterns:
        asked = _limits(device, matched, tuning)
        made.append(None if asked is None else plan(matched, *asked, device.kind.name))
    return tuple(made)


def problem(device: Target, matched: Matched, tuning: Mapping[str, Value]) -> str | None:
    """Returns why no tiling of a match fits, or None if one fits or none is needed; arguments as for `plans`.

    Raises:
        TargetError: A column is wrong.
    """
    asked = _limits(device, matched, tuning)
    if asked is None:
        return None
    try:
        check(matched, *asked, device.kind.name)
    except TargetError as error:
        return str(error)
    return None


def _limits(
    device: Target, matched: Matched, tuning: Mapping[str, Value]
) -> tuple[TileConstraint, MemoryRegion] | None:
    constraint: TileConstraint | None = columns.call(device, "tiles", matched, tuning)
    if constraint is None:
        return None
    where = f"kind {device.kind.name}, column tiles"
    wrong = _constraint_problem(constraint)
    if wrong is not None:
        raise TargetError(f"{where}: {wrong}. Correct it")
    regions = {region.name: region for region in memory(device)}
    if constraint.region not in regions:
        raise TargetError(
            f"{where}: got region {constraint.region}, expected one of column memory. "
            f"{did_you_mean(constraint.region, regions)}"
        )
    return constraint, regions[constraint.region]


def _constraint_problem(constraint: TileConstraint) -> str | None:
    known = {ROWS, COLUMNS, CHANNELS}
    used = {*constraint.axes, *constraint.multiples, *constraint.max_sizes}
    if not used <= known:
        return f"axes, got {sorted(used - known)}, expected 1 (rows), 2 (columns) or 3 (channels)"
    least = min([*constraint.multiples.values(), *constraint.max_sizes.values()], default=1)
    if least < 1:
        return f"multiples and sizes, got {least}, expected at least 1"
    if constraint.macs_per_cycle <= 0:
        return f"macs_per_cycle, got {constraint.macs_per_cycle}, expected more than 0"
    for name, lowest in (("tile_cycles", 0), ("transfer_cycles", 0), ("parameter_bytes", 0), ("weight_bytes", 1)):
        figure = getattr(constraint, name)
        if figure is not None and figure < lowest:
            return f"{name}, got {figure}, expected at least {lowest}"
    return None

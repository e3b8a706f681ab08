"""Validates a tile plan independently of the planner."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np

from aboard import ops
from aboard.errors import VerifyError
from aboard.ops.box import Box
from aboard.ops.subgraph import Matched
from aboard.target.device import TileConstraint
from aboard.tiling.axes import numbers
from aboard.tiling.tiled_match import is_elsewhere
from aboard.tiling.tiles import Tile, TilePlan, Transfer


def validate(plan: TilePlan, matched: Matched, constraint: TileConstraint) -> None:
    """Checks a plan.

    The tiles must compute each element of the result once and have allowed sizes. Each tile must find its operands
    where the plan places them. No part may leave the region, be unaligned, or be overwritten before its last use.

    Args:
        plan: The plan.
        matched: The match of the plan.
        constraint: The device's limits for the match.

    Raises:
        VerifyError: The plan is wrong; this is a bug of aboard.
    """
    where = f"tile plan of {matched.nodes[-1].name}"
    _check_cover(plan, matched.nodes[-1].output.shape, constraint, where)
    held: dict[int, Transfer] = {}
    for index, tile in enumerate(plan.tiles):
        _check_places(plan, tile, f"{where}, tile {index}")
        _check_sizes(tile, constraint, f"{where}, tile {index}")
        for transfer in tile.loads:
            held = {offset: old for offset, old in held.items() if not _meet(old, transfer)}
            held[transfer.offset] = transfer
        for transfer in tile.resident:
            if held.get(transfer.offset) != transfer:
                raise VerifyError(f"{where}, tile {index}: {transfer.tensor.name} is not resident at {transfer.offset}")
        _check_needs(tile, matched, constraint, f"{where}, tile {index}")
        held = {offset: old for offset, old in held.items() if not _meet(old, tile.store)}
    if plan.double_buffered:
        _check_overlap(plan.tiles, where)


def _check_cover(plan: TilePlan, shape: Sequence[int], constraint: TileConstraint, where: str) -> None:
    covered = np.zeros(shape, np.int32)
    for tile in plan.tiles:
        covered[tile.output.slices] += 1
        for number, start, size, extent in zip(
            numbers(len(shape)), tile.output.start, tile.output.shape, shape, strict=True
        ):
            _check_size(number, start, size, extent, constraint, where)
    if not (covered == 1).all():
        raise VerifyError(f"{where}: got elements computed {covered.min()} to {covered.max()} times, expected once")


def _check_size(number: int, start: int, size: int, extent: int, constraint: TileConstraint, where: str) -> None:
    inside = start + size < extent
    most = 1 if number == 0 else constraint.max_sizes.get(number, extent)
    multiple = constraint.multiples.get(number, 1)
    if not 0 < size <= most or (inside and number and (size % multiple or number not in constraint.axes)):
        raise VerifyError(f"{where}: got a tile of {size} on axis {number}, expected what the constraint allows")


def _check_places(plan: TilePlan, tile: Tile, where: str) -> None:
    everything = (*tile.operands, tile.store)
    for transfer in everything:
        if transfer.offset % plan.region.align:
            raise VerifyError(f"{where}: {transfer.tensor.name} at {transfer.offset}, expected it aligned")
        if not 0 <= transfer.offset <= transfer.offset + transfer.bytes <= plan.bytes <= plan.region.size_bytes:
            raise VerifyError(f"{where}: {transfer.tensor.name} at {transfer.offset}, expected it inside the region")
    for one, other in combinations(everything, 2):
        if _meet(one, other):
            raise VerifyError(f"{where}: {one.tensor.name} and {other.tensor.name} share bytes")


def _check_sizes(tile: Tile, constraint: TileConstraint, where: str) -> None:
    for transfer in (*tile.operands, tile.store):
        dense = transfer.box.elements * transfer.tensor.dtype.bytes
        packed = transfer.tensor.is_constant and (transfer.parameters or constraint.weight_bytes is not None)
        if not packed and transfer.bytes != dense:
            raise VerifyError(f"{where}: {transfer.tensor.name} has {transfer.bytes} bytes, expected {dense}")


def _check_needs(tile: Tile, matched: Matched, constraint: TileConstraint, where: str) -> None:
    """Checks that every operand from outside the match is in the scratchpad."""
    boxes: dict[object, Box] = {matched.nodes[-1].output: tile.output}
    given = {transfer.tensor: transfer.box for transfer in tile.operands if not transfer.parameters}
    made = {node.output for node in matched.nodes}
    for node in reversed(matched.nodes):
        needed = ops.get(node.op).operand_boxes(node, boxes[node.output]) or []
        for index, (tensor, box) in enumerate(zip(node.inputs, needed, strict=True)):
            if tensor is None or box is None or is_elsewhere(constraint, node, index):
                continue
            if tensor in made:
                boxes[tensor] = box.hull(boxes.get(tensor, box))
            elif tensor in given:
                if given[tensor].hull(box) != given[tensor]:
                    raise VerifyError(f"{where}: got {given[tensor]} of {tensor.name}, expected {box}")
            else:
                raise VerifyError(f"{where}: {tensor.name} is not there")


def _check_overlap(tiles: Sequence[Tile], where: str) -> None:
    """Checks that the store before a tile and the loads after it touch no memory that the tile reads or writes."""
    for index, (one, after) in enumerate(pairwise(tiles)):
        busy = (*one.operands, one.store)
        clash = any(_meet(load, other) for load in after.loads for other in busy) or _meet(one.store, after.store)
        before = tiles[index - 1] if index else None
        clash = clash or (before is not None and any(_meet(load, before.store) for load in after.loads))
        clash = clash or any(_meet(one.store, operand) for operand in after.operands)
        if clash:
            raise VerifyError(f"{where}, tile {index}: what moves beside it overwrites what is in use")


def _meet(one: Transfer, other: Transfer) -> bool:
    return one.offset < other.offset + other.bytes and other.offset < one.offset + one.bytes

"""Every rule of the validator is broken once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from aboard.errors import VerifyError
from aboard.ops.box import Box
from aboard.ops.subgraph import Matched
from aboard.ops.window import Padding
from aboard.target import MemoryRegion, TileConstraint
from aboard.tiling import Tile, TilePlan
from aboard.tiling.plan import plan
from aboard.tiling.validate import validate
from support import tile_layers

NODE = tile_layers.conv((1, 8, 4, 2), 2, tile_layers.Window((3, 3), padding=Padding(1, 1, 1, 1)), with_bias=False)
MATCHED = Matched("layer", (NODE,))
CONSTRAINT = TileConstraint("pad", axes=(1,), multiples={1: 2}, max_sizes={1: 2})
GOOD = plan(MATCHED, CONSTRAINT, MemoryRegion("pad", 1000), "npu")
ALTERNATING = plan(MATCHED, replace(CONSTRAINT, double_buffer=False), MemoryRegion("pad", 1000), "npu")


def with_tile(made: TilePlan, index: int, change: Callable[[Tile], Tile]) -> TilePlan:
    tiles = list(made.tiles)
    tiles[index] = change(tiles[index])
    return replace(made, tiles=tuple(tiles))


def first_load(**changes: object) -> Callable[[Tile], Tile]:
    return lambda tile: replace(tile, loads=(replace(tile.loads[0], **changes), *tile.loads[1:]))  # type: ignore[arg-type]


def store_over_operand(tile: Tile) -> Tile:
    return replace(tile, store=replace(tile.store, offset=tile.loads[0].offset))


def never_loaded(tile: Tile) -> Tile:
    return replace(tile, loads=(), resident=(*tile.loads, *tile.resident))


def forgotten(tile: Tile) -> Tile:
    return replace(tile, loads=tile.loads[1:])


SHORT = Box((0, 0, 0, 0), (1, 2, 4, 2))
#: What is broken, and what is said to it.
BROKEN = [
    (replace(GOOD, tiles=GOOD.tiles[1:]), "tile plan of layer: got elements computed 0 to 1 times, expected once"),
    (replace(GOOD, tiles=(*GOOD.tiles, GOOD.tiles[0])), "got elements computed 1 to 2 times"),
    (with_tile(GOOD, 0, first_load(offset=2)), "tile 0: x at 2, expected it aligned"),
    (with_tile(GOOD, 0, first_load(offset=4000)), "tile 0: x at 4000, expected it inside the region"),
    (replace(GOOD, bytes=8), "expected it inside the region"),
    (with_tile(GOOD, 1, first_load(bytes=4)), "tile 1: x has 4 bytes, expected 32"),
    (with_tile(GOOD, 0, store_over_operand), "tile 0: x and y share bytes"),
    (with_tile(GOOD, 1, never_loaded), "tile 1: x is not resident at"),
    (with_tile(GOOD, 0, forgotten), "tile 0: x is not there"),
    (with_tile(GOOD, 0, first_load(box=SHORT, bytes=16)), r"got \[0:1, 0:2, 0:4, 0:2\] of x, expected \[0:1, 0:3"),
    (replace(ALTERNATING, double_buffered=True), "tile 0: what moves beside it overwrites what is in use"),
]


@pytest.mark.parametrize(("broken", "text"), BROKEN, ids=[text[:40] for _, text in BROKEN])
def test_a_broken_plan_is_found(broken: TilePlan, text: str) -> None:
    with pytest.raises(VerifyError, match=text):
        validate(broken, MATCHED, CONSTRAINT)


@pytest.mark.parametrize(
    "other",
    [replace(CONSTRAINT, max_sizes={1: 1}), replace(CONSTRAINT, multiples={1: 4}), TileConstraint("pad", axes=())],
)
def test_a_plan_for_other_limits_is_found(other: TileConstraint) -> None:
    validate(GOOD, MATCHED, CONSTRAINT)
    with pytest.raises(VerifyError, match="got a tile of 2 on axis 1, expected what the constraint allows"):
        validate(GOOD, MATCHED, other)

"""Makes the plan of one tiling: every tile with its boxes, buffers, and resident parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from aboard.ops.box import Box
from aboard.target.device import MemoryRegion, TileConstraint
from aboard.tiling.axes import round_up, tile_boxes
from aboard.tiling.tiled_match import Key, TiledMatch, TileFootprint, TilePiece
from aboard.tiling.tiles import Tile, TilePlan, Transfer
from aboard.tiling.tilings import Tiling


@dataclass
class _Area:
    """The buffers of one piece; the least recently used buffer is overwritten first.

    Attributes:
        offset: Offset of the first buffer, in bytes.
        stride: Bytes from one buffer to the next.
        count: Number of buffers.
        held: Content of each buffer, the most recently used last.
    """

    offset: int
    stride: int
    count: int
    held: dict[Box, int] = field(default_factory=dict)

    def use(self, box: Box) -> tuple[int, bool]:
        """Returns the offset of a part, and whether the part is already there."""
        there = box in self.held
        if there:
            slot = self.held.pop(box)
        elif len(self.held) < self.count:
            slot = len(self.held)
        else:
            slot = self.held.pop(next(iter(self.held)))
        self.held[box] = slot
        return self.offset + slot * self.stride, there


def build(layer: TiledMatch, region: MemoryRegion, tiling: Tiling) -> TilePlan | None:
    """Returns the plan of a tiling, or None if it does not fit the region or a tile cannot be computed by itself."""
    found = [layer.footprint(box) for box in tile_boxes(layer.result.shape, tiling.cuts)]
    tiles = [footprint for footprint in found if footprint is not None]
    if len(tiles) < len(found):
        return None
    areas, offset = _areas(tiles, tiling, region.align)
    results = max(footprint.output.elements for footprint in tiles) * layer.result.dtype.bytes
    result = _Area(offset, round_up(results, region.align), 2 if tiling.double else 1)
    used = offset + result.stride * result.count
    if used > region.size_bytes:
        return None
    placed = [_tile(footprint, index, areas, result, layer) for index, footprint in enumerate(tiles)]
    transfers = [transfer for tile in placed for transfer in (*tile.loads, tile.store)]
    cycles = _cycles(placed, layer.constraint, region, tiling.double)
    return TilePlan(region, tuple(placed), used, tiling.double, sum(t.bytes for t in transfers), cycles)


def _areas(tiles: Sequence[TileFootprint], tiling: Tiling, align: int) -> tuple[dict[Key, _Area], int]:
    """Returns the buffers of every piece, one after another, and their end in bytes."""
    areas: dict[Key, _Area] = {}
    offset = 0
    for index, first in enumerate(tiles[0].pieces):
        parts = [footprint.pieces[index] for footprint in tiles]
        different = len({part.box for part in parts})
        count = different if first.key in tiling.kept else min(different, 2 if tiling.double else 1)
        area = _Area(offset, round_up(max(part.bytes for part in parts), align), count)
        areas[first.key] = area
        offset += area.stride * area.count
    return areas, offset


def _tile(footprint: TileFootprint, index: int, areas: dict[Key, _Area], result: _Area, layer: TiledMatch) -> Tile:
    loads: list[Transfer] = []
    resident: list[Transfer] = []
    for piece in footprint.pieces:
        offset, there = areas[piece.key].use(piece.box)
        (resident if there else loads).append(_transfer(piece, offset))
    offset = result.offset + index % result.count * result.stride
    size = footprint.output.elements * layer.result.dtype.bytes
    store = Transfer(layer.result, footprint.output, offset, size)
    return Tile(footprint.output, tuple(loads), tuple(resident), store, footprint.padding, footprint.macs)


def _transfer(piece: TilePiece, offset: int) -> Transfer:
    return Transfer(piece.tensor, piece.box, offset, piece.bytes, piece.parameters)


def _cycles(tiles: Sequence[Tile], constraint: TileConstraint, region: MemoryRegion, double: bool) -> float:
    loads = [sum(_moving(transfer, constraint, region) for transfer in tile.loads) for tile in tiles]
    stores = [_moving(tile.store, constraint, region) for tile in tiles]
    computing = [constraint.tile_cycles + tile.macs / constraint.macs_per_cycle for tile in tiles]
    if not double:
        return sum(loads) + sum(stores) + sum(computing)
    beside = [after + before for after, before in zip([*loads[1:], 0.0], [0.0, *stores[:-1]], strict=True)]
    return loads[0] + sum(map(max, computing, beside)) + stores[-1]


def _moving(transfer: Transfer, constraint: TileConstraint, region: MemoryRegion) -> float:
    """Returns the cycles of a transfer; constants are packed, so their parts are contiguous."""
    pieces = 1 if transfer.tensor.is_constant else transfer.box.runs(transfer.tensor.shape)
    return pieces * constraint.transfer_cycles + transfer.bytes / region.bytes_per_cycle

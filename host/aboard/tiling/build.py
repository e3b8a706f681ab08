"""Makes the plan of one way to tile: every tile with its boxes, buffers, and what is still there from earlier tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from aboard.ops.box import Box
from aboard.target.device import MemoryRegion, TileConstraint
from aboard.tiling.axes import round_up, tile_boxes
from aboard.tiling.choices import Choice
from aboard.tiling.layer import Key, Layer, Needs, Piece
from aboard.tiling.tiles import Tile, TilePlan, Transfer


@dataclass
class _Area:
    """The buffers of one piece; that which was used longest ago is overwritten first.

    Attributes:
        offset: Of the first buffer.
        stride: From a buffer to the next.
        count: Buffers.
        held: What is in which buffer, the latest used last.
    """

    offset: int
    stride: int
    count: int
    held: dict[Box, int] = field(default_factory=dict)

    def use(self, box: Box) -> tuple[int, bool]:
        """Returns the offset of a part, and whether it is there already."""
        there = box in self.held
        if there:
            slot = self.held.pop(box)
        elif len(self.held) < self.count:
            slot = len(self.held)
        else:
            slot = self.held.pop(next(iter(self.held)))
        self.held[box] = slot
        return self.offset + slot * self.stride, there


def build(layer: Layer, region: MemoryRegion, choice: Choice) -> TilePlan | None:
    """Returns the plan of a choice, or None where it does not fit the region or a tile cannot be computed by itself."""
    found = [layer.needs(box) for box in tile_boxes(layer.result.shape, choice.cuts)]
    tiles = [needs for needs in found if needs is not None]
    if len(tiles) < len(found):
        return None
    areas, offset = _areas(tiles, choice, region.align)
    results = max(needs.output.elements for needs in tiles) * layer.result.dtype.bytes
    result = _Area(offset, round_up(results, region.align), 2 if choice.double else 1)
    used = offset + result.stride * result.count
    if used > region.size_bytes:
        return None
    placed = [_tile(needs, index, areas, result, layer) for index, needs in enumerate(tiles)]
    transfers = [transfer for tile in placed for transfer in (*tile.loads, tile.store)]
    cycles = _cycles(placed, layer.constraint, region, choice.double)
    return TilePlan(region, tuple(placed), used, choice.double, sum(t.bytes for t in transfers), cycles)


def _areas(tiles: Sequence[Needs], choice: Choice, align: int) -> tuple[dict[Key, _Area], int]:
    """Returns the buffers of every piece, one after another, and where they end."""
    areas: dict[Key, _Area] = {}
    offset = 0
    for index, first in enumerate(tiles[0].pieces):
        parts = [needs.pieces[index] for needs in tiles]
        different = len({part.box for part in parts})
        count = different if first.key in choice.kept else min(different, 2 if choice.double else 1)
        area = _Area(offset, round_up(max(part.bytes for part in parts), align), count)
        areas[first.key] = area
        offset += area.stride * area.count
    return areas, offset


def _tile(needs: Needs, index: int, areas: dict[Key, _Area], result: _Area, layer: Layer) -> Tile:
    loads: list[Transfer] = []
    resident: list[Transfer] = []
    for piece in needs.pieces:
        offset, there = areas[piece.key].use(piece.box)
        (resident if there else loads).append(_transfer(piece, offset))
    offset = result.offset + index % result.count * result.stride
    size = needs.output.elements * layer.result.dtype.bytes
    store = Transfer(layer.result, needs.output, offset, size)
    return Tile(needs.output, tuple(loads), tuple(resident), store, needs.padding, needs.macs)


def _transfer(piece: Piece, offset: int) -> Transfer:
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
    """Returns the cycles of a transfer; constants are packed, so that their parts lie in one piece."""
    pieces = 1 if transfer.tensor.is_constant else transfer.box.runs(transfer.tensor.shape)
    return pieces * constraint.transfer_cycles + transfer.bytes / region.bytes_per_cycle

"""The candidate tilings of a match (tile sizes, loop order, buffers), each with an estimate of its cost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from aboard.errors import TargetError
from aboard.target.device import MemoryRegion
from aboard.tiling.axes import Cut, ResultAxis, axes, cut, round_up
from aboard.tiling.tiled_match import Key, TiledMatch, TilePiece


@dataclass(frozen=True)
class Tiling:
    """A tiling of a match.

    Attributes:
        cuts: Cuts of all axes, from the outermost loop to the innermost.
        double: True for two buffers of each piece that changes from tile to tile.
        kept: Pieces whose loaded parts all stay resident, so that no part is loaded twice.
    """

    cuts: tuple[Cut, ...]
    double: bool
    kept: frozenset[Key] = frozenset()

    @property
    def tiles(self) -> int:
        """Number of tiles."""
        return math.prod(one.count for one in self.cuts)


@dataclass(frozen=True)
class TilingCost:
    """The estimated cost of a tiling; compared field by field in this order.

    Attributes:
        cycles: Cycles of the accelerator.
        traffic: Bytes of all transfers.
        bytes: Bytes used in the region.
        tiles: Number of tiles.
    """

    cycles: float
    traffic: float
    bytes: int
    tiles: int

    @property
    def key(self) -> tuple[float, float, int, int]:
        """The sort key of estimates."""
        return self.cycles, self.traffic, self.bytes, self.tiles


class TilingEstimator:
    """Estimates tilings for one layer.

    Args:
        layer: The match to cut.
        region: Memory of the tiles.
    """

    def __init__(self, layer: TiledMatch, region: MemoryRegion) -> None:
        self.layer = layer
        self.region = region
        self.whole = layer.whole()
        self.axes = axes(layer)

    def tilings(self) -> Iterator[tuple[Tiling, TilingCost]]:
        """Yields the tilings of the layer that fit the region, sizes from large to small."""
        by_axis = [[found for size in axis.sizes if (found := self._cut(axis, size))] for axis in self.axes]
        for cuts in itertools.product(*by_axis):
            if self._bytes(Tiling(cuts, double=False)) <= self.region.size_bytes:
                yield from self._ways(cuts)

    def smallest(self) -> tuple[Tiling, int]:
        """Returns the tiling with the smallest tiles, and its bytes in the region.

        Raises:
            TargetError: An axis cannot be cut as the constraint requires.
        """
        tiling = Tiling(tuple(self._smallest(axis) for axis in self.axes), double=False)
        return tiling, self._bytes(tiling)

    def _smallest(self, axis: ResultAxis) -> Cut:
        cuts = (self._cut(axis, size, exact=True) for size in reversed(axis.sizes))
        found = next((one for one in cuts if one is not None), None)
        if found is None:
            raise TargetError(
                f"{self.layer.where}: tiles for {self.layer.name}, got tiles of {axis.sizes[-1]} to {axis.sizes[0]} of "
                f"{axis.extent} elements on axis {axis.number}, expected tiles that can be computed one by one. "
                "Leave the layer to the host"
            )
        return found

    def _cut(self, axis: ResultAxis, size: int, *, exact: bool = False) -> Cut | None:
        return cut(self.layer, axis, size, self.whole, exact=exact)

    def _ways(self, cuts: Sequence[Cut]) -> Iterator[tuple[Tiling, TilingCost]]:
        several = sum(one.count for one in cuts) > len(cuts)
        doubles = (False, True) if several and self.layer.constraint.double_buffer else (False,)
        for order, double in itertools.product(self._orders(cuts), doubles):
            repeated = [key for key, times in _repeats(order, Tiling(order, double)).items() if times > 1]
            for kept in (frozenset[Key](), *(frozenset({key}) for key in repeated)):
                tiling = Tiling(order, double, kept)
                size = self._bytes(tiling)
                if size <= self.region.size_bytes:
                    yield tiling, self._estimate(tiling, size)

    def _orders(self, cuts: Sequence[Cut]) -> Iterator[tuple[Cut, ...]]:
        """Yields loop orders with different costs; loops over a single tile come first."""
        single = tuple(one for one in cuts if one.count == 1)
        wanted = self.layer.constraint.order
        for order in itertools.permutations(one for one in cuts if one.count > 1):
            ranks = [wanted.index(o.axis.number) if o.axis.number in wanted else len(wanted) for o in order]
            if ranks == sorted(ranks):
                yield (*single, *order)

    def _bytes(self, tiling: Tiling) -> int:
        align = self.region.align
        total = 0
        for piece in self.whole.pieces:
            part = _scaled(piece.bytes, (one.share[piece.key] for one in tiling.cuts))
            total += round_up(part, align) * buffers(tiling, piece)
        part = _scaled(self._result_bytes, (one.size / one.axis.extent for one in tiling.cuts))
        return total + round_up(part, align) * (2 if tiling.double else 1)

    @property
    def _result_bytes(self) -> int:
        return self.layer.result.type.bytes

    def _estimate(self, tiling: Tiling, size: int) -> TilingCost:
        constraint, cuts, tiles = self.layer.constraint, tiling.cuts, tiling.tiles
        repeats = _repeats(cuts, tiling)
        traffic, starts = float(self._result_bytes), float(tiles * self._result_runs(cuts))
        for piece in self.whole.pieces:
            key = piece.key
            traffic += piece.bytes * math.prod(one.total[key] for one in cuts) * repeats[key]
            starts += math.prod(one.count for one in cuts if key in one.moves) * repeats[key]
        moving = traffic / self.region.bytes_per_cycle + starts * constraint.transfer_cycles
        computing = self.whole.macs / constraint.macs_per_cycle + tiles * constraint.tile_cycles
        beside = min(moving, computing)
        cycles = moving + computing - (beside - beside / tiles if tiling.double else 0.0)
        return TilingCost(cycles, traffic, size, tiles)

    def _result_runs(self, cuts: Sequence[Cut]) -> int:
        box = self.whole.output
        for one in cuts:
            box = box.on(one.axis.dim, 0, one.size)
        return box.runs(self.layer.result.shape)


def buffers(tiling: Tiling, piece: TilePiece) -> int:
    """Returns the number of buffers of a piece."""
    parts = math.prod(one.count for one in tiling.cuts if piece.key in one.moves)
    return parts if piece.key in tiling.kept else min(parts, 2 if tiling.double else 1)


def _repeats(cuts: Sequence[Cut], tiling: Tiling) -> Mapping[Key, int]:
    """Returns how often each part of a piece is loaded, for loops in the order of `cuts`."""
    times: dict[Key, int] = {}
    for key in cuts[0].share if cuts else ():
        inner = max((depth for depth, one in enumerate(cuts) if key in one.moves), default=0)
        parts = math.prod(one.count for one in cuts if key in one.moves)
        outside = math.prod(one.count for one in cuts[:inner] if key not in one.moves)
        held = parts <= (2 if tiling.double else 1) or key in tiling.kept
        times[key] = 1 if held else outside
    return times


def _scaled(size: int, factors: Iterator[float]) -> int:
    return round(size * math.prod(factors))

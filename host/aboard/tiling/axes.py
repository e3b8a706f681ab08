"""The axes along which a result is cut, and the effect of a cut on the pieces of a tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aboard.errors import TargetError
from aboard.ops.box import Box
from aboard.tiling.tiled_match import Key, TiledMatch, TileFootprint

ROWS, COLUMNS, CHANNELS = 1, 2, 3

#: Numbers of tiles that are tried: all up to the first figure, then each the second figure times the last.
_ALL_COUNTS, _GROWTH = 8, 1.5
#: Largest number of tiles of an axis that an estimate examines.
_SAMPLE = 12


@dataclass(frozen=True)
class ResultAxis:
    """An axis of the result.

    Attributes:
        dim: Index of the axis in the shape.
        number: Index in an NHWC image; 0 for the batch and all axes before rows.
        extent: Elements along the axis.
        sizes: Sizes of tiles to try, in elements, largest first.
    """

    dim: int
    number: int
    extent: int
    sizes: tuple[int, ...]

    def ranges(self, size: int) -> list[tuple[int, int]]:
        """Returns the ranges, (first, end), into which tiles of a size cut the axis."""
        return [(start, min(start + size, self.extent)) for start in range(0, self.extent, size)]


@dataclass(frozen=True)
class Cut:
    """Tiles of one size along one axis; the other axes stay whole.

    Attributes:
        axis: The axis.
        size: Elements of a tile along the axis.
        count: Number of tiles.
        share: For each piece, the largest fraction of the whole piece in the footprint of a tile.
        total: For each piece, the sum of the fractions of all tiles: above 1 if tiles overlap.
        moves: The pieces whose parts differ from tile to tile.
    """

    axis: ResultAxis
    size: int
    count: int
    share: Mapping[Key, float]
    total: Mapping[Key, float]
    moves: frozenset[Key]


def round_up(value: int, step: int) -> int:
    """Returns the smallest multiple of a step that is at least a value."""
    return -(-value // step) * step


def numbers(rank: int) -> tuple[int, ...]:
    """Returns the NHWC number of each axis of a tensor: samples of a matrix count as rows, a vector as channels."""
    if rank >= 3:
        return (0,) * (rank - 3) + (ROWS, COLUMNS, CHANNELS)
    return ((), (CHANNELS,), (ROWS, CHANNELS))[rank]


def axes(layer: TiledMatch) -> list[ResultAxis]:
    """Returns the axes of a layer's result with the sizes that its constraint allows.

    Raises:
        TargetError: The constraint allows no size.
    """
    shape = layer.result.shape
    return [
        ResultAxis(dim, number, extent, _sizes(layer, number, extent))
        for dim, (number, extent) in enumerate(zip(numbers(len(shape)), shape, strict=True))
    ]


def _sizes(layer: TiledMatch, number: int, extent: int) -> tuple[int, ...]:
    constraint = layer.constraint
    if number == 0:
        return (1,)
    multiple = max(constraint.multiples.get(number, 1), 1)
    limit = min(constraint.max_sizes.get(number, extent), extent)
    if limit < extent:
        limit -= limit % multiple
    if limit < 1 or (number not in constraint.axes and limit < extent):
        raise TargetError(
            f"{layer.where}: tiles for {layer.name}, got {extent} elements on axis {number} of the result, expected "
            f"at most {max(limit, 0)}, as this axis is not cut into smaller ones. Use a smaller layer"
        )
    if number not in constraint.axes:
        return (extent,)
    units = round_up(extent, multiple) // multiple
    rounded = (round_up(units, count) // count * multiple for count in _counts(units))
    sizes = {min(size, extent) for size in rounded if min(size, extent) <= limit}
    return tuple(sorted(sizes | {limit}, reverse=True))


def _counts(most: int) -> list[int]:
    counts = list(range(1, min(most, _ALL_COUNTS) + 1))
    while counts[-1] < most:
        counts.append(min(int(counts[-1] * _GROWTH), most))
    return counts


def cut(layer: TiledMatch, axis: ResultAxis, size: int, whole: TileFootprint, *, exact: bool = False) -> Cut | None:
    """Returns the effect of cutting one axis, or None if a tile cannot be computed by itself.

    Args:
        layer: The match to cut.
        axis: The axis.
        size: Elements of a tile along the axis.
        whole: The footprint of the whole result.
        exact: True to examine every tile; False to estimate from a sample.
    """
    ranges = axis.ranges(size)
    boxes = [whole.output.on(axis.dim, start, stop) for start, stop in (ranges if exact else _sample(ranges))]
    found: list[TileFootprint] = [footprint for box in boxes if (footprint := layer.footprint(box)) is not None]
    if len(found) < len(boxes):
        return None
    share: dict[Key, float] = {}
    total: dict[Key, float] = {}
    moves: set[Key] = set()
    for index, piece in enumerate(whole.pieces):
        parts = [footprint.pieces[index] for footprint in found]
        share[piece.key] = max(part.bytes for part in parts) / piece.bytes
        differ = any(part.box != parts[0].box for part in parts)
        total[piece.key] = sum(part.bytes for part in parts) / piece.bytes / len(parts) * len(ranges) if differ else 1.0
        moves |= {piece.key} if differ else set()
    return Cut(axis, size, len(ranges), share, total, frozenset(moves))


def _sample(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns some ranges, including the first two and the last two: tiles at borders have other footprints."""
    if len(ranges) <= _SAMPLE:
        return list(ranges)
    step = -(-(len(ranges) - 4) // (_SAMPLE - 4))
    return [*ranges[:2], *ranges[2:-2:step], *ranges[-2:]]


def tile_boxes(shape: Sequence[int], cuts: Sequence[Cut]) -> list[Box]:
    """Returns the boxes of all tiles.

    Args:
        shape: Shape of the result.
        cuts: Cuts of its axes, from the outermost loop to the innermost.
    """
    boxes = [Box.whole(shape)]
    for one in cuts:
        boxes = [box.on(one.axis.dim, *ends) for box in boxes for ends in one.axis.ranges(one.size)]
    return boxes

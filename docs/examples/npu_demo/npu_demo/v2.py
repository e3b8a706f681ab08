"""Code for v2: a command list that has the device move and compute the tiles that the compiler has cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from aboard.kernels.accelerator import ClaimedRegion, DeviceCode
from aboard.ops.conv2d import attributes, window
from aboard.ops.subgraph import Matched
from aboard.target import Target
from aboard.tiling import Tile, TilePlan, Transfer, runs
from npu_demo import calls, packing
from npu_demo.commands import CONV, END, LOAD, STORE, SYNC, decode

#: What the registers BASE0 to BASE3 point at.
INPUT, RESULT, WEIGHTS, PARAMETERS = range(4)


def generate(target: Target, region: ClaimedRegion) -> DeviceCode:
    """Returns the function that has the device compute a region."""
    (matched,) = region.patterns
    (plan,) = region.tiles
    if plan is None:
        raise ValueError("the column tiles asks for tiles of every match")
    words = commands(matched, plan)
    program = decode(words, int(target.attrs["scratchpad"]))
    constants = packing.weights(matched, transposed=False), packing.parameters(matched)
    return calls.code(target, region, constants, np.array(words, np.uint32), (), int(program.cycles))


def commands(matched: Matched, plan: TilePlan) -> list[int]:
    """Returns the command list for a match.

    With two buffers, each tile is computed while the next is brought in and the one before is taken away; else one
    thing follows the other.
    """
    words = [word for step in (_overlapped if plan.double_buffered else _in_turn)(matched, plan.tiles) for word in step]
    return [*words, END]


def _in_turn(matched: Matched, tiles: Sequence[Tile]) -> Iterator[list[int]]:
    for tile in tiles:
        yield from _loads(matched, tile)
        yield [SYNC, *_conv(matched, tile), SYNC]
        yield from _store(matched, tile)


def _overlapped(matched: Matched, tiles: Sequence[Tile]) -> Iterator[list[int]]:
    yield from _loads(matched, tiles[0])
    for index, tile in enumerate(tiles):
        yield [SYNC, *_conv(matched, tile)]
        if index:
            yield from _store(matched, tiles[index - 1])
        if index + 1 < len(tiles):
            yield from _loads(matched, tiles[index + 1])
    yield [SYNC]
    yield from _store(matched, tiles[-1])


def _loads(matched: Matched, tile: Tile) -> Iterator[list[int]]:
    weights = packing.layer_of(matched).input(1)
    for transfer in tile.loads:
        base = PARAMETERS if transfer.parameters else WEIGHTS if transfer.tensor is weights else INPUT
        yield from _moves(LOAD, base, transfer)


def _store(matched: Matched, tile: Tile) -> Iterator[list[int]]:
    del matched
    yield from _moves(STORE, RESULT, tile.store)


def _moves(command: int, base: int, transfer: Transfer) -> Iterator[list[int]]:
    """Yields the commands for a transfer: one for each group of equal runs at equal distances."""
    place = transfer.offset
    for offset, size, count, stride in runs(transfer):
        yield [command | base << 8, offset, place, size, count, stride]
        place += size * count


def _conv(matched: Matched, tile: Tile) -> list[int]:
    node = packing.layer_of(matched)
    x, weights = tile.place(node.input(0)), tile.place(node.input(1))
    places = [x, weights, tile.place(node.input(1), parameters=True), tile.store]
    depthwise = node.op == "depthwise_conv2d"
    if node.op == "fully_connected":
        inner = node.input(1).shape[1]
        rows = x.box.elements // inner
        images = [(rows, 1), (inner, weights.box.shape[0]), (rows, 1)]
        size, strides = (1, 1), (1, 1)
    else:
        _, rows, cols, channels = x.box.shape
        _, out_rows, out_cols, outputs = tile.output.shape
        images = [(rows, cols), (channels, outputs), (out_rows, out_cols)]
        size, strides = window(node), attributes(node).strides
    top, bottom, left, right = tile.padding
    edges = [*packing.zero_points(matched), *packing.limits(matched)]
    return [
        CONV | depthwise << 8,
        *(transfer.offset for transfer in places),
        *(low | high << 16 for low, high in images),
        _packed([*size, *strides]),
        _packed([top, bottom, left, right]),
        _packed([value & 0xFF for value in edges]),
    ]


def _packed(values: Sequence[int]) -> int:
    """Returns four bytes as a word, the first lowest."""
    return sum(value << 8 * place for place, value in enumerate(values))

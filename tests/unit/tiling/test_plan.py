"""What the planner decides, and what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from aboard.errors import TargetError
from aboard.ir import Attributes, Node, Tensor
from aboard.ops.box import Box
from aboard.ops.softmax import SoftmaxAttributes
from aboard.ops.subgraph import Matched
from aboard.ops.window import Padding
from aboard.target import MemoryRegion, TileConstraint
from aboard.tiling import TilePlan, Transfer
from aboard.tiling.plan import check, plan
from support import tile_layers
from support.tile_executor import Machine, reference
from support.tile_layers import Window

POINTWISE = Window((1, 1))
SAME = Window((3, 3), padding=Padding(1, 1, 1, 1))


def alone(node: Node) -> Matched:
    return Matched("layer", (node,), {"layer": node})


def planned(node: Node, size: int, constraint: TileConstraint | None = None) -> TilePlan:
    return plan(alone(node), constraint or TileConstraint("pad"), MemoryRegion("pad", size), "npu")


def loads(made: TilePlan, tensor: Tensor, *, parameters: bool = False) -> list[Transfer]:
    everything = [transfer for tile in made.tiles for transfer in tile.loads]
    return [t for t in everything if t.tensor is tensor and t.parameters == parameters]


def bytes_of(transfers: Sequence[Transfer]) -> int:
    return sum(transfer.bytes for transfer in transfers)


def test_what_fits_is_one_tile_when_nothing_can_overlap() -> None:
    node = tile_layers.conv((1, 6, 6, 4), 8, SAME)
    made = planned(node, 4096, TileConstraint("pad", double_buffer=False))
    (tile,) = made.tiles
    assert tile.output == Box((0, 0, 0, 0), (1, 6, 6, 8))
    assert [t.tensor for t in tile.loads] == node.inputs
    assert (tile.resident, tile.padding, tile.macs) == ((), (1, 1, 1, 1), 6 * 6 * 8 * 9 * 4)
    operands, result = 144 + 288 + 32, 288
    assert (made.bytes, made.traffic_bytes, made.double_buffered) == (operands + result, operands + result, False)
    assert made.cycles == (operands + result) / 4 + 4 * 16 + 64 + tile.macs


def test_rows_are_cut_with_their_halo() -> None:
    node = tile_layers.conv((1, 8, 8, 4), 4, SAME)
    made = planned(node, 800, TileConstraint("pad", axes=(1,), max_sizes={1: 3}, double_buffer=False))
    rows = [(t.place(node.input(0)).box.start[1], t.place(node.input(0)).box.stop[1]) for t in made.tiles]
    assert rows == [(0, 4), (2, 7), (5, 8)]
    assert [tile.padding for tile in made.tiles] == [(1, 0, 1, 1), (0, 0, 1, 1), (0, 1, 1, 1)]
    assert len(loads(made, node.input(1))) == 1, "weights stay while rows go on"
    assert [tile.place(node.input(1)).offset for tile in made.tiles] == [loads(made, node.input(1))[0].offset] * 3


def test_strides_leave_rows_out_and_padding_below_may_go_unused() -> None:
    node = tile_layers.conv((1, 9, 4, 1), 1, Window((1, 1), strides=(4, 1)))
    made = planned(node, 64, TileConstraint("pad", axes=(1,), max_sizes={1: 1}))
    assert [(t.box.start[1], t.box.stop[1]) for t in loads(made, node.input(0))] == [(0, 1), (4, 5), (8, 9)]


def test_weights_are_cut_by_output_channel_and_the_input_stays() -> None:
    node = tile_layers.dense((1, 100), 64)
    made = planned(node, 2048)
    assert len(made.tiles) > 2
    assert len(loads(made, node.input(0))) == 1
    weights = loads(made, node.input(1))
    assert [t.box.shape[1] for t in weights] == [100] * len(made.tiles)
    assert bytes_of(weights) == 6400
    assert bytes_of(loads(made, node.input(2))) == 64 * 4
    assert made.traffic_bytes == 100 + 6400 + 256 + 64


@pytest.mark.parametrize(("order", "once"), [((3, 1), 1), ((1, 3), 0)])
def test_the_order_of_loops_decides_what_is_moved_once(order: tuple[int, ...], once: int) -> None:
    node = tile_layers.conv((1, 16, 16, 32), 64, POINTWISE, with_bias=False)
    made = planned(node, 3000, TileConstraint("pad", order=order))
    assert bytes_of(loads(made, node.input(once))) == node.input(once).type.bytes
    assert bytes_of(loads(made, node.input(1 - once))) > node.input(1 - once).type.bytes


def test_a_free_order_is_no_worse_than_any_other() -> None:
    node = tile_layers.conv((1, 16, 16, 32), 64, POINTWISE)
    orders: list[tuple[int, ...]] = [(), (1, 3), (3, 1)]
    cycles = [planned(node, 3000, TileConstraint("pad", order=order, macs_per_cycle=64)).cycles for order in orders]
    assert cycles[0] == min(cycles)


def test_what_small_tiles_would_bring_in_again_is_kept_where_there_is_room() -> None:
    node = tile_layers.conv((1, 16, 4, 8), 32, POINTWISE, with_bias=False)
    limits = TileConstraint("pad", max_sizes={1: 4, 3: 8})
    roomy, tight = planned(node, 4096, limits), planned(node, 700, limits)
    assert roomy.traffic_bytes == sum(t.type.bytes for t in (*node.operands, node.output))
    assert tight.traffic_bytes > roomy.traffic_bytes


def test_two_buffers_hide_transfers() -> None:
    node = tile_layers.conv((1, 32, 8, 16), 16, SAME)
    region, figures = 6000, {"macs_per_cycle": 400.0, "tile_cycles": 4.0}
    one = planned(node, region, TileConstraint("pad", double_buffer=False, **figures))  # type: ignore[arg-type]
    two = planned(node, region, TileConstraint("pad", **figures))  # type: ignore[arg-type]
    assert (one.double_buffered, two.double_buffered) == (False, True)
    assert two.cycles < 0.8 * one.cycles
    places = [tile.place(node.input(0)).offset for tile in two.tiles]
    assert all(a != b for a, b in pairwise(places)), "the buffers alternate"


def test_multiples_and_limits_hold_but_for_the_last_tile() -> None:
    node = tile_layers.conv((2, 10, 6, 4), 20, POINTWISE)
    made = planned(node, 600, TileConstraint("pad", axes=(1, 2, 3), multiples={3: 8, 1: 3}, max_sizes={2: 4}))
    assert {tile.output.shape[0] for tile in made.tiles} == {1}
    assert {tile.output.shape[2] for tile in made.tiles} <= {1, 2, 3, 4}
    channels = {(tile.output.stop[3], tile.output.shape[3]) for tile in made.tiles}
    assert all(size % 8 == 0 or stop == 20 for stop, size in channels)


def test_parameters_are_packed_by_output_channel() -> None:
    node = tile_layers.conv((1, 8, 8, 16), 32, SAME)
    made = planned(node, 2500, TileConstraint("pad", parameter_bytes=12))
    packed = loads(made, node.input(1), parameters=True)
    weights = loads(made, node.input(1))
    assert len(weights) > 1
    assert [t.box for t in packed] == [Box(t.box.start[:1], t.box.stop[:1]) for t in weights]
    assert [t.bytes for t in packed] == [12 * t.box.elements for t in packed]
    assert loads(made, node.input(2)) == []
    with pytest.raises(KeyError, match="b"):
        made.tiles[0].place(node.input(2))


def test_packed_weights_have_the_size_the_device_says() -> None:
    node = tile_layers.dense((1, 30), 24, with_bias=False)
    made = planned(node, 500, TileConstraint("pad", weight_bytes=32))
    assert [(t.box.shape[1], t.bytes // t.box.shape[0]) for t in loads(made, node.input(1))] == [(30, 32)] * len(
        made.tiles
    )
    assert made.traffic_bytes == 30 + 24 * 32 + 24


def test_constants_that_are_read_in_their_place_take_no_room() -> None:
    node = tile_layers.conv((1, 4, 4, 64), 64, SAME)
    made = planned(node, 2048, TileConstraint("pad", constants=False, double_buffer=False))
    (tile,) = made.tiles
    assert [transfer.tensor for transfer in tile.loads] == [node.input(0)]
    assert made.traffic_bytes == made.bytes == 2048


def test_a_chain_is_cut_on_its_last_result() -> None:
    first = tile_layers.conv((1, 12, 6, 4), 4, SAME)
    pool = Node("max_pool2d", "pool", [first.output], [tile_layers.int8("p", (1, 6, 3, 4))], _halves())
    matched = Matched("chain", (first, pool), {"conv": first})
    made = plan(matched, TileConstraint("pad", axes=(1,), max_sizes={1: 2}), MemoryRegion("pad", 1000), "npu")
    rows = [(t.place(first.input(0)).box.start[1], t.place(first.input(0)).box.stop[1]) for t in made.tiles]
    assert rows == [(0, 5), (3, 9), (7, 12)]
    assert [tile.padding[:2] for tile in made.tiles] == [(1, 0), (0, 0), (0, 1)]
    x = np.random.default_rng(1).integers(-128, 128, first.input(0).shape).astype(np.int8)
    np.testing.assert_array_equal(
        Machine(made, matched, {first.input(0): x}).run(), reference(matched, {first.input(0): x})
    )


def _halves() -> Attributes:
    return tile_layers.pool("max_pool2d", (1, 12, 6, 4), Window((2, 2), (2, 2))).attrs


def test_offsets_are_aligned_and_plans_repeat() -> None:
    node = tile_layers.conv((1, 9, 5, 3), 7, SAME)
    region = MemoryRegion("pad", 1024, align=32)
    made, again = (plan(alone(node), TileConstraint("pad"), region, "npu") for _ in range(2))
    assert made == again
    assert {t.offset % 32 for tile in made.tiles for t in (*tile.operands, tile.store)} == {0}


def test_the_smallest_tile_that_does_not_fit_is_named() -> None:
    node = tile_layers.conv((1, 12, 24, 64), 64, POINTWISE)
    text = (
        r"^my-npu: scratchpad too small for conv2d layer, got 512 bytes in region sram, expected at least 1,936\. "
        r"Use a device with more memory, or leave the layer to the host$"
    )
    row, weights, parameters, result = 24 * 64, 4 * 64, 4 * 12, 24 * 4
    assert row + weights + parameters + result == 1936
    constraint = TileConstraint("sram", multiples={3: 4}, parameter_bytes=12)
    for function in (plan, check):
        with pytest.raises(TargetError, match=text):
            function(alone(node), constraint, MemoryRegion("sram", 512), "my-npu")


def test_ops_that_cannot_say_what_they_need_are_refused() -> None:
    operand = tile_layers.int8("x", (1, 8))
    node = Node("softmax", "soft", [operand], [tile_layers.int8("y", (1, 8))], SoftmaxAttributes(1.0))
    text = r"npu: tiles for softmax soft, got a match of softmax, expected ops that define what a part of their result"
    with pytest.raises(TargetError, match=text):
        planned(node, 100)


def test_an_axis_that_is_too_long_and_not_cut_is_refused() -> None:
    node = tile_layers.conv((1, 4, 9, 4), 4, POINTWISE)
    text = r"npu: tiles for conv2d layer, got 9 elements on axis 2 of the result, expected at most 8, as this axis is"
    with pytest.raises(TargetError, match=text):
        planned(node, 4096, TileConstraint("pad", max_sizes={2: 8}))
    text = r"got 4 elements on axis 1 of the result, expected at most 0"
    with pytest.raises(TargetError, match=text):
        planned(node, 4096, TileConstraint("pad", max_sizes={1: 2}, multiples={1: 3}))


def test_tiles_of_nothing_but_padding_are_avoided_or_refused() -> None:
    node = tile_layers.conv((1, 4, 4, 2), 2, Window((1, 1), padding=Padding(2, 0, 2, 0)))
    made = planned(node, 4096, TileConstraint("pad", max_sizes={1: 4}, axes=(1,)))
    assert [tile.padding[:2] for tile in made.tiles] == [(2, 0), (0, 2)]
    text = (
        r"npu: tiles for conv2d layer, got tiles of 1 to 1 of 8 elements on axis 1, expected tiles that can be "
        r"computed one by one\. Leave the layer to the host"
    )
    with pytest.raises(TargetError, match=text):
        planned(node, 4096, TileConstraint("pad", max_sizes={1: 1}, axes=(1,)))

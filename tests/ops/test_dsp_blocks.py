"""Four channels of two pixels at once with the DSP extension: the C that says what the assembly computes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Node
from aboard.kernels.contract import Implementation, RowWise
from aboard.kernels.view import View
from aboard.ops import get
from ops.test_overlaps import Trial, check_at
from support import kernel_call, kernel_views
from support.dsp_layers import (
    BLOCKS,
    COLUMNS,
    FEW,
    PLANE,
    TARGET,
    WINOGRAD,
    WINOGRAD_4X4,
    blocks,
    columns,
    extremes,
    few_channels,
    implementations,
    planes,
    refusal,
    tiles,
)
from support.examples import examples
from support.kernel_points import tuned
from support.weighted_models import Layer

OPTIONS = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}


def kernel(node: Node, name: str) -> Implementation:
    return next(each for each in implementations(node) if each.name == name)


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        (BLOCKS, blocks()),
        (COLUMNS, columns()),
        (FEW, few_channels()),
        (PLANE, planes()),
        (WINOGRAD, tiles()),
        (WINOGRAD_4X4, tiles(WINOGRAD_4X4)),
    ],
)
def test_any_view_and_any_rows(name: str, drawn: st.SearchStrategy[Layer]) -> None:
    @settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data(), drawn)
    def compute(data: st.DataObject, layer: Layer) -> None:
        (node,) = load(layer.model(), name="model").nodes
        chosen = data.draw(tuned(kernel(node, name), node, TARGET))
        x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))
        ranges = data.draw(kernel_call.row_ranges(y.rows, 1))
        kernel_views.check(layer, lambda _: chosen, TARGET, x, y, ranges)

    compute()


@pytest.mark.parametrize("name", [BLOCKS, COLUMNS, WINOGRAD, WINOGRAD_4X4])
def test_rolling_buffers_of_rows(name: str) -> None:
    kernel_views.check_rings("CONV_2D", 1, lambda node: kernel(node, name), TARGET)


@pytest.mark.parametrize("name", [WINOGRAD, WINOGRAD_4X4])
@pytest.mark.parametrize("depth", [16, 48])
def test_transformed_values_at_their_ends(depth: int, name: str) -> None:
    layer = extremes(depth)
    x, y = View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)
    kernel_views.check(layer, lambda node: kernel(node, name), TARGET, x, y, [(0, 3), (3, 4), (4, 5)])


def test_tiles_are_not_split_between_images() -> None:
    # An odd number of rows: the last row of an image has no second row, and is not computed with the next image.
    layer = Layer("CONV_2D", (3, 3, 5, 4), (4, 3, 3, 4), (3, 3, 5, 4), 0, OPTIONS)
    x, y = View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)
    for ranges in ([(0, 9)], [(0, 4), (4, 9)]):
        kernel_views.check(layer, lambda node: kernel(node, WINOGRAD), TARGET, x, y, ranges)


def test_work_of_odd_stripes_of_tiles() -> None:
    (node,) = load(Layer("CONV_2D", (1, 8, 8, 4), (4, 3, 3, 4), (1, 8, 8, 4), 0, OPTIONS).model(), name="m").nodes
    tiles_of = kernel(node, WINOGRAD)
    assert [tiles_of.growth(node, rows) for rows in (1, 2, 3, 8)] == [2.0, 1.0, 4 / 3, 1.0]
    assert tiles_of.row_wise(node) == RowWise(2)
    assert tiles_of.overlap(node, [View.whole((1, 8, 8, 4), 1)], [View.whole((1, 8, 8, 4), 1)]) is None


def over_the_operand(layer: Layer, *, overwrites: bool) -> bool:
    """Returns whether results are right whose rows lie exactly over the row above them, two rows at a time."""
    (node,) = load(layer.model(), name="m").nodes
    x, y = View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)
    x = dataclasses.replace(x, offset=x.row_stride)
    plain = kernel(node, WINOGRAD).lower(node, [x, None, None], [y], TARGET)
    tables = [dataclasses.replace(view, table="rows") for view in (x, y)]
    in_blocks = kernel(node, WINOGRAD).lower(node, [tables[0], None, None], [tables[1]], TARGET)
    assert in_blocks.params["overwrites"] == 1
    call = dataclasses.replace(plain, arguments=in_blocks.arguments, params={**plain.params, "overwrites": overwrites})
    ranges = [(row, min(row + 2, y.rows)) for row in range(0, y.rows, 2)]
    constants = [None if t is None else t.data for t in node.inputs[1:]]
    wanted = get(node.op).evaluate(node, [layer.input(), *constants])[0]
    with kernel_call.library([call]) as run:
        try:
            check_at(0, Trial(call, ranges, x, y, "two rows"), run, layer.input(), wanted)
        except AssertionError:
            return False
    return True


@pytest.mark.parametrize("size", [(1, 5), (2, 4), (5, 6), (6, 9), (7, 12)])
@pytest.mark.parametrize("depth", [4, 16, 160])
def test_tiles_over_rows_of_their_operand(size: tuple[int, int], depth: int) -> None:
    layer = Layer(
        "CONV_2D", (1, *size, depth), (depth, 3, 3, depth), (1, *size, depth), 0, OPTIONS, zero_point_out=-128
    )
    assert over_the_operand(layer, overwrites=True)
    assert size[1] <= 4 or size[0] == 1 or not over_the_operand(layer, overwrites=False)


def test_tiles_that_may_not_lie_over_their_operand() -> None:
    shapes = ((4, (1, 6, 6, 8), "SAME"), (4, (1, 4, 4, 4), "VALID"), (164, (1, 6, 6, 164), "SAME"))
    for depth, shape_out, padding in shapes:
        options = {**OPTIONS, "Padding": padding}
        layer = Layer("CONV_2D", (1, 6, 6, depth), (shape_out[3], 3, 3, depth), shape_out, 0, options)
        (node,) = load(layer.model(), name="m").nodes
        assert kernel(node, WINOGRAD).overwrites_rows(node) == ()


def test_transformed_weights_and_scratch() -> None:
    layer = Layer("CONV_2D", (1, 4, 4, 8), (4, 3, 3, 8), (1, 4, 4, 4), 0, OPTIONS, zero_point_out=-128)
    (node,) = load(layer.model(), name="m").nodes
    views = [View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out)]
    call = kernel(node, WINOGRAD).lower(node, [views[0], None, None], [views[1]], TARGET)
    # Two bytes for each of 16 places, and three words for a channel.
    assert call.constants[0].values.nbytes == 4 * 8 * 16 * 2 + 4 * 12
    # Sums of two tiles, eight channels of 16 places of two tiles in halfwords, six pixels of padding.
    assert [scratch.bytes for scratch in call.scratch] == [16 * 2 * 4 * 4 + 8 * 16 * 2 * 2 + 48]
    # The first place is four times the first tap, the last one four times the last tap.
    words = call.constants[0].values[0, : 16 * 4 * 4].reshape(16, 4, 4)
    halves = words.view("<i2").reshape(16, 2, 2, 4, 2)
    weights = layer.weights.astype(np.int64)
    for place, tap in ((0, weights[:, 0, 0]), (15, weights[:, 2, 2])):
        # [tap group, even or odd, channel, two] to [channel, taps].
        got = halves[place].transpose(2, 0, 3, 1).reshape(4, 8)
        np.testing.assert_array_equal(got, 4 * tap)


def test_what_is_left_to_other_kernels() -> None:
    conv = Layer("CONV_2D", (1, 5, 4, 8), (4, 3, 3, 8), (1, 5, 4, 4), 0, OPTIONS)
    changed = dataclasses.replace
    assert refusal(conv, BLOCKS) is None
    assert refusal(conv, COLUMNS) is None
    two = changed(conv, shape_weights=(2, 3, 3, 8), shape_out=(1, 5, 4, 2))
    six = changed(conv, shape_weights=(6, 3, 3, 8), shape_out=(1, 5, 4, 6))
    assert refusal(six, BLOCKS) is None
    assert refusal(six, COLUMNS) == "is for a multiple of four output channels"
    for name in (BLOCKS, COLUMNS):
        assert refusal(two, name) == "is for 3 output channels or more in each group"
        assert refusal(changed(conv, form="float32"), name) == "is for int8"
        assert refusal(changed(conv, spread=1e-5), name) == "results are not smaller than sums"
    grouped = changed(conv, shape_in=(1, 5, 4, 16), shape_weights=(8, 3, 3, 8), shape_out=(1, 5, 4, 8))
    narrow = changed(conv, shape_weights=(4, 3, 2, 8))
    strided = changed(conv, options={**OPTIONS, "StrideW": 2}, shape_out=(1, 5, 2, 4))
    dilated = changed(conv, options={**OPTIONS, "DilationWFactor": 2})
    for layer in (grouped, narrow, strided, dilated):
        assert refusal(layer, BLOCKS) is None
        assert refusal(layer, COLUMNS) == "is for windows three pixels wide, one pixel apart, without groups"
    for shape in ((3, 3, 6), (1, 3, 8)):
        layer = changed(conv, shape_in=(1, 5, 4, shape[2]), shape_weights=(4, *shape))
        assert refusal(layer, COLUMNS) == "is for a multiple of four input channels, and twelve of all rows of a window"


def test_what_is_left_to_kernels_without_tiles() -> None:
    conv, changed = Layer("CONV_2D", (1, 5, 4, 8), (4, 3, 3, 8), (1, 5, 4, 4), 0, OPTIONS), dataclasses.replace
    assert refusal(conv, WINOGRAD) is None
    assert refusal(changed(conv, form="float32"), WINOGRAD) == "is for int8"
    assert refusal(changed(conv, spread=1e-5), WINOGRAD) == "results are not smaller than sums"
    grouped = changed(conv, shape_in=(1, 5, 4, 16), shape_weights=(8, 3, 3, 8), shape_out=(1, 5, 4, 8))
    flat = changed(conv, shape_weights=(4, 1, 3, 8))
    strided = changed(conv, options={**OPTIONS, "StrideH": 2}, shape_out=(1, 3, 4, 4))
    dilated = changed(conv, options={**OPTIONS, "DilationWFactor": 2})
    for layer in (grouped, flat, strided, dilated):
        assert refusal(layer, WINOGRAD) == "is for windows of 3x3, one pixel apart, without dilation and groups"
    shallow = changed(conv, shape_in=(1, 5, 4, 3), shape_weights=(4, 3, 3, 3))
    assert refusal(shallow, WINOGRAD) == "is for four input channels or more"
    assert refusal(changed(conv, shape_weights=(1, 3, 3, 8), shape_out=(1, 5, 4, 1)), WINOGRAD) is None
    # Four times a sum must fit 32 bits.
    assert refusal(changed(conv, outlier=1 << 29, spread=6000.0), WINOGRAD) == "sums may exceed 536870912"
    assert refusal(changed(conv, outlier=1 << 28, spread=6000.0), WINOGRAD) is None


def test_tiles_of_four_by_four() -> None:
    layer = Layer("CONV_2D", (2, 9, 9, 8), (4, 3, 3, 8), (2, 9, 9, 4), 0, OPTIONS, zero_point_out=-128)
    (node,) = load(layer.model(), name="m").nodes
    tiles_of, views = kernel(node, WINOGRAD_4X4), [View.whole(s, 1) for s in (layer.shape_in, layer.shape_out)]
    reason = "is for -opt=speed: its scratch and weights are several times those of other kernels"
    assert tiles_of.refuses(node, TARGET) == reason
    assert tiles_of.row_wise(node) == RowWise(4)
    assert [tiles_of.growth(node, rows) for rows in (1, 4, 6)] == [4.0, 1.0, 4 / 3]
    assert tiles_of.overlap(node, [views[0]], [views[1]]) is None
    assert tiles_of.overwrites_rows(node) == ()
    call = tiles_of.lower(node, [views[0], None, None], [views[1]], TARGET)
    # Two bytes for each of 36 places, and three words for a channel.
    assert call.constants[0].values.nbytes == 4 * 8 * 36 * 2 + 4 * 12
    # Sums of two tiles, eight channels of 36 places of two tiles in halfwords, ten pixels of padding.
    assert [scratch.bytes for scratch in call.scratch] == [36 * 2 * 4 * 4 + 8 * 36 * 2 * 2 + 80]
    # Three rows of tiles of two images, two pairs in a row: as if their results filled them.
    full = Layer("CONV_2D", (2, 12, 16, 8), (4, 3, 3, 8), (2, 12, 16, 4), 0, OPTIONS, zero_point_out=-128)
    (whole,) = load(full.model(), name="m").nodes
    views = [View.whole(s, 1) for s in (full.shape_in, full.shape_out)]
    assert call.loops == kernel(whole, WINOGRAD_4X4).lower(whole, [views[0], None, None], [views[1]], TARGET).loops > 0
    # 64 times a sum must fit 32 bits.
    conv = Layer("CONV_2D", (1, 5, 4, 8), (4, 3, 3, 8), (1, 5, 4, 4), 0, OPTIONS)
    assert refusal(dataclasses.replace(conv, outlier=1 << 25, spread=400.0), WINOGRAD_4X4) == "sums may exceed 33554432"
    assert refusal(dataclasses.replace(conv, outlier=1 << 24, spread=400.0), WINOGRAD_4X4) is None

"""A 1x1 expansion that the depthwise layer computes again: one node against the two that it consists of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import VerifyError
from aboard.kernels.contract import RowWise
from aboard.kernels.portable.expanded_depthwise_conv2d import expansion_growth
from aboard.kernels.view import View
from aboard.ops import expanded_depthwise_conv2d, get
from aboard.ops.box import Box
from aboard.ops.conv2d import ConvAttributes
from aboard.target import Target
from support import expanded_layers, kernel_call
from support.examples import examples
from support.expanded_layers import Pair, kernel, lowered, pair, pairs
from support.weighted_models import ACTIVATIONS

TARGET = Target("c -mcpu=cortex-m0 -runtime=standalone")


@settings(max_examples=examples(60), deadline=None)
@given(pairs())
def test_the_node_means_its_parts(drawn: Pair) -> None:
    node, op = drawn.node(), get("expanded_depthwise_conv2d")
    op.verify(node)
    assert op.infer(node) == [node.output.type]
    constants = [None if tensor is None else tensor.data for tensor in node.inputs[1:]]
    np.testing.assert_array_equal(op.evaluate(node, [drawn.expansion.input(), *constants])[0], drawn.wanted())
    assert op.macs(node) == sum(get(each.op).macs(each) for each in drawn.nodes())


@settings(max_examples=examples(60), deadline=None)
@given(st.data(), pairs())
def test_any_view_and_any_rows(data: st.DataObject, drawn: Pair) -> None:
    shapes = drawn.expansion.shape_in, drawn.depthwise.shape_out
    x, y = (data.draw(kernel_call.views(shape, 1)) for shape in shapes)
    ranges = data.draw(kernel_call.row_ranges(y.rows, 1))
    drawn.check(lowered(drawn, kernel("portable_s8"), x, y, TARGET), x, y, ranges)
    dsp = kernel("dsp_blocks_s8")
    if dsp.refuses(drawn.node(), TARGET) is None:
        drawn.check(lowered(drawn, dsp, x, y, TARGET), x, y, ranges)


@settings(max_examples=examples(40), deadline=None)
@given(st.data(), st.integers(3, 9), st.sampled_from([3, 5, 7]), st.sampled_from([1, 2]), st.sampled_from([4, 8, 12]))
def test_dsp_blocks(data: st.DataObject, size: int, window: int, stride: int, depth: int) -> None:
    drawn = pair((size, size + 1, 8), (window, window), stride, depth=depth)
    activation = {"FusedActivationFunction": data.draw(st.sampled_from(ACTIVATIONS))}
    drawn.expansion.options = {**drawn.expansion.options, **activation}
    drawn.expansion.seed = data.draw(st.integers(0, 1 << 20))
    drawn.expansion.spread = data.draw(st.sampled_from([1.0, 3.0]))
    assert kernel("dsp_blocks_s8").refuses(drawn.node(), TARGET) is None
    x, y = (data.draw(kernel_call.views(s, 1)) for s in (drawn.expansion.shape_in, drawn.depthwise.shape_out))
    call = lowered(drawn, kernel("dsp_blocks_s8"), x, y, TARGET)
    drawn.check(call, x, y, data.draw(kernel_call.row_ranges(y.rows, 1)))


@pytest.mark.parametrize("name", ["portable_s8", "dsp_blocks_s8"])
@pytest.mark.parametrize("height", [1, 2, 3])
@pytest.mark.parametrize(("window", "stride"), [((3, 3), 1), ((3, 3), 2), ((7, 7), 1), ((5, 5), 2), ((1, 1), 2)])
def test_rows_in_a_rolling_buffer(window: tuple[int, int], stride: int, height: int, name: str) -> None:
    drawn = pair((11, 6, 8), window, stride)
    rows = drawn.depthwise.shape_out[1]
    stripes = [(first, min(first + height, rows)) for first in range(0, rows, height)]
    x, y = View.whole(drawn.expansion.shape_in, 1), View.whole(drawn.depthwise.shape_out, 1)
    needed = min(x.rows, window[0] + (height - 1) * stride)
    rolling = replace(x, buffer_rows=needed)
    expanded_layers.check_stripes(drawn, kernel(name), TARGET, rolling, y, stripes)


def test_a_line_buffer_has_four_channels() -> None:
    drawn = pair((5, 5, 200), (7, 7))
    views = View.whole(drawn.expansion.shape_in, 1), View.whole(drawn.depthwise.shape_out, 1)
    (scratch,) = lowered(drawn, kernel("portable_s8"), *views, TARGET).scratch
    assert (scratch.bytes, scratch.persistent) == (7 * 11 * 4, False)


def test_stripes_compute_rows_again() -> None:
    """Six rows with a window of three: rows of padding are not computed."""
    node = pair((6, 6, 8), (3, 3)).node()
    assert [expansion_growth(node, rows) for rows in (6, 3, 2, 1)] == [1.0, 8 / 6, 10 / 6, 16 / 6]
    expansion, depthwise = 6 * 6 * 8 * 8, 6 * 6 * 8 * 9
    grown = (expansion * 16 / 6 + depthwise) / (expansion + depthwise)
    assert kernel("portable_s8").growth(node, 1) == pytest.approx(grown)
    assert expansion_growth(pair((6, 6, 8), (3, 3), 2).node(), 1) == 8 / 6
    assert expanded_depthwise_conv2d.expanded_rows(pair((6, 6, 8), (1, 1), 2).node(), [(0, 3)]) == 3
    assert kernel("portable_s8").row_wise(pair((20, 6, 8), (7, 7)).node()) == RowWise(5)


def test_the_part_of_a_result_depends_on_pixels_and_weights() -> None:
    node = pair((6, 6, 8), (3, 3)).node()
    box = Box.whole(node.output.shape).on(1, 2, 4).on(3, 4, 8)
    found = get(node.op).operand_boxes(node, box)
    assert found is not None
    shapes = [
        None if each is None else tuple(b - a for a, b in zip(each.start, each.stop, strict=True)) for each in found
    ]
    assert shapes == [(1, 4, 6, 8), (4, 1, 1, 8), (4,), (1, 3, 3, 4), (4,)]


def test_only_a_1x1_convolution_is_an_expansion() -> None:
    first, second = pair((6, 6, 8), (3, 3)).nodes()
    node = expanded_depthwise_conv2d.joined(replace(first, attrs=ConvAttributes(strides=(2, 2))), second)
    with pytest.raises(VerifyError, match="expansion, got a window that is not 1x1 with stride 1"):
        get(node.op).verify(node)

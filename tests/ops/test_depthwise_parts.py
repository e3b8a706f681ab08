"""Depthwise layers in portable C whose line buffer would be large: some channels are computed after others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Node
from aboard.kernels import of
from aboard.kernels.contract import Implementation
from aboard.kernels.portable import depthwise_conv2d
from aboard.kernels.portable.depthwise_conv2d import PortableS8
from aboard.kernels.view import View
from aboard.target import Target
from ops.test_overlaps import check
from support import kernel_call, kernel_views
from support.dsp_layers import window_layer
from support.examples import examples
from support.weighted_models import ACTIVATIONS, Layer

TARGET = Target("c -mcpu=cortex-m0 -runtime=standalone")


@contextmanager
def small_buffer(size: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(depthwise_conv2d, "_BUFFER_BYTES", size)
        yield


def kernel(node: Node) -> Implementation:
    (found,) = (each for each in of(node.op) if isinstance(each, PortableS8))
    return found


def channels_of(layer: Layer) -> int:
    """Returns the channels whose rows are copied together."""
    (node,) = load(layer.model(), name="model").nodes
    call = kernel(node).lower(
        node, [View.whole(layer.shape_in, 1), None, None], [View.whole(layer.shape_out, 1)], TARGET
    )
    found = call.params["buffered_channels"]
    assert isinstance(found, int)
    return found


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    window = draw(st.integers(1, 7)), draw(st.integers(2, 7))
    stride, dilation = draw(st.sampled_from([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2)]))
    size = draw(st.integers(1, 9)), draw(st.integers(4, 9)), draw(st.sampled_from([8, 12, 16, 24]))
    layer = window_layer(size, window, stride, dilation)
    multiplier, batch = draw(st.sampled_from([1, 1, 2])), draw(st.integers(1, 2))
    layer.shape_in = (batch, *layer.shape_in[1:])
    layer.shape_out = (batch, *layer.shape_out[1:3], size[2] * multiplier)
    layer.shape_weights = (1, *window, size[2] * multiplier)
    layer.options = {**layer.options, "DepthMultiplier": multiplier}
    layer.options |= {"FusedActivationFunction": draw(st.sampled_from(ACTIVATIONS))}
    layer.per_channel, layer.bias = draw(st.booleans()), draw(st.booleans())
    layer.zero_point_in, layer.seed = draw(st.sampled_from([-128, 0, 3])), draw(st.integers(0, 1 << 20))
    return layer


@settings(max_examples=examples(40), deadline=None)
@given(st.data(), layers(), st.sampled_from([1, 100, 300]))
def test_any_view_and_any_rows(data: st.DataObject, layer: Layer, size: int) -> None:
    x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))
    with small_buffer(size):
        kernel_views.check(layer, kernel, TARGET, x, y, data.draw(kernel_call.row_ranges(y.rows, 1)))


@settings(max_examples=examples(30), deadline=None)
@given(st.data(), layers(), st.integers(1, 3))
def test_rolling_buffers(data: st.DataObject, layer: Layer, height: int) -> None:
    layer.shape_in, layer.shape_out = (1, *layer.shape_in[1:]), (1, *layer.shape_out[1:])
    rows = layer.shape_out[1]
    stripes = [(first, min(first + height, rows)) for first in range(0, rows, height)]
    x, y = View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)
    x = replace(x, buffer_rows=min(x.rows, kernel_views.most_rows_read(layer, stripes)))
    with small_buffer(1):
        kernel_views.check_stripes(layer, kernel, TARGET, x, replace(y, buffer_rows=min(height, y.rows)), stripes)


@settings(max_examples=examples(30), deadline=None)
@given(st.data(), layers())
def test_over_their_operand(data: st.DataObject, layer: Layer) -> None:
    with small_buffer(1):
        check(data, layer.model(), layer.input(), ["portable"])


def test_a_small_line_buffer_has_all_channels() -> None:
    assert channels_of(window_layer((6, 6, 8), (3, 3))) == 8
    with small_buffer(3 * 8 * 8 - 1):
        assert channels_of(window_layer((6, 6, 8), (3, 3))) == 4


def test_channels_that_no_whole_words_divide_stay_together() -> None:
    with small_buffer(1):
        assert channels_of(window_layer((6, 6, 9), (3, 3))) == 9
        assert channels_of(window_layer((6, 6, 9), (3, 3), padding="VALID")) == 9


def test_a_large_layer_needs_little_scratch() -> None:
    layer = window_layer((5, 5, 200), (7, 7))
    (node,) = load(layer.model(), name="model").nodes
    views = View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)
    (scratch,) = kernel(node).lower(node, [views[0], None, None], [views[1]], TARGET).scratch
    assert scratch.bytes == 7 * 11 * 20
    assert not scratch.persistent
    assert kernel(node).runs_in_place(node) == ((0, 0),)

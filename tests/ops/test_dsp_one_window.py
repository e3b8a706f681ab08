"""Depthwise layers of one window in each image: the C that says what the assembly computes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Node
from aboard.kernels import of
from aboard.kernels.arm_dsp.depthwise_one_window import DspOneS8
from aboard.kernels.contract import Implementation
from aboard.kernels.select.strategy import choose
from aboard.kernels.view import View
from aboard.ops import get
from aboard.passes.fuse_padding import FusePadding
from support import kernel_call, kernel_views
from support.dsp_layers import ONE, TARGET, one_window, refusal, window_layer
from support.examples import examples
from support.kernel_call import Placed
from support.tflite_builder import ModelBuilder
from support.weighted_models import Layer


def kernel(node: Node) -> Implementation:
    (found,) = (each for each in of(node.op) if each.name == ONE)
    assert isinstance(found, DspOneS8)
    return found


def whole(rows: int, cols: int, channels: int) -> Layer:
    """Returns a layer whose window is the image."""
    layer = window_layer((rows, cols, channels), (rows, 1), padding="VALID")
    layer.shape_weights, layer.shape_out = (1, rows, cols, channels), (1, 1, 1, channels)
    return layer


def refused(layer: Layer) -> str | None:
    return refusal(layer, ONE)


def frames(taps: int, channels: int) -> Layer:
    return window_layer((taps, 1, channels), (taps, 1), padding="VALID")


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), one_window())
def test_any_view_and_any_rows(data: st.DataObject, layer: Layer) -> None:
    x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))
    ranges = data.draw(kernel_call.row_ranges(y.rows, 1))
    kernel_views.check(layer, kernel, TARGET, x, y, ranges)


@settings(max_examples=examples(20), deadline=None)
@given(one_window(), st.integers(0, 3))
def test_results_overwrite_their_operand(layer: Layer, further: int) -> None:
    (node,) = load(layer.model(), name="model").nodes
    x, y = View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)
    least = kernel(node).overlap(node, [x, None, None], [y])
    assert least is not None
    call = kernel(node).lower(node, [x, None, None], [y], TARGET)
    apart = Placed.of(np.zeros(layer.shape_out, np.int8), y)
    kernel_call.run(call, [Placed.of(layer.input(), x)], [apart], [(0, y.rows)])
    distance = least + further
    memory = np.zeros(distance + x.span + y.span, np.uint8)
    operand = Placed(dataclasses.replace(x, offset=distance), memory)
    operand.pixels()[...] = layer.input().reshape(x.rows, x.cols, x.channels).view(np.uint8)
    over = Placed(y, memory)
    kernel_call.run(call, [operand], [over], [(0, y.rows)])
    np.testing.assert_array_equal(over.pixels(), apart.pixels())


@pytest.mark.parametrize("zero_point", [-128, 5])
@pytest.mark.parametrize(("taps", "channels"), [(2, 4), (5, 7), (9, 12)])
def test_windows_over_the_end_of_a_rolling_buffer(taps: int, channels: int, zero_point: int) -> None:
    """The frames of a stream: each row of the result begins a row later in a buffer of as many rows as the window."""
    layer = window_layer((2 * taps - 1, 1, channels), (taps, 1), padding="VALID")
    layer.zero_point_out = zero_point
    single = dataclasses.replace(frames(taps, channels), zero_point_out=zero_point)
    x = dataclasses.replace(View.whole(layer.shape_in, 1), buffer_rows=taps)
    y = dataclasses.replace(View.whole(layer.shape_out, 1), buffer_rows=1)
    (node,) = load(single.model(), name="model").nodes
    assert kernel(node).refuses(node, TARGET) is None
    kernel_views.check_stripes(layer, kernel, TARGET, x, y, [(row, row + 1) for row in range(taps)])


@pytest.mark.parametrize("zero_point", [-128, 5])
def test_results_that_no_input_changes(zero_point: int) -> None:
    """A channel without weights has its bias as result, any distance from the zero point."""
    layer = dataclasses.replace(frames(6, 13), zero_every=2, zero_point_out=zero_point, spread=0.1)
    x, y = View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)
    kernel_views.check(layer, kernel, TARGET, x, y, [(0, 1)])


def test_dilated_windows_over_padding() -> None:
    """A padding of one pixel around windows of every second pixel stays when it is fused: no tap reads beyond it."""
    build = ModelBuilder().tensor("x", (1, 5, 3, 6), np.int8, scale=0.1, zero_point=-128)
    build.tensor("pads", (4, 2), np.int32, data=[(0, 0), (1, 1), (2, 2), (0, 0)])
    build.tensor("padded", (1, 7, 7, 6), np.int8, scale=0.1, zero_point=-128).op("PAD", ["x", "pads"], ["padded"], {})
    weights = np.random.default_rng(3).integers(-127, 128, (1, 4, 4, 6))
    build.tensor("w", (1, 4, 4, 6), np.int8, scale=0.02, data=weights)
    build.tensor("y", (1, 1, 1, 6), np.int8, scale=0.9, zero_point=5)
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1, "DilationHFactor": 2, "DilationWFactor": 2}
    build.op("DEPTHWISE_CONV_2D", ["padded", "w"], ["y"], {**options, "DepthMultiplier": 1})
    graph = load(build.build(["x"], ["y"]), name="model")
    FusePadding().run(graph)
    node = next(node for node in graph.nodes if node.op == "depthwise_conv2d")
    assert node.input(0).shape == (1, 5, 3, 6)
    assert kernel(node).refuses(node, TARGET) is None
    x, y = View.whole((1, 5, 3, 6), 1), View.whole((1, 1, 1, 6), 1)
    call = kernel(node).lower(node, [x, None, None], [y], TARGET)
    assert call.scratch[0].bytes == 4 * 2 * 2
    values = np.random.default_rng(4).integers(-128, 128, (1, 5, 3, 6)).astype(np.int8)
    result = Placed.of(np.zeros((1, 1, 1, 6), np.int8), y)
    kernel_call.run(call, [Placed.of(values, x)], [result], [(0, 1)])
    constants = [None if tensor is None else tensor.data for tensor in node.inputs[1:]]
    (wanted,) = get(node.op).evaluate(node, [values, *constants])
    np.testing.assert_array_equal(result.values((1, 1, 1, 6), np.dtype(np.int8)), wanted)


def test_both_roundings_are_drawn() -> None:
    forms = set()
    for zero_point in (-128, 5):
        (node,) = load(dataclasses.replace(frames(9, 60), zero_point_out=zero_point).model(), name="model").nodes
        views = View.whole((1, 9, 1, 60), 1), View.whole((1, 1, 1, 60), 1)
        call = kernel(node).lower(node, [views[0], None, None], [views[1]], TARGET)
        forms.add((call.code_variant, call.slow_epilogue))
    assert forms == {("single_rounding=1", False), ("single_rounding=0", True)}


def test_frames_of_streams_are_for_this_kernel() -> None:
    for taps, channels in ((5, 30), (9, 60), (13, 48), (15, 128), (21, 64)):
        (node,) = load(frames(taps, channels).model(), name="model").nodes
        assert choose(node, TARGET).implementation.name == ONE
    (node,) = load(window_layer((28, 1, 128), (5, 1), padding="VALID").model(), name="model").nodes
    assert choose(node, TARGET).implementation.name != ONE


def test_what_is_left_to_other_kernels() -> None:
    assert refused(frames(9, 4)) is None
    assert refused(whole(3, 5, 6)) is None
    assert refused(dataclasses.replace(frames(9, 4), form="float32")) == "is for int8"
    assert refused(frames(9, 3)) == "is for 4 channels or more"
    twice = dataclasses.replace(frames(5, 4), shape_weights=(1, 5, 1, 8), shape_out=(1, 1, 1, 8))
    twice.options = {**twice.options, "DepthMultiplier": 2}
    assert refused(twice) == "is for a depth multiplier of 1"
    assert refused(window_layer((9, 1, 4), (8, 1), padding="VALID")) == "is for one window in each image"
    assert refused(window_layer((1, 2, 4), (1, 2))) == "is for one window in each image"
    wrong = "is for windows of at least 2 taps in the image"
    assert refused(window_layer((1, 1, 4), (3, 3))) == wrong
    assert refused(window_layer((2, 2, 4), (3, 3), stride=2)) is None
    assert refused(dataclasses.replace(frames(6, 4), spread=1e-5)) == "results are not smaller than sums"

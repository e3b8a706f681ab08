"""The C that says what the assembly for the DSP extension computes: any view, any rows, rings, and what is refused."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.kernels.view import View
from support import kernel_call, kernel_views
from support.dsp_layers import DSP, POINTS, TAPS, TARGET, WIDE, implementations, layers, refusal
from support.examples import examples
from support.kernel_points import tuned
from support.weighted_models import Layer

CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")


def check(layer: Layer, x: View, y: View, ranges: list[tuple[int, int]], data: st.DataObject | None = None) -> None:
    """Fails unless every implementation that accepts a layer computes it right, at a point that `data` draws."""
    (node,) = load(layer.model(), name="model").nodes
    for own in implementations(node):
        implementation = own if data is None else data.draw(tuned(own, node, TARGET))
        kernel_views.check(layer, lambda _, chosen=implementation: chosen, TARGET, x, y, ranges)  # type: ignore[misc]


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from(CONVOLUTIONS))
def test_strided_views_and_any_rows(data: st.DataObject, kind: str) -> None:
    layer = data.draw(layers(kind))
    x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))
    check(layer, x, y, data.draw(kernel_call.row_ranges(y.rows, 1)), data)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), layers("FULLY_CONNECTED"))
def test_fully_connected_in_any_rows(data: st.DataObject, layer: Layer) -> None:
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    check(layer, x, y, data.draw(kernel_call.row_ranges(y.rows, 1)), data)


@pytest.mark.parametrize("outlier", [2**30, -(2**30)])
def test_one_scale_and_a_channel_that_saturates(outlier: int) -> None:
    # Its sums are beyond those of SWAR-packed weights, and its result is the same for all inputs.
    layer = Layer("FULLY_CONNECTED", (3, 37), (6, 37), (3, 6), 0, per_channel=False, outlier=outlier)
    assert refusal(layer, DSP) is None
    check(layer, View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1), [(0, 3)])
    coarse = dataclasses.replace(layer, outlier=outlier >> 6, spread=1000)
    assert refusal(coarse, DSP) == "sums may exceed 8388608"


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_rings_of_rows(kind: str, stride: int) -> None:
    kernel_views.check_rings(kind, stride, lambda node: implementations(node)[0], TARGET)


def test_what_is_left_to_other_kernels() -> None:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    conv = Layer("CONV_2D", (1, 5, 4, 4), (4, 3, 3, 4), (1, 5, 4, 4), 0, options)
    depthwise = Layer(
        "DEPTHWISE_CONV_2D", (1, 5, 4, 4), (1, 3, 3, 4), (1, 5, 4, 4), 3, {**options, "DepthMultiplier": 1}
    )
    matrix = Layer("FULLY_CONNECTED", (1, 8), (4, 8), (1, 4), 0)
    changed = dataclasses.replace
    assert refusal(conv, DSP) is None
    assert refusal(changed(conv, spread=1e-5), DSP) == "results are not smaller than sums"
    assert refusal(changed(conv, form="float32"), DSP) == "is for int8"
    assert refusal(matrix, DSP) is None
    assert refusal(changed(conv, zero_point_out=5), WIDE) == "is for results by single roundings"
    long = changed(conv, shape_in=(1, 5, 4, 8), shape_weights=(4, 3, 3, 8))
    assert refusal(long, WIDE) == "is for windows of at most 64 taps"
    assert refusal(conv, POINTS) == "is for windows of 1x1 with a stride of 1, without padding and groups"
    point = changed(conv, shape_in=(1, 5, 7, 8), shape_weights=(4, 1, 1, 8), shape_out=(1, 5, 7, 4))
    point = changed(point, zero_point_out=-128)
    assert refusal(point, POINTS) is None
    three = changed(point, shape_weights=(3, 1, 1, 8), shape_out=(1, 5, 7, 3))
    assert refusal(three, POINTS) == "is for a multiple of four output channels"
    deep = changed(point, shape_in=(1, 5, 7, 12), shape_weights=(4, 1, 1, 12))
    assert refusal(deep, POINTS) == "is for 8 or 16 input channels"
    assert refusal(changed(point, zero_point_out=5), POINTS) == "is for results by single roundings"
    wide = changed(depthwise, shape_weights=(1, 5, 5, 4))
    assert refusal(wide, DSP) == "is for windows of 3x3 without dilation"
    odd = changed(depthwise, options={**depthwise.options, "StrideW": 2}, shape_out=(1, 5, 2, 4))
    assert refusal(odd, DSP) == "is for strides of 1 and 2, the same in both directions"
    narrow = changed(depthwise, shape_in=(1, 5, 4, 3), shape_weights=(1, 3, 3, 3), shape_out=(1, 5, 4, 3))
    assert refusal(narrow, DSP) == "is for a multiple of four channels, each with one result"
    assert refusal(narrow, TAPS) == "is for four channels or more, each with one result"
    five = changed(depthwise, shape_in=(1, 5, 4, 5), shape_weights=(1, 3, 3, 5), shape_out=(1, 5, 4, 5))
    assert refusal(five, TAPS) is None
    assert refusal(wide, TAPS) is None

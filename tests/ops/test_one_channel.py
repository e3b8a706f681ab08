"""Convolutions with one channel in each group: portable C, and the C that says what the assembly computes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.kernels import of
from aboard.kernels.contract import Implementation
from aboard.kernels.view import View
from aboard.target import Target
from support import kernel_call, kernel_views
from support.examples import examples
from support.weighted_models import ACTIVATIONS, Layer, window_out

TARGETS = {
    "portable_one_s8": Target("c -mcpu=cortex-m0 -runtime=standalone"),
    "dsp_one_s8": Target("c -mcpu=cortex-m4 -runtime=standalone"),
}


def implementation(name: str) -> Implementation:
    return next(each for each in of("conv2d") if each.name == name)


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    """Draws a convolution of one channel in each group: any window, strides, dilations, batch and padding."""
    padding, window = draw(st.sampled_from(["SAME", "VALID"])), [draw(st.integers(1, 4)) for _ in range(2)]
    strides, dilations = [draw(st.integers(1, 3)) for _ in range(2)], [draw(st.integers(1, 2)) for _ in range(2)]
    if max(strides) > 1:
        dilations = [1, 1]
    size = [draw(st.integers((n - 1) * d + 1, n * d + 5)) for n, d in zip(window, dilations, strict=True)]
    out = [window_out(*axis, padding) for axis in zip(size, window, strides, dilations, strict=True)]
    batch, groups, depth = draw(st.integers(1, 2)), draw(st.sampled_from([1, 1, 2, 5])), draw(st.integers(1, 20))
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    options |= {"DilationHFactor": dilations[0], "DilationWFactor": dilations[1]}
    options |= {"FusedActivationFunction": draw(st.sampled_from(ACTIVATIONS))}
    shapes = (batch, *size, depth * groups), (groups, *window, depth), (batch, *out, groups)
    zero_points = draw(st.sampled_from([-128, 0, 50])), draw(st.sampled_from([-128, 5]))
    return Layer(
        "CONV_2D", *shapes, 0, options, zero_point_in=zero_points[0], zero_point_out=zero_points[1],
        per_channel=draw(st.booleans()), seed=draw(st.integers(0, 2**20)),
    )  # fmt: skip


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), layers())
def test_any_view_and_any_rows(name: str, data: st.DataObject, layer: Layer) -> None:
    (node,) = load(layer.model(), name="model").nodes
    if implementation(name).refuses(node, TARGETS[name]) is None:
        x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))
        ranges = data.draw(kernel_call.row_ranges(y.rows, 1))
        kernel_views.check(layer, lambda _: implementation(name), TARGETS[name], x, y, ranges)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("stride", [1, 2])
def test_rings_of_rows(name: str, stride: int) -> None:
    options = {"Padding": "SAME", "StrideH": stride, "StrideW": stride}
    out = (1, -(-6 // stride), -(-5 // stride), 1)
    layer = Layer("CONV_2D", (1, 6, 5, 7), (1, 3, 3, 7), out, 0, options)
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    stripes = [(row, row + 1) for row in range(out[1])]
    kernel_views.check(layer, lambda _: implementation(name), TARGETS[name], x, y, stripes)


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_left_to_other_kernels(name: str) -> None:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    two = Layer("CONV_2D", (1, 4, 4, 6), (2, 1, 1, 6), (1, 4, 4, 2), 0, options)
    (node,) = load(two.model(), name="model").nodes
    assert implementation(name).refuses(node, TARGETS[name]) == "is for one channel in each group"
    whole = Layer("CONV_2D", (1, 4, 4, 6), (1, 1, 1, 6), (1, 4, 4, 1), 0, options, form="float32")
    (node,) = load(whole.model(), name="model").nodes
    assert implementation(name).refuses(node, TARGETS[name]) == "is for int8"

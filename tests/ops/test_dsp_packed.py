"""Depthwise windows by products of two pixels and two taps: the C that says what the assembly computes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Node
from aboard.kernels import of
from aboard.kernels.arm_dsp.depthwise_packed import DspPackedS8
from aboard.kernels.contract import Implementation
from aboard.kernels.select.strategy import choose
from aboard.kernels.view import View
from support import kernel_call, kernel_views
from support.dsp_layers import DSP, PACKED, TARGET, packed, refusal, window_layer
from support.examples import examples
from support.kernel_points import tuned
from support.weighted_models import Layer


def kernel(node: Node) -> Implementation:
    (found,) = (each for each in of(node.op) if each.name == PACKED)
    assert isinstance(found, DspPackedS8)
    return found


def whole(layer: Layer) -> tuple[View, View]:
    return View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), packed())
def test_any_view_and_any_rows(data: st.DataObject, layer: Layer) -> None:
    (node,) = load(layer.model(), name="model").nodes
    chosen = data.draw(tuned(kernel(node), node, TARGET))
    x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))
    ranges = data.draw(kernel_call.row_ranges(y.rows, 1))
    kernel_views.check(layer, lambda _: chosen, TARGET, x, y, ranges)


@dataclass
class Extremes(Layer):
    """A layer of weights and inputs at the ends of their ranges.

    Attributes:
        weight: All weights of even channels; those of odd channels have the other sign.
        value: Most of the inputs.
    """

    weight: int = 127
    value: int = 127

    @property
    def weights(self) -> np.ndarray:
        sign = np.where(np.arange(self.shape_weights[3]) % 2, -1, 1)
        return np.broadcast_to(np.clip(self.weight * sign, -128, 127), self.shape_weights).astype(np.int8)

    @property
    def scale_out(self) -> float:
        taps = np.prod(self.shape_weights) / self.channels
        return float(self.scale_in * self._positive_scales.mean() * 128 * taps)

    def input(self) -> np.ndarray:
        values = np.full(self.shape_in, self.value)
        return np.where(np.random.default_rng(1).random(self.shape_in) < 0.01, -1 - self.value, values).astype(np.int8)


@pytest.mark.parametrize(("value", "zero_point"), [(-128, 127), (127, -128)])
@pytest.mark.parametrize(("window", "weight"), [(8, -128), (5, 127)])
def test_the_ends_of_fields(window: int, weight: int, value: int, zero_point: int) -> None:
    layer = Extremes(**vars(window_layer((12, 13, 3), (window, window))), weight=weight, value=value)
    layer.zero_point_in = zero_point
    (node,) = load(layer.model(), name="model").nodes
    assert kernel(node).refuses(node, TARGET) is None
    kernel_views.check(layer, kernel, TARGET, *whole(layer), [(0, 12)])


@pytest.mark.parametrize("stride", [1, 2])
def test_rings_of_rows(stride: int) -> None:
    kernel_views.check_rings("DEPTHWISE_CONV_2D", stride, kernel, TARGET)


@pytest.mark.parametrize(
    ("window", "stride", "dilation", "depth", "size", "wanted"),
    [
        (5, 1, 1, 24, 14, PACKED),
        (7, 1, 1, 16, 14, PACKED),
        (5, 2, 1, 48, 14, PACKED),
        (3, 1, 2, 16, 14, PACKED),
        (3, 1, 1, 33, 14, PACKED),
        (3, 1, 1, 24, 14, DSP),
        (3, 1, 1, 24, 6, DSP),
    ],
)
def test_who_computes_which_windows(
    window: int, stride: int, dilation: int, depth: int, size: int, wanted: str
) -> None:
    layer = window_layer((size, size, depth), (window, window), stride, dilation)
    (node,) = load(layer.model(), name="model").nodes
    assert choose(node, TARGET).implementation.name == wanted


def test_a_strip_of_a_whole_image_runs_in_place() -> None:
    (node,) = load(window_layer((6, 6, 8), (5, 5)).model(), name="model").nodes
    assert kernel(node).runs_in_place(node) == ((0, 0),)
    (node,) = load(window_layer((20, 20, 8), (5, 5)).model(), name="model").nodes
    assert kernel(node).runs_in_place(node) == ()
    # One row of 5x5 windows copies five rows, two copy six, a strip of seven eleven.
    assert kernel(node).growth(node, 20) == 1.0
    assert kernel(node).growth(node, 1) > kernel(node).growth(node, 2) > 1.0


def test_what_is_left_to_other_kernels() -> None:
    assert refusal(window_layer((6, 6, 4), (5, 5)), PACKED) is None
    assert refusal(dataclasses.replace(window_layer((6, 6, 4), (5, 5)), form="float32"), PACKED) == "is for int8"
    assert refusal(window_layer((6, 6, 4), (5, 1)), PACKED) == "is for windows of two columns or more"
    assert refusal(window_layer((9, 9, 4), (5, 5), 3), PACKED) == "is for strides of 1 and 2 in a row"
    assert refusal(window_layer((9, 2, 4), (5, 5)), PACKED) == "is for rows of 3 results or more"
    assert refusal(window_layer((9, 5, 4), (3, 3), 1, 2), PACKED) == "is for rows of 6 results or more"
    twice = dataclasses.replace(window_layer((6, 6, 4), (5, 5)), shape_weights=(1, 5, 5, 8), shape_out=(1, 6, 6, 8))
    twice.options = {**twice.options, "DepthMultiplier": 2}
    assert refusal(twice, PACKED) == "is for one result of each channel"
    many = Extremes(**vars(window_layer((12, 13, 3), (9, 9))))
    assert refusal(many, PACKED) == "sums may exceed fields of 21 bits"
    assert refusal(dataclasses.replace(window_layer((6, 6, 4), (5, 5)), spread=1e-5), PACKED) is not None

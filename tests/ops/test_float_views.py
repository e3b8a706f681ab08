"""The C that stands beside assembly for blocks of pixels of float32: the bits of portable C, on any views and rows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aboard
from aboard.importers import load
from aboard.kernels.contract import Implementation
from aboard.kernels.select import strategy
from aboard.kernels.view import View
from aboard.target import Target
from support import float_layers, kernel_call, sanitized
from support.examples import examples
from support.float_layers import DSP, KINDS, MVE, PORTABLE, TARGETS, implementation, refusal
from support.kernel_call import Placed
from support.weighted_models import Layer

SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck))
FLOAT = np.dtype(np.float32)
Before = Callable[[int, int], None]


def results(
    layer: Layer, name: str, x: Placed, y: View, ranges: list[tuple[int, int]], before: Before | None = None
) -> np.ndarray:
    """Returns what a kernel computes, range by range; fails where it writes between the pixels of the result."""
    (node,) = load(layer.model(), name="model").nodes
    target = TARGETS.get(name, TARGETS[DSP])
    call = implementation(node, name).lower(node, [x.view, None, None], [y], target)
    result = Placed.of(np.zeros(layer.shape_out, FLOAT), y)
    kernel_call.run(call, [x], [result], ranges, before)
    assert result.gaps_are_untouched()
    return result.values(layer.shape_out, FLOAT)


def plain(layer: Layer, name: str = PORTABLE) -> np.ndarray:
    """Returns what a kernel computes of tensors that are stored whole, in one call."""
    x, y = View.whole(layer.shape_in, 4), View.whole(layer.shape_out, 4)
    return results(layer, name, Placed.of(layer.input(), x), y, [(0, y.rows)])


@settings(SETTINGS, max_examples=examples(60))
@given(st.data(), st.sampled_from(KINDS), st.sampled_from([DSP, MVE]))
def test_the_bits_of_portable_c(data: st.DataObject, kind: str, name: str) -> None:
    layer = data.draw(float_layers.layers(kind))
    assert refusal(layer, name) is None
    shapes = layer.shape_in, layer.shape_out
    whole = kind == "FULLY_CONNECTED"
    x, y = (View.whole(s, 4) if whole else data.draw(kernel_call.views(s, 4)) for s in shapes)
    got = results(layer, name, Placed.of(layer.input(), x), y, data.draw(kernel_call.row_ranges(y.rows, 1)))
    np.testing.assert_array_equal(got.view(np.uint32), plain(layer).view(np.uint32))


@pytest.mark.parametrize("name", [DSP, MVE])
@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_rings_of_rows(kind: str, name: str) -> None:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    layer = Layer(kind, (1, 9, 6, 4), (4, 3, 3, 4), (1, 9, 6, 4), 0, options, form="float32")
    if kind != "CONV_2D":
        layer = replace(layer, shape_weights=(1, 3, 3, 4), axis=3, options={**options, "DepthMultiplier": 1})
    x, y = replace(View.whole(layer.shape_in, 4), buffer_rows=4), View.whole(layer.shape_out, 4)
    ring, rows = np.zeros(4 * x.row_stride, np.uint8), layer.input().reshape(9, -1).view(np.uint8)

    def produce(first: int, last: int) -> None:
        """Writes the rows that row `first` needs."""
        assert last == first + 1
        for row in range(max(first - 1, 0), min(first + 2, 9)):
            ring.reshape(4, -1)[row % 4] = rows[row]

    got = results(layer, name, Placed(x, ring), y, [(r, r + 1) for r in range(9)], produce)
    np.testing.assert_array_equal(got, plain(layer))


@settings(SETTINGS, max_examples=examples(20))
@given(st.sampled_from(KINDS).flatmap(float_layers.layers), st.sampled_from([DSP, MVE]))
def test_sanitized(layer: Layer, name: str) -> None:
    def always(explained: strategy.Explanation) -> Implementation:
        return implementation(explained.node, name)

    with strategy.forced(always), tempfile.TemporaryDirectory() as folder:
        module = aboard.compile(layer.model(), target=str(TARGETS[name]), name="model")
        assert {node.implementation for node in module.manifest.nodes} == {name}
        got = sanitized.run(module, {module.manifest.inputs[0].name: layer.input()}, Path(folder))
    np.testing.assert_array_equal(next(iter(got.values())).reshape(layer.shape_out), plain(layer))


def convolution(kind: str = "CONV_2D", channels: int = 4, multiplier: int = 1) -> Layer:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    if kind == "CONV_2D":
        return Layer(kind, (1, 3, 3, 4), (4, 3, 3, 4), (1, 3, 3, 4), 0, options, form="float32")
    options["DepthMultiplier"] = multiplier
    shapes = (1, 3, 3, channels // multiplier), (1, 3, 3, channels), (1, 3, 3, channels)
    return Layer(kind, *shapes, 3, options, form="float32")


@pytest.mark.parametrize(
    ("layer", "target", "reason"),
    [
        (convolution(), "c -mcpu=cortex-m4+nofp", "is for cores with an FPU"),
        (convolution("DEPTHWISE_CONV_2D", 6), "c -mcpu=cortex-m4", "is for a depth multiplier of 1"),
        (convolution("DEPTHWISE_CONV_2D", 8, 2), "c -mcpu=cortex-m4", "is for a depth multiplier of 1"),
        (replace(convolution(), form="int8"), "c -mcpu=cortex-m4", "is for float32"),
    ],
)
def test_what_is_refused(layer: Layer, target: str, reason: str) -> None:
    assert reason in str(refusal(layer, DSP, Target(target)))


class Infinite(Layer):
    """A layer with an infinite weight, whose product with a zero is no number."""

    @property
    def weights(self) -> np.ndarray:
        weights = super().weights
        weights.flat[0] = np.inf
        return weights


def test_infinite_weights_are_for_windows_without_padding() -> None:
    layer = convolution()
    padded = Infinite(layer.kind, layer.shape_in, layer.shape_weights, layer.shape_out, 0, layer.options, "float32")
    assert refusal(padded, DSP) == "is for finite weights where there is padding"
    inside = replace(padded, options={**layer.options, "Padding": "VALID"}, shape_out=(1, 1, 1, 4))
    assert refusal(inside, DSP) is None


def test_the_last_pixels_of_a_stripe_cost_more() -> None:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    layer = Layer("CONV_2D", (1, 4, 6, 4), (4, 3, 3, 4), (1, 4, 6, 4), 0, options, form="float32")
    (node,) = load(layer.model(), name="model").nodes
    # Six pixels are a block and two pixels of 1.3 each; twelve are three blocks.
    assert implementation(node, DSP).growth(node, 1) == pytest.approx((4 + 2 * 1.3) / 6)
    assert implementation(node, DSP).growth(node, 2) == 1.0

"""Taps that only read padding, and the windows without them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Graph
from aboard.ops.conv2d import attributes
from aboard.ops.window import Padding
from aboard.passes.trim_windows import TrimWindows
from support import one_op
from support.examples import examples
from support.rewrites import check_rewrite
from support.single_layers import SingleLayer, model

DEPTHWISE = SingleLayer("depthwise_conv2d", 8, 8, (1, 1), (3, 3))
CONVOLUTION = SingleLayer("conv2d", 6, 5, (1, 1), (3, 3))


def trimmed(layer: SingleLayer) -> Graph:
    return check_rewrite(model([layer]), TrimWindows())


@pytest.mark.parametrize("layer", [DEPTHWISE, CONVOLUTION, replace(CONVOLUTION, groups=2, out_channels=4)])
@pytest.mark.parametrize("stride", [1, 2])
def test_one_pixel_has_one_tap(layer: SingleLayer, stride: int) -> None:
    node = trimmed(replace(layer, stride=(stride, stride))).nodes[0]
    assert node.input(1).shape[1:3] == (1, 1)
    assert attributes(node).padding == Padding()


def test_a_small_image_loses_the_taps_outside() -> None:
    node = trimmed(replace(CONVOLUTION, size=(2, 3), kernel=(7, 5))).nodes[0]
    assert node.input(1).shape[1:3] == (3, 5)
    assert attributes(node).padding == Padding(1, 2, 1, 2)


def test_taps_far_apart() -> None:
    node = trimmed(replace(DEPTHWISE, size=(4, 2), dilation=(5, 1))).nodes[0]
    assert node.input(1).shape[1:3] == (1, 3)
    assert attributes(node).padding == Padding(0, 1, 0, 1)
    assert attributes(node).dilations == (1, 1)


@pytest.mark.parametrize("layer", [replace(DEPTHWISE, size=(2, 2)), replace(CONVOLUTION, padding="valid", size=(3, 3))])
def test_windows_whose_taps_all_read_pixels_stay(layer: SingleLayer) -> None:
    before = load(model([layer]))
    after = trimmed(layer)
    assert after.nodes[0].input(1).shape == before.nodes[0].input(1).shape
    assert TrimWindows().pending(before) is None


def layers() -> st.SearchStrategy[SingleLayer]:
    """Draws convolutions of small images with large windows."""
    few = st.tuples(st.integers(1, 4), st.integers(1, 4))
    return st.builds(
        SingleLayer,
        op=st.sampled_from(["conv2d", "depthwise_conv2d"]),
        in_channels=st.just(4),
        out_channels=st.just(4),
        size=few,
        kernel=st.tuples(st.integers(1, 9), st.integers(1, 9)),
        stride=few,
        dilation=few,
        batch=st.integers(1, 2),
        input_zero_point=st.integers(-128, 127),
        output_zero_point=st.sampled_from([-128, 3]),
    )


@settings(max_examples=examples(60), deadline=None)
@given(layers())
def test_results_are_those_of_tflite_micro(layer: SingleLayer) -> None:
    graph = trimmed(layer)
    assert graph.nodes[0].output.shape == (layer.batch, *layer.results, 4)
    image = np.random.default_rng(1).integers(-128, 128, (layer.batch, *layer.size, 4)).astype(np.int8)
    one_op.check_equal(model([layer]), image)

"""Random layers that kernels for the DSP extension take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Node
from aboard.kernels import of
from aboard.kernels.contract import Implementation
from aboard.target import Target
from support.weighted_models import ACTIVATIONS, Layer, window_out

DSP, WIDE, TAPS, POINTS = "dsp_s8", "dsp_wide_s8", "dsp_taps_s8", "dsp_points_s8"
BLOCKS, COLUMNS = "dsp_blocks_s8", "dsp_columns_s8"
WINOGRAD, WINOGRAD_4X4 = "dsp_winograd_s8", "dsp_winograd_4x4_s8"
LARGE, ONE, PACKED, COLUMN = "dsp_large_s8", "dsp_one_s8", "dsp_packed_s8", "dsp_column_s8"
FEW, HIGH, PLANE = "dsp_few_s8", "dsp_high_s8", "dsp_plane_s8"
NAMES = (DSP, WIDE, TAPS, POINTS, BLOCKS, COLUMNS, WINOGRAD, WINOGRAD_4X4, LARGE, ONE, PACKED, COLUMN, FEW, HIGH, PLANE)

#: Kernels for `-opt=speed` alone.
OF_SPEED = (WINOGRAD_4X4, HIGH)
TARGET = Target("c -mcpu=cortex-m4 -runtime=standalone")


@dataclass
class LargeSums(Layer):
    """A layer whose sums pass 2^23, which weights of two channels in a halfword do not take at once.

    Attributes:
        least: Smallest weight and input; the largest are 127. With 127 sums are the largest.
    """

    least: int = -127

    @property
    def weights(self) -> np.ndarray:
        return np.random.default_rng(self.seed + 1).integers(self.least, 128, self.shape_weights).astype(np.int8)

    @property
    def scale_out(self) -> float:
        taps = np.prod(self.shape_weights) / self.channels
        return float(self.spread * self.scale_in * self._positive_scales.mean() * 64 * taps)

    def input(self) -> np.ndarray:
        rng = np.random.default_rng(self.seed + 3)
        values = rng.integers(self.least, 128, self.shape_in)
        return np.where(rng.random(self.shape_in) < 0.01, -128, values).astype(np.int8)


@dataclass
class Extremes(Layer):
    """A layer of the smallest and largest weights and inputs, of one sign in places: transformed ones are largest."""

    @property
    def weights(self) -> np.ndarray:
        return _ends(self.shape_weights, self.seed + 1, -127)

    @property
    def scale_out(self) -> float:
        taps = np.prod(self.shape_weights) / self.channels
        return float(self.scale_in * self._positive_scales.mean() * 64 * taps)

    def input(self) -> np.ndarray:
        return _ends(self.shape_in, self.seed + 3, -128)


def _ends(shape: Sequence[int], seed: int, least: int) -> np.ndarray:
    """Returns the largest or the smallest value, by channel of the last axis or else by element."""
    rng = np.random.default_rng(seed)
    single, channels = rng.random(shape) < 0.5, rng.random(shape[-1]) < 0.5
    by_channel = np.arange(shape[-1]) % 2 == 0
    return np.where(np.where(by_channel, channels, single), 127, least).astype(np.int8)


def extremes(depth: int) -> Extremes:
    """Returns a 3x3 convolution of an image of 5x6 pixels to 8 channels."""
    shapes = (1, 5, 6, depth), (8, 3, 3, depth), (1, 5, 6, 8)
    return Extremes("CONV_2D", *shapes, 0, {"Padding": "SAME", "StrideH": 1, "StrideW": 1})


@st.composite
def large_sums(draw: st.DrawFn) -> LargeSums:
    """Draws a layer of many taps: any number of channels, windows of whole words and others, groups, strides."""
    if draw(st.booleans()):
        inputs, outputs, samples = draw(st.integers(1200, 2100)), draw(st.integers(1, 9)), draw(st.integers(1, 2))
        layer = LargeSums("FULLY_CONNECTED", (samples, inputs), (outputs, inputs), (samples, outputs), 0)
    else:
        window, stride, groups = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
        depth = draw(st.integers(640 // window**2 + 1, 680 // window**2 + 4))
        size, channels = (draw(st.integers(3, 5)), draw(st.integers(3, 6))), draw(st.sampled_from([1, 3, 4, 6, 13]))
        out = [window_out(n, window, stride, 1, "SAME") for n in size]
        shapes = (1, *size, depth * groups), (channels * groups, window, window, depth), (1, *out, channels * groups)
        layer = LargeSums("CONV_2D", *shapes, 0, {"Padding": "SAME", "StrideH": stride, "StrideW": stride})
    layer.least = draw(st.sampled_from([100, 127] if layer.kind == "CONV_2D" else [-127, 0, 100, 127]))
    layer.per_channel, layer.bias = draw(st.booleans()), draw(st.booleans())
    layer.zero_point_in, layer.zero_point_out = draw(st.sampled_from([-128, 0, 50])), draw(st.sampled_from([-128, 5]))
    layer.seed = draw(st.integers(0, 2**20))
    layer.options = {**layer.options, "FusedActivationFunction": draw(st.sampled_from(ACTIVATIONS))}
    return layer


def implementations(node: Node) -> list[Implementation]:
    """Returns the implementations with the DSP extension that accept a node."""
    return [i for i in of(node.op) if i.name in NAMES and i.refuses(node, _target(i.name)) is None]


def _target(name: str) -> Target:
    """Returns the target of a kernel, some of which are for `-opt=speed` alone."""
    return TARGET.overridden({"opt": "speed"}) if name in OF_SPEED else TARGET


def refusal(layer: Layer, name: str) -> str | None:
    """Returns why a layer is not for an implementation; None when it is."""
    (node,) = load(layer.model(), name="model").nodes
    return next(i for i in of(node.op) if i.name == name).refuses(node, _target(name))


def window_layer(
    size: tuple[int, int, int], window: tuple[int, int], stride: int = 1, dilation: int = 1, padding: str = "SAME"
) -> Layer:
    """Returns a depthwise layer over rows, columns and channels."""
    *image, depth = size
    out = [window_out(n, taps, stride, dilation, padding) for n, taps in zip(image, window, strict=True)]
    options = {"Padding": padding, "StrideH": stride, "StrideW": stride, "DepthMultiplier": 1}
    options |= {"DilationHFactor": dilation, "DilationWFactor": dilation}
    return Layer("DEPTHWISE_CONV_2D", (1, *size), (1, *window, depth), (1, *out, depth), 3, options)


@st.composite
def packed(draw: st.DrawFn) -> Layer:
    """Draws a layer that `dsp_packed_s8` takes: any window, stride, dilation, number of channels and epilogue."""
    window = draw(st.integers(1, 9)), draw(st.integers(2, 9))
    stride, dilation = draw(st.sampled_from([(1, 1), (1, 1), (2, 1), (1, 2), (1, 3)]))
    least = 1 if (padding := draw(st.sampled_from(["SAME", "VALID"]))) == "SAME" else (max(window) - 1) * dilation + 1
    size = draw(st.integers(least, least + 8)), draw(st.integers(least + 6, least + 20))
    layer = window_layer((*size, draw(st.integers(1, 9))), window, stride, dilation, padding)
    batch = draw(st.integers(1, 2))
    layer.shape_in, layer.shape_out = (batch, *layer.shape_in[1:]), (batch, *layer.shape_out[1:])
    layer = _finished(draw, layer)
    assume(refusal(layer, PACKED) is None)
    return layer


@st.composite
def one_column(draw: st.DrawFn) -> Layer:
    """Draws a layer that `dsp_column_s8` takes: windows of any height, any number of results, channels and columns."""
    taps, results = draw(st.integers(2, 32)), draw(st.integers(1, 20))
    size = results + taps - 1, draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 3, 4, 5, 8, 16, 32]))
    layer = window_layer(size, (taps, 1), padding="VALID")
    batch = draw(st.integers(1, 2))
    layer.shape_in, layer.shape_out = (batch, *layer.shape_in[1:]), (batch, *layer.shape_out[1:])
    layer = _finished(draw, layer)
    assume(refusal(layer, COLUMN) is None)
    return layer


@st.composite
def one_window(draw: st.DrawFn) -> Layer:
    """Draws a depthwise layer that `dsp_one_s8` takes: one window, as large as an image, larger or smaller."""
    rows, cols = draw(st.sampled_from([(1, 40), (2, 7), (6, 1)]).flatmap(lambda most: st.tuples(*map(_upto, most))))
    if draw(st.booleans()):
        rows, cols = cols, rows
    dilation, padding = draw(st.sampled_from([1, 1, 1, 2])), draw(st.sampled_from(["SAME", "VALID"]))
    reach = (rows - 1) * dilation + 1, (cols - 1) * dilation + 1
    if padding == "VALID":
        # Pixels behind the only window.
        stride = 1 if dilation > 1 else draw(st.integers(1, 3))
        size = [n + draw(st.integers(0, stride - 1)) for n in reach]
    else:
        size = [draw(st.integers(1, n)) for n in reach]
        stride = max(size)
        dilation = 1 if stride > 1 else dilation
    layer = window_layer((*size, draw(st.integers(4, 13))), (rows, cols), stride, dilation, padding)
    batch = draw(st.integers(1, 3))
    layer.shape_in, layer.shape_out = (batch, *layer.shape_in[1:]), (batch, *layer.shape_out[1:])
    layer = _finished(draw, layer)
    assume(refusal(layer, ONE) is None)
    return layer


def _upto(most: int) -> st.SearchStrategy[int]:
    return st.integers(1, most)


@st.composite
def _convolution(draw: st.DrawFn) -> Layer:
    padding, window = draw(st.sampled_from(["SAME", "VALID"])), [draw(st.integers(1, 4)) for _ in range(2)]
    strides, dilations = [draw(st.integers(1, 2)) for _ in range(2)], [draw(st.sampled_from([1, 1, 1, 2]))] * 2
    if max(strides) > 1:
        dilations = [1, 1]
    size = [draw(st.integers((n - 1) * d + 1, n * d + 6)) for n, d in zip(window, dilations, strict=True)]
    out = [window_out(*axis, padding) for axis in zip(size, window, strides, dilations, strict=True)]
    batch, groups = draw(st.integers(1, 2)), draw(st.sampled_from([1, 1, 1, 2]))
    # Groups of one channel are a depthwise layer.
    depth, channels = draw(st.sampled_from([groups, 2, 3, 4, 5, 8, 12, 20, 33])), draw(st.integers(1, 9))
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    options |= {"DilationHFactor": dilations[0], "DilationWFactor": dilations[1]}
    shape_in, shape_out = (batch, *size, depth * groups), (batch, *out, channels * groups)
    return Layer("CONV_2D", shape_in, (channels * groups, *window, depth), shape_out, 0, options)


@st.composite
def columns(draw: st.DrawFn) -> Layer:
    """Draws a layer for `dsp_columns_s8`: windows three pixels wide, rows of any number of results, any epilogue."""
    taps, depth = draw(st.sampled_from([(1, 12), (1, 24), (2, 12), (3, 4), (3, 8), (3, 16), (4, 12), (6, 4)]))
    stride, dilation = draw(st.sampled_from([(1, 1), (1, 1), (2, 1), (1, 2)]))
    padding, channels = draw(st.sampled_from(["SAME", "VALID"])), 4 * draw(st.integers(1, 4))
    size = draw(st.integers((taps - 1) * dilation + 1, taps * dilation + 6)), draw(st.integers(3, 12))
    out = [window_out(size[0], taps, stride, dilation, padding), window_out(size[1], 3, 1, 1, padding)]
    batch = draw(st.integers(1, 2))
    options = {"Padding": padding, "StrideH": stride, "StrideW": 1, "DilationHFactor": dilation, "DilationWFactor": 1}
    shapes = (batch, *size, depth), (channels, taps, 3, depth), (batch, *out, channels)
    layer = _finished(draw, Layer("CONV_2D", *shapes, 0, options))
    assume(refusal(layer, COLUMNS) is None)
    return layer


@st.composite
def tiles(draw: st.DrawFn, name: str = WINOGRAD) -> Layer:
    """Draws a layer for a kernel of Winograd's tiles: images of any size from one pixel on, any epilogue."""
    depth, channels, batch = draw(st.integers(4, 36)), draw(st.integers(1, 13)), draw(st.integers(1, 2))
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    size = [draw(st.integers(1 if padding == "SAME" else 3, 11)) for _ in range(2)]
    out = [window_out(n, 3, 1, 1, padding) for n in size]
    shapes = (batch, *size, depth), (channels, 3, 3, depth), (batch, *out, channels)
    layer = _finished(draw, Layer("CONV_2D", *shapes, 0, {"Padding": padding, "StrideH": 1, "StrideW": 1}))
    assume(refusal(layer, name) is None)
    return layer


@st.composite
def blocks(draw: st.DrawFn) -> Layer:
    """Draws a layer for `dsp_blocks_s8`: any window and groups, three results or more in each group."""
    layer = draw(_convolution())
    groups, channels = layer.shape_in[3] // layer.shape_weights[3], draw(st.integers(3, 20))
    layer.shape_weights = (channels * groups, *layer.shape_weights[1:])
    layer.shape_out = (*layer.shape_out[:3], channels * groups)
    layer = _finished(draw, layer)
    assume(refusal(layer, BLOCKS) is None)
    return layer


@st.composite
def _pointwise(draw: st.DrawFn) -> Layer:
    depth, channels, batch = draw(st.sampled_from([8, 16])), 4 * draw(st.integers(1, 5)), draw(st.integers(1, 2))
    # As many pixels as wider weights are worth.
    height, width = draw(st.integers(10, 14)), draw(st.integers(12, 15))
    shapes = (batch, height, width, depth), (channels, 1, 1, depth), (batch, height, width, channels)
    return Layer("CONV_2D", *shapes, 0, {"Padding": "VALID", "StrideH": 1, "StrideW": 1})


@st.composite
def few_channels(draw: st.DrawFn) -> Layer:
    """Draws a layer for `dsp_few_s8`: one to eight input channels of a group, any stride, channels and activation."""
    depth, channels, batch = draw(st.integers(1, 8)), draw(st.integers(1, 11)), draw(st.integers(1, 2))
    # Groups of one channel are a depthwise layer.
    groups = draw(st.sampled_from([1, 1, 2, 3])) if depth > 1 else 1
    size, strides = [[draw(st.integers(1, most)) for _ in range(2)] for most in (6, 3)]
    out = [window_out(n, 1, stride, 1, "VALID") for n, stride in zip(size, strides, strict=True)]
    options = {"Padding": draw(st.sampled_from(["SAME", "VALID"])), "StrideH": strides[0], "StrideW": strides[1]}
    shapes = (batch, *size, groups * depth), (groups * channels, 1, 1, depth), (batch, *out, groups * channels)
    layer = _finished(draw, Layer("CONV_2D", *shapes, 0, options))
    assume(refusal(layer, FEW) is None)
    return layer


@st.composite
def planes(draw: st.DrawFn) -> Layer:
    """Draws a layer for `dsp_plane_s8`: 3x3 over one input channel, any channels, padding and activation."""
    channels, batch, padding = (
        draw(st.integers(2, 11)),
        draw(st.integers(1, 2)),
        draw(st.sampled_from(["SAME", "VALID"])),
    )
    strides = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    size = [draw(st.integers(1 if padding == "SAME" else 3, 13)) for _ in range(2)]
    out = [window_out(n, 3, stride, 1, padding) for n, stride in zip(size, strides, strict=True)]
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    shapes = (batch, *size, 1), (channels, 3, 3, 1), (batch, *out, channels)
    layer = _finished(draw, Layer("CONV_2D", *shapes, 0, options))
    assume(refusal(layer, PLANE) is None)
    return layer


@st.composite
def _wide(draw: st.DrawFn) -> Layer:
    """Of few taps and as many pixels as weights of 16 bits are worth."""
    window, (depth, most) = draw(st.integers(1, 3)), draw(st.sampled_from([(1, 3), (2, 3), (3, 3), (4, 2), (32, 1)]))
    window, groups = min(window, most), draw(st.integers(1, 2))
    height, width, channels = 13, draw(st.integers(20, 24)), draw(st.integers(1, 5))
    shapes = (1, height, width, depth * groups), (channels * groups, window, window, depth)
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    return Layer("CONV_2D", *shapes, (1, height, width, channels * groups), 0, options)


@st.composite
def _depthwise(draw: st.DrawFn) -> Layer:
    padding, stride = draw(st.sampled_from(["SAME", "VALID"])), draw(st.integers(1, 2))
    size, batch = (draw(st.integers(3, 9)), draw(st.integers(3, 20))), draw(st.integers(1, 2))
    depth = draw(st.sampled_from([4, 8, 12]))
    out = [window_out(n, 3, stride, 1, padding) for n in size]
    options = {"Padding": padding, "StrideH": stride, "StrideW": stride, "DepthMultiplier": 1}
    shape_in, shape_out = (batch, *size, depth), (batch, *out, depth)
    return Layer("DEPTHWISE_CONV_2D", shape_in, (1, 3, 3, depth), shape_out, 3, options)


@st.composite
def _depthwise_of_any_window(draw: st.DrawFn) -> Layer:
    layer = draw(_convolution())
    batch, height, width, _ = layer.shape_in
    depth, (_, *window, _) = draw(st.sampled_from([1, 3, 4, 5, 8, 12, 14])), layer.shape_weights
    shapes = (batch, height, width, depth), (1, *window, depth), (*layer.shape_out[:3], depth)
    return Layer("DEPTHWISE_CONV_2D", *shapes, 3, {**layer.options, "DepthMultiplier": 1})


@st.composite
def _fully_connected(draw: st.DrawFn) -> Layer:
    samples, outputs = draw(st.integers(1, 3)), draw(st.integers(1, 21))
    inputs = draw(st.one_of(st.integers(1, 80), st.sampled_from([128, 256, 260, 400])))
    return Layer("FULLY_CONNECTED", (samples, inputs), (outputs, inputs), (samples, outputs), 0, {})


@st.composite
def drawn(draw: st.DrawFn, kind: str) -> Layer:
    """Draws a layer of a kind, whether kernels take it or not."""
    depthwise = _depthwise() | _depthwise_of_any_window()
    convolution = _convolution() | _pointwise() | _wide()
    made = {"CONV_2D": convolution, "DEPTHWISE_CONV_2D": depthwise, "FULLY_CONNECTED": _fully_connected()}
    return _finished(draw, draw(made[kind]))


def _finished(draw: st.DrawFn, layer: Layer) -> Layer:
    """Draws what does not depend on the shapes of a layer: scales, bias, zero points, activation."""
    layer.per_channel, layer.bias = draw(st.booleans()), draw(st.booleans())
    layer.outlier = draw(st.sampled_from([0, 0, 0, 2**30, -(2**30)]))
    layer.spread = draw(st.sampled_from([1.0, 1.0, 1.0, 0.1, 0.03, 100.0]))
    layer.zero_point_in = draw(st.sampled_from([-128, 127, 0, 3]))
    layer.zero_point_out = draw(st.sampled_from([-128, -128, -7, 127]))
    layer.seed, layer.zero_every = draw(st.integers(0, 2**20)), draw(st.sampled_from([0, 0, 0, 0, 3]))
    layer.options = {**layer.options, "FusedActivationFunction": draw(st.sampled_from(ACTIVATIONS))}
    return layer


def layers(kind: str) -> st.SearchStrategy[Layer]:
    """Draws a layer of a kind: strides, paddings, batches, groups, dilations, odd numbers of channels, any finish."""
    return drawn(kind).filter(lambda layer: bool(implementations(load(layer.model(), name="model").nodes[0])))

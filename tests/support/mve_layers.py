"""Layers that kernels with Helium take, random and chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Node
from aboard.kernels import of
from aboard.kernels.contract import Implementation
from aboard.target import Target
from support.tflite_builder import ModelBuilder
from support.weighted_models import ACTIVATIONS, Layer, window_out

NAME, ROWS = "arm_mve_s8", "mve_rows_s8"
TARGET = Target("c -mcpu=cortex-m55 -runtime=standalone")
#: As TARGET, with loops whose flash small layers are not worth.
FAST = Target("c -mcpu=cortex-m55 -runtime=standalone -opt=speed")


def implementation(node: Node, name: str = NAME) -> Implementation:
    """Returns an implementation of a node's op with Helium."""
    return next(i for i in of(node.op) if i.name == name)


def refusal(layer: Layer) -> str | None:
    """Returns why a layer is not for Helium; None when it is."""
    (node,) = load(layer.model(), name="model").nodes
    return implementation(node).refuses(node, TARGET)


@st.composite
def window_layers(draw: st.DrawFn, kind: str) -> Layer:
    """Draws a convolution as wide as those of real models; vectors and blocks are rarely full."""
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    window = (draw(st.integers(1, 5)), draw(st.integers(1, 5)))
    strides = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    size = tuple(draw(st.integers(taps, taps + 6)) for taps in window)
    out = [window_out(*axis, 1, padding) for axis in zip(size, window, strides, strict=True)]
    batch, depth = draw(st.integers(1, 2)), draw(st.sampled_from([1, 2, 3, 4, 8, 12, 16, 17, 32, 40]))
    options: dict[str, str | int] = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    if kind == "CONV_2D":
        channels = draw(st.sampled_from([1, 3, 4, 6, 8, 11, 16]))
        return Layer(kind, (batch, *size, depth), (channels, *window, depth), (batch, *out, channels), 0, options)
    options["DepthMultiplier"] = 1
    return Layer(kind, (batch, *size, depth), (1, *window, depth), (batch, *out, depth), 3, options)


@st.composite
def matrix_layers(draw: st.DrawFn) -> Layer:
    """Draws a fully connected layer."""
    samples, inputs = draw(st.integers(1, 3)), draw(st.sampled_from([1, 8, 15, 16, 33, 64, 80, 96, 128, 200, 256, 400]))
    outputs = draw(st.one_of(st.integers(1, 21), st.sampled_from([8, 16, 24])))
    return Layer("FULLY_CONNECTED", (samples, inputs), (outputs, inputs), (samples, outputs), 0, {})


@st.composite
def uniform_matrix_layers(draw: st.DrawFn) -> Layer:
    """Draws a fully connected layer whose results are all scaled alike: few or many chunks, and ties below zero."""
    samples, outputs = draw(st.integers(1, 6)), 8 * draw(st.integers(1, 8))
    inputs = draw(st.one_of(st.integers(1, 16 * 13), st.sampled_from([256, 272, 400, 640])))
    return Layer(
        "FULLY_CONNECTED", (samples, inputs), (outputs, inputs), (samples, outputs), 0, {},
        per_channel=False, bias=draw(st.booleans()), seed=draw(st.integers(0, 2**20)),
        zero_point_in=draw(st.sampled_from([-128, 0, 3])), zero_point_out=draw(st.sampled_from([-128, -7, 0, 127])),
        spread=draw(st.sampled_from([1.0, 1.0, 0.01, 100.0])),
    )  # fmt: skip


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    """Draws a layer of any kind with any quantisation, mostly one that is followed by a RELU."""
    kind = draw(st.sampled_from(["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"]))
    layer = draw(matrix_layers() if kind == "FULLY_CONNECTED" else window_layers(kind))
    layer.per_channel, layer.bias = draw(st.booleans()), draw(st.booleans())
    layer.spread = draw(st.sampled_from([1.0, 1.0, 1.0, 0.01, 100.0, 1e-4]))
    layer.zero_point_in = draw(st.sampled_from([-128, 127, 0, 3]))
    layer.zero_point_out = draw(st.sampled_from([-128, -128, -7, 127]))
    layer.seed, layer.zero_every = draw(st.integers(0, 2**20)), draw(st.sampled_from([0, 0, 0, 0, 3]))
    layer.options = {**layer.options, "FusedActivationFunction": draw(st.sampled_from(ACTIVATIONS))}
    return layer


@st.composite
def depthwise_layers(draw: st.DrawFn) -> Layer:
    """Draws a depthwise layer for which words of four pixels suit: several groups of results, and what is left over."""
    if draw(st.booleans()):
        window = (draw(st.integers(1, 4)), draw(st.integers(1, 4)))
        strides, padding = (draw(st.integers(1, 2)), draw(st.integers(1, 3))), draw(st.sampled_from(["SAME", "VALID"]))
        size = (draw(st.integers(4, 14)), draw(st.integers(4, 45)))
    else:
        window, strides, padding = (draw(st.integers(1, 13)), 1), (1, 1), "VALID"
        size = (draw(st.integers(14, 40)), draw(st.integers(1, 3)))
    if draw(st.booleans()):
        window, strides, size = window[::-1], strides[::-1], size[::-1]
    out = [window_out(*axis, 1, padding) for axis in zip(size, window, strides, strict=True)]
    batch, depth = draw(st.integers(1, 2)), draw(st.sampled_from([1, 2, 4, 5, 8, 16, 20, 33]))
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1], "DepthMultiplier": 1}
    options["FusedActivationFunction"] = draw(st.sampled_from(["NONE", "RELU"]))
    # Beyond eight columns there are words alone, which have no limits inside of int8.
    zero_points_out = [-128] if window[1] > 8 else [-128, -128, -7]
    return Layer(
        "DEPTHWISE_CONV_2D", (batch, *size, depth), (1, *window, depth), (batch, *out, depth), 3, options,
        seed=draw(st.integers(0, 2**20)), zero_point_in=draw(st.sampled_from([-128, 0, 3])),
        zero_point_out=draw(st.sampled_from(zero_points_out)), spread=draw(st.sampled_from([1.0, 1.0, 100.0])),
    )  # fmt: skip


@st.composite
def depthwise_images(draw: st.DrawFn) -> Layer:
    """Draws a depthwise layer of a small image with few lines, whose last results share groups of eight."""
    window, padding = (
        (draw(st.integers(1, 3)), draw(st.integers(1, 3))),
        draw(st.sampled_from(["SAME", "SAME", "VALID"])),
    )
    size = (draw(st.integers(window[0], 9)), draw(st.integers(window[1], 30)))
    if draw(st.booleans()):
        window, size = window[::-1], size[::-1]
    out = [window_out(*axis, 1, 1, padding) for axis in zip(size, window, strict=True)]
    batch, depth = draw(st.integers(1, 2)), draw(st.sampled_from([16, 16, 32, 48, 5, 24]))
    multiplier = draw(st.sampled_from([1, 1, 1, 2]))
    options: dict[str, str | int] = {"Padding": padding, "StrideH": 1, "StrideW": 1, "DepthMultiplier": multiplier}
    options["FusedActivationFunction"] = draw(st.sampled_from(["NONE", "RELU"]))
    channels = depth * multiplier
    return Layer(
        "DEPTHWISE_CONV_2D", (batch, *size, depth), (1, *window, channels), (batch, *out, channels), 3, options,
        seed=draw(st.integers(0, 2**20)), zero_point_in=draw(st.sampled_from([-128, 0, 3])),
        zero_point_out=draw(st.sampled_from([-128, -128, -128, -7])),
    )  # fmt: skip


@st.composite
def wide_depthwise_layers(draw: st.DrawFn) -> Layer:
    """Draws a depthwise layer of any window, dilation and multiplier, which only packed words can compute."""
    window, dilations = (draw(st.integers(1, 9)), draw(st.integers(1, 9))), [draw(st.integers(1, 3)) for _ in "hw"]
    strides, padding = [draw(st.sampled_from([1, 1, 2, 3])) for _ in "hw"], draw(st.sampled_from(["SAME", "VALID"]))
    reaches = [(taps - 1) * dilation + 1 for taps, dilation in zip(window, dilations, strict=True)]
    size = tuple(draw(st.integers(reach, reach + 11)) for reach in reaches)
    out = [window_out(*axis, padding) for axis in zip(size, window, strides, dilations, strict=True)]
    batch, depth, multiplier = draw(st.integers(1, 2)), draw(st.sampled_from([1, 3, 4, 8, 17])), draw(st.integers(1, 4))
    options: dict[str, str | int] = {"Padding": padding, "DepthMultiplier": multiplier}
    options |= {"StrideH": strides[0], "StrideW": strides[1]}
    options |= {"DilationHFactor": dilations[0], "DilationWFactor": dilations[1]}
    options["FusedActivationFunction"] = draw(st.sampled_from(ACTIVATIONS))
    channels = depth * multiplier
    return Layer(
        "DEPTHWISE_CONV_2D", (batch, *size, depth), (1, *window, channels), (batch, *out, channels), 3, options,
        seed=draw(st.integers(0, 2**20)), zero_point_in=draw(st.sampled_from([-128, 0, 3])),
        zero_point_out=draw(st.sampled_from([-128, -7])), spread=draw(st.sampled_from([1.0, 1.0, 100.0])),
    )  # fmt: skip


@st.composite
def convolutions(draw: st.DrawFn) -> Layer:
    """Draws a convolution of four pixels at a time, read directly, from a line buffer or from im2col columns."""
    source = draw(st.sampled_from(["direct", "line buffer", "im2col"]))
    depth = draw(
        st.sampled_from(
            {
                "direct": [1, 3, 4, 5, 16, 18, 20, 32, 39, 60, 64],
                "line buffer": [16, 32, 48],
                "im2col": [1, 2, 3, 4, 5, 10],
            }[source]
        )
    )
    # Windows of a line buffer share pixels while they are wider than their stride.
    widest, furthest = (7, 3) if source == "line buffer" else (5, 2)
    window = (
        (1, draw(st.sampled_from([1, 1, 2])))
        if source == "direct"
        else (draw(st.integers(1, 4)), draw(st.integers(2, widest)))
    )
    strides = (draw(st.integers(1, 2)), draw(st.integers(1, furthest)))
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    size = (draw(st.integers(window[0], 9)), draw(st.integers(window[1], 13)))
    out = [window_out(*axis, 1, padding) for axis in zip(size, window, strides, strict=True)]
    batch, channels = draw(st.integers(1, 2)), draw(st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 10, 12]))
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    options["FusedActivationFunction"] = draw(st.sampled_from(["NONE", "RELU", "RELU6"]))
    return Layer(
        "CONV_2D", (batch, *size, depth), (channels, *window, depth), (batch, *out, channels), 0, options,
        seed=draw(st.integers(0, 2**20)), zero_point_in=draw(st.sampled_from([-128, 0, 3])),
        zero_point_out=draw(st.sampled_from([-128, -128, -7])), spread=draw(st.sampled_from([1.0, 1.0, 100.0])),
    )  # fmt: skip


@st.composite
def scattered_convolutions(draw: st.DrawFn) -> Layer:
    """Draws a convolution whose windows are no contiguous rows: with dilation, or with several groups of channels."""
    groups = draw(st.sampled_from([1, 1, 2, 3, 4]))
    window = (draw(st.integers(1, 4)), draw(st.integers(1, 5)))
    dilations = [draw(st.integers(1, 3) if groups > 1 else st.integers(2, 4)) for _ in "hw"]
    strides, padding = [draw(st.integers(1, 2)) for _ in "hw"], draw(st.sampled_from(["SAME", "VALID"]))
    reaches = [(taps - 1) * dilation + 1 for taps, dilation in zip(window, dilations, strict=True)]
    size = tuple(draw(st.integers(reach, reach + 9)) for reach in reaches)
    out = [window_out(*axis, padding) for axis in zip(size, window, strides, dilations, strict=True)]
    batch, depth = draw(st.integers(1, 2)), draw(st.sampled_from([1, 2, 3, 4, 8, 16, 20, 33]))
    channels = groups * draw(st.sampled_from([1, 2, 3, 4, 6, 8]))
    options: dict[str, str | int] = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    options |= {"DilationHFactor": dilations[0], "DilationWFactor": dilations[1]}
    options["FusedActivationFunction"] = draw(st.sampled_from(["NONE", "RELU", "RELU6"]))
    return Layer(
        "CONV_2D", (batch, *size, groups * depth), (channels, *window, depth), (batch, *out, channels), 0, options,
        seed=draw(st.integers(0, 2**20)), zero_point_in=draw(st.sampled_from([-128, 0, 3])),
        zero_point_out=draw(st.sampled_from([-128, -128, -7])), spread=draw(st.sampled_from([1.0, 1.0, 100.0])),
    )  # fmt: skip


def tall_images() -> list[Layer]:
    """Returns convolutions whose line buffers hold the windows of two or three rows, with rows left over."""
    return [
        _conv((25, 6), 3, 16, 8), _conv((24, 9), 3, 32, 8, "VALID"), _conv((34, 9), 3, 16, 8, stride=2),
        _conv((41, 6), 5, 16, 8, stride=2), _conv((16, 5), (2, 4), 48, 8), _conv((26, 7), 3, 16, 6),
    ]  # fmt: skip


def as_many_rows_as_pixels() -> list[Layer]:
    """Returns convolutions of one chunk over one image, with as many rows before the last one as pixels in a row."""
    layers = [_conv(size, 1, 8, channels, stride=2) for size in ((5, 4), (6, 3), (7, 6)) for channels in (4, 6)]
    return [
        replace(each, shape_in=(1, *each.shape_in[1:]), shape_out=(1, *each.shape_out[1:]), zero_point_out=127)
        for each in layers
    ]


def windowed() -> st.SearchStrategy[Layer]:
    """Draws a layer with a window, of any kind and form."""
    return st.one_of(
        window_layers("CONV_2D"), window_layers("DEPTHWISE_CONV_2D"), depthwise_layers(), convolutions(),
        wide_depthwise_layers(), scattered_convolutions(),
    )  # fmt: skip


def forms() -> dict[str, tuple[Layer, str, dict[str, int]]]:
    """Returns a layer for each way in which a result may lie over its operand: its function and some parameters."""
    conv, four = "aboard_conv2d_mve", "aboard_conv2d_four_pixels_mve"
    channels, words = "aboard_depthwise_conv2d_mve", "aboard_depthwise_packed_mve"
    scattered, gathered, parts = f"{four}_scattered", f"{four}_gathered", f"{words}_parts"
    whole = f"{four}_whole_rows"
    return {
        "four pixels": (_conv((5, 7), 1, 20, 8), four, {"source": 0, "joined": 1}),
        "four pixels in rows": (_conv((6, 15), 1, 20, 8, stride=2), four, {"source": 0, "joined": 0}),
        "four pixels from a line buffer": (_conv((6, 8), 3, 16, 16), four, {"source": 1}),
        "four pixels from several rows of a line buffer": (_conv((25, 8), 3, 16, 8), four, {"source": 1}),
        "four pixels a stride apart": (_conv((6, 13), 5, 16, 16, stride=2), four, {"taps": 5, "phases": 2}),
        "four pixels of im2col columns": (_conv((6, 9), 3, 10, 10, "VALID"), four, {"source": 2, "joined": 1}),
        "four pixels of im2col columns from a line buffer": (
            _conv((6, 9), 3, 10, 10),
            four,
            {"source": 2, "joined": 1},
        ),
        "four pixels of gathered bytes": (_conv((6, 9), 3, 3, 10, "VALID"), gathered, {"source": 2, "unit": 1}),
        "four pixels of gathered bytes from a line buffer": (_conv((6, 9), 3, 3, 10), gathered, {"unit": 1}),
        "four pixels of gathered halfwords": (_conv((9, 45), 3, 3, 8, stride=2), gathered, {"unit": 2}),
        "four pixels of gathered bytes in whole rows": (_conv((6, 8), 3, 3, 10), whole, {"unit": 1}),
        "four pixels of gathered words in whole rows": (_conv((6, 12), (5, 2), 4, 8), whole, {"unit": 4}),
        "four pixels of many gathered words in whole rows": (_conv((6, 12), (5, 5), 4, 8), whole, {"chunks": 7}),
        "four pixels of gathered words": (_conv((6, 9), (5, 3), 4, 10), gathered, {"unit": 4}),
        "four pixels of dilated windows": (_conv((9, 7), 3, 17, 8, dilation=2), scattered, {"source": 2, "joined": 0}),
        "four pixels of groups": (_conv((6, 7), 3, 34, 8, groups=2), scattered, {"source": 2, "joined": 0}),
        "four pixels of gathered taps": (_conv((9, 7), 3, 8, 8, dilation=2), whole, {"unit": 4, "joined": 0}),
        "four pixels of gathered taps in halfwords": (_conv((6, 7), 3, 12, 8, groups=2), whole, {"unit": 2}),
        "four pixels of gathered taps in bytes": (_conv((6, 7), 3, 6, 8, groups=2), whole, {"unit": 1}),
        "four pixels of many gathered taps": (_conv((12, 9), 5, 8, 8, dilation=2), whole, {"chunks": 13}),
        "four pixels of many gathered taps of groups": (_conv((12, 9), 5, 16, 6, groups=2), whole, {"chunks": 13}),
        "fewer than four pixels of groups": (_conv((9, 3), (5, 3), 24, 6, groups=3), scattered, {"unit": 0}),
        "four pixels from dilated rows": (_conv((9, 7), (3, 1), 16, 8, dilation=2), four, {"source": 1}),
        "four pixels of bytes": (_conv((5, 7), 1, 19, 8), four, {"source": 0, "joined": 1, "unit": 1}),
        "four pixels of halfwords in rows": (_conv((6, 15), 1, 22, 8, stride=2), four, {"source": 0, "unit": 2}),
        "four pixels of far bytes": (_conv((14, 30), (9, 1), 3, 10, "VALID"), gathered, {"unit": 3}),
        "four pixels of an odd number of channels": (_conv((5, 7), 1, 20, 7), four, {"source": 0, "joined": 1}),
        "four pixels of a channel": (_conv((6, 9), 3, 16, 1), four, {"source": 1}),
        "four pixels of three groups of a channel": (_conv((6, 9), 3, 9, 3, groups=3), whole, {"source": 2}),
        "pairs of dilated windows": (_pairs((9, 7), 3, 5, 3, dilation=2), f"{conv}_scattered", {"column": 48}),
        "pairs of pixels": (_pairs((5, 7), 1, 16, 13), conv, {"joined": 1, "column": 0}),
        "pairs where they lie": (_pairs((6, 9), 3, 16, 13, "VALID"), conv, {"joined": 0, "column": 0}),
        "pairs in a line buffer": (_pairs((6, 9), 3, 16, 15), conv, {"joined": 0, "column": 0}),
        "pairs in a line buffer, padded": (_pairs((6, 9), 3, 15, 3), conv, {"joined": 0, "column": 0}),
        "pairs of im2col columns": (_pairs((6, 9), 3, 3, 13, "VALID"), conv, {"joined": 0, "column": 32}),
        "pairs of im2col columns from a line buffer": (_pairs((6, 9), 3, 3, 13), conv, {"joined": 0, "column": 32}),
        "sixteen channels": (depthwise((8, 9), (5, 5), 20), channels, {"pixel": 16}),
        "several pixels in a vector": (depthwise((8, 9), (5, 5), 4), channels, {"pixel": 4}),
        "images of words": (depthwise((8, 9), (3, 3), 20), words, {"form": 0, "slab": 5}),
        "images of few lines": (depthwise((25, 5), (3, 3), 32), words, {"form": 0, "slab": 3, "columns": 1}),
        "two lines of words": (depthwise((19, 45), (3, 3), 20), words, {"form": 0, "lines": 2, "slab": 1}),
        "windows of words": (depthwise((13, 40), (4, 4), 20), words, {"form": 1, "lines": 2, "slab": 1}),
        "windows of several vectors": (depthwise((13, 12), (7, 6), 33), parts, {"form": 3, "lines": 1, "slab": 1}),
        "an image of dilated words": (depthwise((6, 8), (3, 3), 5, dilation=2), words, {"form": 1, "slab": 3}),
        "lines of taps": (depthwise((30, 40), (1, 9), 20, "VALID"), words, {"form": 2, "lines": 1, "slab": 1}),
    }


def _options(padding: str, stride: int, dilation: int) -> dict[str, str | int]:
    options: dict[str, str | int] = {"Padding": padding, "StrideH": stride, "StrideW": stride}
    dilations = {"DilationHFactor": dilation, "DilationWFactor": dilation}
    return {**options, **dilations, "FusedActivationFunction": "NONE"}


def _conv(
    size: tuple[int, int],
    taps: int | tuple[int, int],
    depth: int,
    channels: int,
    padding: str = "SAME",
    stride: int = 1,
    dilation: int = 1,
    groups: int = 1,
) -> Layer:
    window = (taps, taps) if isinstance(taps, int) else taps
    out = [window_out(*axis, stride, dilation, padding) for axis in zip(size, window, strict=True)]
    shapes = (2, *size, depth), (channels, *window, depth // groups), (2, *out, channels)
    return Layer("CONV_2D", *shapes, 0, _options(padding, stride, dilation))


def _pairs(
    size: tuple[int, int], taps: int, depth: int, channels: int, padding: str = "SAME", dilation: int = 1
) -> Layer:
    """Returns a convolution with limits inside of int8, which four pixels do not have."""
    layer = _conv(size, taps, depth, channels, padding, dilation=dilation)
    layer.options = {**layer.options, "FusedActivationFunction": "RELU6"}
    return layer


def depthwise(
    size: tuple[int, int],
    window: tuple[int, int],
    channels: int,
    padding: str = "SAME",
    stride: int = 1,
    dilation: int = 1,
) -> Layer:
    """Returns a depthwise layer over two images."""
    out = [window_out(*axis, stride, dilation, padding) for axis in zip(size, window, strict=True)]
    shapes = (2, *size, channels), (1, *window, channels), (2, *out, channels)
    options = _options(padding, stride, dilation)
    return Layer("DEPTHWISE_CONV_2D", *shapes, 3, {**options, "DepthMultiplier": 1})


@st.composite
def pools(draw: st.DrawFn) -> tuple[bytes, np.ndarray]:
    """Draws a pool and its input."""
    window = (draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    strides, padding = (draw(st.integers(1, 3)), draw(st.integers(1, 3))), draw(st.sampled_from(["SAME", "VALID"]))
    size = tuple(draw(st.integers(taps, taps + 5)) for taps in window)
    out = [window_out(*axis, 1, padding) for axis in zip(size, window, strides, strict=True)]
    batch, depth = draw(st.integers(1, 2)), draw(st.sampled_from([1, 3, 8, 9, 16, 20, 33]))
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    options |= {"FilterHeight": window[0], "FilterWidth": window[1]}
    options["FusedActivationFunction"] = draw(st.sampled_from(ACTIVATIONS))
    build = ModelBuilder().tensor("x", (batch, *size, depth), np.int8, scale=0.03, zero_point=4)
    build.tensor("y", (batch, *out, depth), np.int8, scale=0.03, zero_point=4)
    build.op(draw(st.sampled_from(["AVERAGE_POOL_2D", "MAX_POOL_2D"])), ["x"], ["y"], options)
    x = np.random.default_rng(draw(st.integers(0, 99))).integers(-128, 128, (batch, *size, depth)).astype(np.int8)
    return build.build(["x"], ["y"]), x


def sum_of_halves(depth: int, kind: str, activation: str, seed: int) -> tuple[bytes, np.ndarray]:
    """Returns a model of the sum or difference of both halves of an input, and its input."""
    rng = np.random.default_rng(seed)
    scales = rng.uniform(0.01, 0.1, 3).astype(np.float32)
    half = (1, 3, 5, depth)
    build = ModelBuilder().tensor("x", (1, 3, 5, 2 * depth), np.int8, scale=0.05, zero_point=-3)
    build.tensor("y", half, np.int8, scale=float(scales[2]), zero_point=int(rng.choice([-128, 0, 7])))
    build.tensor("axis", (), np.int32, data=[3])
    for name in "ab":
        build.tensor(name, half, np.int8, scale=0.05, zero_point=-3)
    build.op("SPLIT", ["axis", "x"], ["a", "b"], {"NumSplits": 2})
    build.op(kind, ["a", "b"], ["y"], {"FusedActivationFunction": activation})
    return build.build(["x"], ["y"]), rng.integers(-128, 128, (1, 3, 5, 2 * depth)).astype(np.int8)


@st.composite
def sums(draw: st.DrawFn) -> tuple[bytes, np.ndarray]:
    """Draws the sum or difference of both halves of an input."""
    depth, kind = draw(st.sampled_from([1, 4, 7, 16, 37, 48])), draw(st.sampled_from(["ADD", "SUB"]))
    return sum_of_halves(depth, kind, draw(st.sampled_from(ACTIVATIONS)), draw(st.integers(0, 99)))


def long_sums() -> list[Layer]:
    """Returns layers with more chunks than are unrolled: rows of a window, one long row, a prime number of chunks."""
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1, "FusedActivationFunction": "RELU"}
    return [
        Layer("CONV_2D", (1, 4, 4, 80), (5, 3, 3, 80), (1, 2, 2, 5), 0, options, zero_point_out=-128),
        Layer("CONV_2D", (1, 2, 3, 256), (8, 1, 1, 256), (1, 2, 3, 8), 0, options, zero_point_out=-128),
        Layer("CONV_2D", (1, 4, 41, 64), (4, 3, 3, 64), (1, 2, 39, 4), 0, options),
        Layer("CONV_2D", (1, 4, 130, 16), (4, 3, 1, 16), (1, 2, 130, 4), 0, options),
        Layer("CONV_2D", (1, 7, 7, 64), (6, 5, 3, 64), (1, 3, 5, 6), 0, options, zero_point_out=-128),
        Layer("CONV_2D", (1, 1, 3, 17 * 16), (4, 1, 1, 17 * 16), (1, 1, 3, 4), 0, options, zero_point_out=-128),
        Layer("FULLY_CONNECTED", (1, 640), (13, 640), (1, 13), 0, {}, zero_point_out=-128),
    ]

"""Depthwise convolutions for `arm_mve_one_s8`: windows that cover the whole image."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from aboard.importers import load
from support.mve_layers import TARGET, implementation
from support.weighted_models import Layer, window_out

NAME = "arm_mve_one_s8"

#: Channels that fill blocks of sixteen, that leave one block of eight or two, and that are eight.
_CHANNELS = (8, 16, 17, 24, 25, 30, 31, 32, 40, 41, 48, 60)


def one_window(
    size: tuple[int, int],
    window: tuple[int, int],
    channels: int,
    padding: str = "VALID",
    strides: tuple[int, int] = (1, 1),
    dilations: tuple[int, int] = (1, 1),
    batch: int = 1,
) -> Layer:
    """Returns a depthwise convolution."""
    axes = zip(size, window, strides, dilations, strict=True)
    out = [window_out(*axis, padding) for axis in axes]
    options: dict[str, str | int] = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    options |= {"DilationHFactor": dilations[0], "DilationWFactor": dilations[1], "DepthMultiplier": 1}
    shapes = (batch, *size, channels), (1, *window, channels), (batch, *out, channels)
    return Layer("DEPTHWISE_CONV_2D", *shapes, 3, {**options, "FusedActivationFunction": "NONE"})


def refusal(layer: Layer) -> str | None:
    """Returns why a layer is not for the kernel; None when it is."""
    (node,) = load(layer.model(), name="model").nodes
    return implementation(node, NAME).refuses(node, TARGET)


@st.composite
def _axis(draw: st.DrawFn, padding: str, most: int) -> tuple[int, int, int, int]:
    """Draws size, taps, stride and dilation of an axis with one result."""
    taps, dilation = draw(st.integers(1, most)), draw(st.sampled_from([1, 1, 2, 3]))
    if padding == "VALID":
        stride = draw(st.integers(1, 3)) if dilation == 1 else 1
        return (taps - 1) * dilation + draw(st.integers(1, stride)), taps, stride, dilation
    size = draw(st.integers(1, most)) if dilation == 1 else 1
    return size, taps, size + draw(st.integers(0, 2)) if dilation == 1 else 1, dilation


@st.composite
def one_windows(draw: st.DrawFn) -> Layer:
    """Draws a layer: a column, a row or several rows, with padding or without, and any quantisation it accepts."""
    padding = draw(st.sampled_from(["VALID", "VALID", "SAME"]))
    most = draw(st.sampled_from([(40, 1), (40, 1), (128, 1), (1, 40), (9, 9), (3, 24)]))
    axes = [draw(_axis(padding, taps)) for taps in most]
    if any(axis[3] > 1 for axis in axes):
        # Strides and dilations exclude each other.
        axes = [draw(_axis(padding, taps).filter(lambda axis: axis[2] == 1)) for taps in most]
    size, window, strides, dilations = zip(*axes, strict=True)
    channels, batch = draw(st.sampled_from(_CHANNELS)), draw(st.integers(1, 3))
    layer = one_window(size, window, channels, padding, strides, dilations, batch)
    layer.per_channel, layer.bias = draw(st.booleans()), draw(st.booleans())
    layer.spread, layer.seed = draw(st.sampled_from([1.0, 1.0, 0.1, 100.0])), draw(st.integers(0, 2**20))
    layer.zero_point_in = draw(st.sampled_from([-128, 127, 0, 3]))
    layer.zero_point_out = draw(st.sampled_from([-128, -128, -7, 127]))
    layer.options = {**layer.options, "FusedActivationFunction": draw(st.sampled_from(["NONE", "NONE", "RELU"]))}
    assume(refusal(layer) is None)
    return layer


def chosen() -> list[Layer]:
    """Returns layers of every number of words and parts, ways of reading taps, and rests of channels."""
    layers = [
        one_window((taps, 1), (taps, 1), _CHANNELS[number % len(_CHANNELS)], batch=1 + number % 2)
        for number, taps in enumerate([5, 6, 7, 8, 9, 12, 13, 15, 16, 17, 21, 32, 33, 48, 64, 65, 80, 97, 128])
    ]
    layers += [one_window((1, taps), (1, taps), channels) for taps, channels in ((7, 30), (20, 8), (66, 24))]
    layers += [
        one_window((3, 5), (3, 5), 40),  # rows without gaps
        one_window((5, 4), (5, 3), 31, strides=(1, 2)),  # rows of an image that is wider
        one_window((4, 4), (9, 7), 25, "SAME", strides=(4, 5), batch=2),  # most taps are padding
        one_window((6, 1), (6, 1), 128), one_window((9, 1), (9, 1), 120),  # words
        one_window((6, 1), (6, 1), 129), one_window((5, 1), (5, 1), 600),  # bytes that are far
        one_window((5, 70), (5, 1), 8, strides=(1, 70)), one_window((5, 16), (5, 1), 8, strides=(1, 16)),
        one_window((13, 1), (5, 1), 30, dilations=(3, 1)), one_window((5, 9), (3, 3), 16, dilations=(2, 4)),
    ]  # fmt: skip
    for number, layer in enumerate(layers):
        layer.seed, layer.zero_point_out = number, (-128, 5)[number % 2]
        layer.per_channel, layer.spread = number % 3 > 0, (1.0, 0.1)[number % 5 == 0]
    assert not any(refusal(layer) for layer in layers)
    return layers

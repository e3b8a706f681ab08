"""Convolutions for `arm_mve_few_s8`: windows of at most five taps."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from aboard.importers import load
from support.mve_layers import TARGET, implementation
from support.weighted_models import Layer, window_out

NAME = "arm_mve_few_s8"

#: Windows by the number of input channels: rows and columns.
_WINDOWS = {
    depth: [(rows, cols) for rows in range(1, 6) for cols in range(1, 6) if rows * cols * depth <= 5]
    for depth in range(1, 6)
}


def few(
    depth: int,
    window: tuple[int, int],
    channels: int,
    size: tuple[int, int],
    strides: tuple[int, int] = (1, 1),
    dilations: tuple[int, int] = (1, 1),
    batch: int = 1,
) -> Layer:
    """Returns a convolution without padding."""
    axes = zip(size, window, strides, dilations, strict=True)
    out = [window_out(*axis, "VALID") for axis in axes]
    options: dict[str, str | int] = {"Padding": "VALID", "StrideH": strides[0], "StrideW": strides[1]}
    options |= {"DilationHFactor": dilations[0], "DilationWFactor": dilations[1], "FusedActivationFunction": "NONE"}
    return Layer("CONV_2D", (batch, *size, depth), (channels, *window, depth), (batch, *out, channels), 0, options)


def refusal(layer: Layer) -> str | None:
    """Returns why a layer is not for the kernel; None when it is."""
    (node,) = load(layer.model(), name="model").nodes
    return implementation(node, NAME).refuses(node, TARGET)


@st.composite
def few_taps(draw: st.DrawFn, largest: int = 12) -> Layer:
    """Draws a convolution: rows of any length, any number of channels and any quantisation that it accepts."""
    depth = draw(st.integers(1, 5))
    window, dilations = draw(st.sampled_from(_WINDOWS[depth])), (1, 1)
    strides = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    if strides == (1, 1):
        dilations = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    reaches = [(taps - 1) * dilation + 1 for taps, dilation in zip(window, dilations, strict=True)]
    rows, cols = (draw(st.integers(reach, reach + largest)) for reach in reaches)
    most = window[0] * window[1] * depth == 5
    channels = draw(st.integers(1, 3) if most else st.sampled_from([1, 2, 3, 4, 5, 7, 8, 11, 16, 24]))
    layer = few(depth, window, channels, (rows, cols), strides, dilations, draw(st.integers(1, 2)))
    layer.per_channel, layer.bias = draw(st.booleans()), draw(st.booleans())
    layer.spread, layer.seed = draw(st.sampled_from([1.0, 1.0, 0.01, 100.0])), draw(st.integers(0, 2**20))
    layer.zero_point_in = draw(st.sampled_from([-128, 127, 0, 3]))
    layer.zero_point_out = draw(st.sampled_from([-128, -128, -7, 127]))
    layer.options = {**layer.options, "FusedActivationFunction": draw(st.sampled_from(["NONE", "NONE", "RELU"]))}
    assume(refusal(layer) is None)
    return layer


def chosen() -> list[Layer]:
    """Returns a layer for each number of taps with lanes that leave their row, stay in their column, or need not."""
    geometries = [
        ((5, 7), (1, 1), 1), ((4, 3), (1, 1), 2), ((9, 11), (2, 2), 1), ((9, 7), (3, 2), 2), ((8, 3), (2, 1), 1),
        ((12, 5), (4, 4), 2), ((6, 2), (1, 1), 1), ((7, 1), (2, 1), 1), ((3, 3), (3, 3), 1), ((13, 19), (4, 4), 1),
    ]  # fmt: skip
    layers = []
    for depth in range(1, 6):
        for number, (size, strides, batch) in enumerate(geometries):
            channels = (1, 2, 9, 4, 7, 8)[(number + depth) % 6] if depth < 5 else number % 3 + 1
            layer = few(depth, (1, 1), channels, size, strides, batch=batch)
            layer.zero_point_out = (-128, 5)[number % 2]
            layers.append(layer)
    return [layer for layer in layers if refusal(layer) is None]

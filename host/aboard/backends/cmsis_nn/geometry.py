"""Layers with windows in the terms of CMSIS-NN's functions: sizes, and the library's path for a layer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from aboard.ir import Node
from aboard.ops import conv2d, pool2d
from aboard.target import Target


class Unit(Enum):
    """The instructions for which the library is compiled; its macros read them from the compiler."""

    C = "c"
    DSP = "dsp"
    MVE = "mve"

    @classmethod
    def of(cls, host: Target) -> Unit:
        """Returns the instructions that the library uses on a CPU."""
        features = host.cpu.features if host.cpu.is_arm_m else frozenset()
        return cls.MVE if "mve" in features else cls.DSP if "dsp" in features else cls.C


@dataclass(frozen=True)
class Size:
    """Rows and columns; for padding, rows above and columns on the left."""

    h: int
    w: int


@dataclass(frozen=True)
class WindowedLayer:
    """A layer whose window slides over images.

    Attributes:
        batch: Number of images.
        image: Size of the input.
        channels: Channels of the input.
        taps: Size of the window.
        depth: Input channels that one output channel of a convolution reads; 1 if each output channel reads one.
        result: Size of the output.
        outputs: Channels of the output.
        stride: Pixels from one window to the next.
        padding: Pixels above and on the left; padding at the other ends follows from the sizes.
        dilation: Pixels from one tap to the next.
    """

    batch: int
    image: Size
    channels: int
    taps: Size
    depth: int
    result: Size
    outputs: int
    stride: Size
    padding: Size
    dilation: Size = Size(1, 1)

    @property
    def is_1x1(self) -> bool:
        """True for layers that the library computes as a matrix product."""
        return self.taps == self.dilation == Size(1, 1) and self.padding == Size(0, 0)

    @property
    def is_1xn(self) -> bool:
        """True for layers that the library computes as a one-dimensional convolution."""
        in_words = self.stride.w * self.channels % 4 == 0
        return not self.is_1x1 and self.image.h == self.taps.h == self.dilation.w == 1 and in_words

    @property
    def is_dense(self) -> bool:
        """True if an output channel reads all input channels."""
        return self.depth == self.channels


def of_convolution(node: Node) -> WindowedLayer:
    """Returns the geometry of a conv2d, or of a depthwise_conv2d with a depth of 1."""
    attrs = conv2d.attributes(node)
    batch, height, width, channels = node.input(0).shape
    weights, (_, rows, cols, outputs) = node.input(1).shape, node.output.shape
    return WindowedLayer(
        batch,
        Size(height, width),
        channels,
        Size(*weights[1:3]),
        weights[3] if node.op == "conv2d" else 1,
        Size(rows, cols),
        outputs,
        Size(*attrs.strides),
        Size(attrs.padding.top, attrs.padding.left),
        Size(*attrs.dilations),
    )


def of_pool(node: Node) -> WindowedLayer:
    """Returns the geometry of an average_pool2d or max_pool2d."""
    attrs = pool2d.attributes(node)
    batch, height, width, channels = node.input(0).shape
    _, rows, cols, _ = node.output.shape
    return WindowedLayer(
        batch,
        Size(height, width),
        channels,
        Size(*attrs.window),
        1,
        Size(rows, cols),
        channels,
        Size(*attrs.strides),
        Size(attrs.padding.top, attrs.padding.left),
    )

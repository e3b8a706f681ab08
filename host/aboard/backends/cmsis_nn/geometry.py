"""Layers with windows as CMSIS-NN's functions see them: sizes, and which of its paths takes a layer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from aboard.ir import Node
from aboard.ops import conv2d, pool2d
from aboard.target import Target


class Unit(Enum):
    """The instructions that the library is compiled for, which its macros take from the compiler."""

    C = "c"
    DSP = "dsp"
    MVE = "mve"

    @classmethod
    def of(cls, host: Target) -> Unit:
        """Returns what the library uses on a CPU."""
        features = host.cpu.features if host.cpu.is_arm_m else frozenset()
        return cls.MVE if "mve" in features else cls.DSP if "dsp" in features else cls.C


@dataclass(frozen=True)
class Size:
    """Rows and columns; of a padding those above and on the left."""

    h: int
    w: int


@dataclass(frozen=True)
class WindowedLayer:
    """A layer whose window slides over images.

    Attributes:
        batch: Images.
        image: Of the input.
        channels: Of the input.
        taps: Of the window.
        depth: Input channels that one output channel of a convolution sees; 1 where each sees its own.
        result: Of the output.
        outputs: Channels of the output.
        stride: Pixels from a window to the next.
        padding: Pixels assumed above and on the left; those at the other ends follow from the sizes.
        dilation: Pixels from a tap to the next.
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
        """True for what the library computes as a product of matrices."""
        return self.taps == self.dilation == Size(1, 1) and self.padding == Size(0, 0)

    @property
    def is_1xn(self) -> bool:
        """True for what the library computes as a convolution in one direction."""
        in_words = self.stride.w * self.channels % 4 == 0
        return not self.is_1x1 and self.image.h == self.taps.h == self.dilation.w == 1 and in_words

    @property
    def is_dense(self) -> bool:
        """True when an output channel sees all input channels."""
        return self.depth == self.channels


def of_convolution(node: Node) -> WindowedLayer:
    """Returns the geometry of a conv2d; of a depthwise_conv2d with a depth of 1."""
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

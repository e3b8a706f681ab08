"""conv2d: convolution of an image with constant weights.

Operands: input [batch, height, width, channels], weights [outputs, window height, window width, channels / groups],
optional bias [outputs]. The shapes give the number of groups g: the first outputs / g channels of the result read
the first channels / g channels of the input, and so on.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, Node, TensorType
from aboard.ops import weighted
from aboard.ops.activation import Activation
from aboard.ops.box import Box
from aboard.ops.registry import SourceNode, register
from aboard.ops.weighted import Float64
from aboard.ops.weighted_op import WeightedOp
from aboard.ops.window import Padding, output_size, padding_from_tflite, reach, seen

#: Axis of the output channels in the weights.
AXIS = 0


@dataclass(frozen=True)
class ConvAttributes(Attributes):
    """Movement of the window, and the activation.

    Attributes:
        strides: Pixels from one window to the next (down, right).
        padding: Pixels around the input; they have the real value 0.
        dilations: Pixels from one tap of the window to the next (down, right).
        activation: The activation of the result.
    """

    strides: tuple[int, int] = (1, 1)
    padding: Padding = field(default_factory=Padding)
    dilations: tuple[int, int] = (1, 1)
    activation: Activation = Activation.NONE


def attributes(node: Node) -> ConvAttributes:
    """Returns the attributes of a conv2d or depthwise_conv2d."""
    return cast(ConvAttributes, node.attrs)


def window(node: Node) -> tuple[int, int]:
    """Returns height and width of the window of a conv2d or depthwise_conv2d."""
    _, height, width, _ = node.input(1).shape
    return height, width


def attributes_from_tflite(source: SourceNode) -> ConvAttributes:
    """Returns the attributes of a convolution of a TFLite file.

    Raises:
        ModelError: Input or weights are not images, or an option is not supported.
    """
    shape_in, shape_weights = source.input(0).shape, source.input(1).shape
    wrong = image_problem(shape_in, shape_weights)
    if wrong is not None:
        raise source.unsupported(f"{wrong}. Export the model with a fixed input shape")
    strides = int(source.options["StrideH"]), int(source.options["StrideW"])
    dilations = int(source.options["DilationHFactor"]), int(source.options["DilationWFactor"])
    size, taps_of_window = (shape_in[1], shape_in[2]), (shape_weights[1], shape_weights[2])
    padding = padding_from_tflite(source, size, taps_of_window, strides, dilations)
    return ConvAttributes(strides, padding, dilations, Activation.from_tflite(source))


def image_problem(shape_in: Sequence[int], shape_weights: Sequence[int]) -> str | None:
    """Returns the error in the ranks of input and weights as text, or None."""
    if len(shape_in) != 4 or len(shape_weights) != 4:
        return f"ranks of input and weights, got {len(shape_in)} and {len(shape_weights)}, expected 4 and 4"
    return None


def window_problem(node: Node) -> str | None:
    """Returns the error in strides, dilations and padding as text, or None."""
    attrs, size = attributes(node), window(node)
    padding = attrs.padding
    if min(*attrs.strides, *attrs.dilations) < 1:
        return f"strides and dilations, got {attrs.strides} and {attrs.dilations}, expected at least 1"
    if min(padding.top, padding.left, padding.bottom, padding.right) < 0:
        return f"padding, got {padding}, expected at least 0"
    height, width = node.input(0).shape[1:3]
    if min(output_size((height, width), size, attrs.strides, padding, attrs.dilations)) < 1:
        return f"window of {size[0]}x{size[1]}, got an image of {height}x{width}, expected a larger image"
    return None


def output_shape(node: Node, channels: int) -> tuple[int, int, int, int]:
    """Returns the shape of the result of a convolution."""
    attrs = attributes(node)
    batch, height, width, _ = node.input(0).shape
    return batch, *output_size((height, width), window(node), attrs.strides, attrs.padding, attrs.dilations), channels


def pixels(node: Node, box: Box) -> tuple[Box, Padding] | None:
    """Returns the pixels in the receptive field of a part of a result, with the part's channels, and their padding."""
    attrs = attributes(node)
    _, height, width, _ = node.input(0).shape
    return seen(box, (height, width), window(node), attrs.strides, attrs.padding, attrs.dilations)


def _by_group(pixels: Float64, tap: Float64, groups: int) -> Float64:
    """Returns the products of the channels of each group with the weights of its results, [b, h, w, results]."""
    per_group = zip(np.split(pixels, groups, -1), np.split(tap, groups), strict=True)
    return np.concatenate([part @ matrix.T for part, matrix in per_group], -1)


def taps(node: Node, x: Float64) -> list[Float64]:
    """Returns, for each tap of the window row by row, the pixels of a padded image [b, h, w, c] that it multiplies.

    Args:
        node: A convolution, for its strides, dilations and padding.
        x: The input, in which 0 is the real value 0.
    """
    attrs, size = attributes(node), window(node)
    padding, strides, dilations = attrs.padding, attrs.strides, attrs.dilations
    padded = np.pad(x, ((0, 0), (padding.top, padding.bottom), (padding.left, padding.right), (0, 0)))
    rows = (padded.shape[1] - reach(size[0], dilations[0])) // strides[0] * strides[0] + 1
    cols = (padded.shape[2] - reach(size[1], dilations[1])) // strides[1] * strides[1] + 1
    return [
        padded[:, top : top + rows : strides[0], left : left + cols : strides[1]]
        for top in range(0, size[0] * dilations[0], dilations[0])
        for left in range(0, size[1] * dilations[1], dilations[1])
    ]


class Convolution(WeightedOp):
    """Either convolution: windows over an image, products with constant weights."""

    attributes = ConvAttributes

    @abstractmethod
    def weights_problem(self, node: Node) -> str | None:
        """Returns what is wrong with channels, weights, types or scales as text, or None."""

    @override
    def problem(self, node: Node) -> str | None:
        ranks = image_problem(node.input(0).shape, node.input(1).shape)
        return ranks or self.weights_problem(node) or window_problem(node)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        shape = output_shape(node, node.input(1).shape[self.weights_axis])
        return [TensorType(shape, node.output.dtype, node.output.type.quant)]

    @override
    def box_padding(self, node: Node, box: Box) -> tuple[int, int, int, int] | None:
        found = pixels(node, box)
        return None if found is None else found[1].sides


@register
class Conv2d(Convolution):
    """Convolution: each output reads all input channels, or the channels of one group."""

    name = "conv2d"
    tflite = ("CONV_2D",)
    weights_axis = AXIS

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        return weighted.with_bias_type(source, self.imported(source, attributes_from_tflite(source)))

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Computes the convolution tap by tap with matrix products of doubles (exact for integers)."""
        x, weights, bias = weighted.values(operands)
        real = weighted.real_weights(node, weights, AXIS)
        groups = x.shape[3] // weights.shape[3]
        sums = np.zeros(output_shape(node, weights.shape[AXIS]))
        views = taps(node, weighted.centered(node, x))
        for view, tap in zip(views, real.reshape(real.shape[0], -1, real.shape[3]).swapaxes(0, 1), strict=True):
            sums += view @ tap.T if groups == 1 else _by_group(view, tap, groups)
        return [weighted.finish(node, sums, bias, attributes(node).activation, AXIS)]

    @override
    def operand_boxes(self, node: Node, box: Box) -> list[Box | None] | None:
        """Returns the pixels in the windows, with the channels of the same groups, and the weights of the outputs."""
        found = pixels(node, box)
        if found is None:
            return None
        channels, weights = node.input(0).shape[3], node.input(1).shape
        per_group = weights[0] * weights[3] // channels
        first, last = box.start[3] // per_group, (box.stop[3] - 1) // per_group
        image = found[0].on(3, first * weights[3], (last + 1) * weights[3])
        return [image, *weighted.boxes_by_channel(node, AXIS, box)]

    @override
    def macs(self, node: Node) -> int:
        return node.output.type.elements * math.prod(node.input(1).shape[1:])

    @override
    def weights_problem(self, node: Node) -> str | None:
        channels, weights = node.input(0).shape[3], node.input(1).shape
        groups, rest = divmod(channels, weights[3])
        if rest or weights[0] % groups:
            return (
                f"channels, got {channels} of the input with weights of {weights[3]} for {weights[0]} outputs, "
                "expected input and outputs to be divisible into equal groups"
            )
        return weighted.problem(node, AXIS)

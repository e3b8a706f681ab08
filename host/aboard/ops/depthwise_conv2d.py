"""depthwise_conv2d: convolution of every channel of an image with its own windows.

Operands: input [batch, height, width, channels], weights [1, window height, window width, channels * multiplier],
optional bias [channels * multiplier]. Output channel n reads input channel n // multiplier.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ops import weighted
from aboard.ops.box import Box
from aboard.ops.conv2d import (
    Convolution,
    attributes,
    attributes_from_tflite,
    output_shape,
    pixels,
    taps,
    window,
)
from aboard.ops.registry import SourceNode, register

#: Axis of the output channels in the weights.
AXIS = 3


def depth_multiplier(node: Node) -> int:
    """Returns the number of output channels per input channel."""
    return node.input(1).shape[3] // node.input(0).shape[3]


@register
class DepthwiseConv2d(Convolution):
    """Depthwise convolution; its attributes are those of conv2d."""

    name = "depthwise_conv2d"
    tflite = ("DEPTHWISE_CONV_2D",)
    weights_axis = AXIS

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        node = self.imported(source, attributes_from_tflite(source))
        stated = int(source.options["DepthMultiplier"])
        if stated != depth_multiplier(node):
            raise source.unsupported(
                f"depth multiplier, got {stated}, expected {depth_multiplier(node)} as the shapes have it. "
                "Export the model again"
            )
        return node

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Computes the convolution tap by tap in doubles (exact for integers)."""
        x, weights, bias = weighted.values(operands)
        real = weighted.real_weights(node, weights, AXIS)
        repeated = weighted.centered(node, x).repeat(depth_multiplier(node), axis=-1)
        sums = np.zeros(output_shape(node, weights.shape[AXIS]))
        for view, tap in zip(taps(node, repeated), real.reshape(-1, real.shape[AXIS]), strict=True):
            sums += view * tap
        return [weighted.finish(node, sums, bias, attributes(node).activation, AXIS)]

    @override
    def operand_boxes(self, node: Node, box: Box) -> list[Box | None] | None:
        """Returns the pixels in the windows, with the input channels of the outputs, and the weights of the outputs."""
        found = pixels(node, box)
        if found is None:
            return None
        multiplier = depth_multiplier(node)
        image = found[0].on(3, box.start[3] // multiplier, -(-box.stop[3] // multiplier))
        return [image, *weighted.boxes_by_channel(node, AXIS, box)]

    @override
    def macs(self, node: Node) -> int:
        return node.output.type.elements * math.prod(window(node))

    @override
    def weights_problem(self, node: Node) -> str | None:
        channels, weights = node.input(0).shape[3], node.input(1).shape
        if weights[0] != 1 or weights[3] % channels:
            return (
                f"shape of weights, got {weights} for an input of {channels} channels, expected (1, height, width, "
                f"a multiple of {channels})"
            )
        # The reference reads every bias of an int16 layer as int64.
        return weighted.problem(node, AXIS, narrow=False)

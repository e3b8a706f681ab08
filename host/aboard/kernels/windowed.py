"""The common part of conv2d and depthwise_conv2d implementations: the movement of windows over the operand."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
from aboard.kernels.contract import ROLLING_ROW_COST, Implementation, RowWise
from aboard.kernels.overlap import Reads, SlidingWindow, distance
from aboard.kernels.view import View
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT, WEIGHTS


def groups(node: Node) -> int:
    """Returns the number of groups of a conv2d's channels."""
    return node.input(INPUT).shape[3] // node.input(WEIGHTS).shape[3]


def has_one_channel(node: Node) -> bool:
    """Returns whether a conv2d has a single channel, which kernels of several channels would compute with others."""
    return groups(node) == node.output.shape[3] == 1


def is_pointwise(node: Node) -> bool:
    """Returns whether each result pixel of a conv2d is computed of the operand's pixel at the same place."""
    attrs = op.attributes(node)
    return op.window(node) == (1, 1) and attrs.strides == (1, 1) and not attrs.padding.any


def sliding_window(node: Node) -> SlidingWindow:
    """Returns the window of a conv2d or depthwise_conv2d."""
    attrs = op.attributes(node)
    return SlidingWindow(op.window(node), attrs.strides, attrs.padding, node.output.shape[0], attrs.dilations)


class Windowed(Implementation):
    """A kernel that computes its results row by row, pixel by pixel."""

    strided = True

    def reads(self, node: Node) -> Reads:
        """Returns the time of the kernel's last read of a window."""
        return Reads.PIXEL

    @override
    def overlap(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View]) -> int | None:
        return distance(sliding_window(node), packing.view(inputs), outputs[0], self.reads(node))


class Convolution(Windowed):
    """A conv2d; each group of channels covers all pixels before the next group, so no operand may be overwritten."""

    op = "conv2d"

    @override
    def overlap(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View]) -> int | None:
        return super().overlap(node, inputs, outputs) if groups(node) == 1 else None


class PixelPairs(Convolution):
    """A conv2d of two pixels at once, whose windows are copied before results are written."""

    @override
    def reads(self, node: Node) -> Reads:
        return Reads.FIRST

    @override
    def row_wise(self, node: Node) -> RowWise:
        """Two rows at once if a row has an odd number of pixels."""
        return RowWise(1 + node.output.shape[2] % 2)

    @override
    def rolling_cost(self, node: Node) -> float:
        """Counts the rows of the windows of a pair; pixels that are no whole words are copied once more."""
        height, width = op.window(node)
        pixels = -(-node.output.shape[1] * node.output.shape[2] // 2) * 2
        depth = node.input(INPUT).shape[3]
        copied = height * width * depth // 4 if depth // groups(node) % 4 else 0
        return pixels * (groups(node) * height * ROLLING_ROW_COST + copied)

    @override
    def growth(self, node: Node, rows: int) -> float:
        """Counts pixels without a partner, which are computed as pairs."""
        pixels = rows * node.output.shape[2]
        return (pixels + pixels % 2) / pixels

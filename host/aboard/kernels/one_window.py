"""Depthwise convolutions with one window in each image, so that each channel has one result: which taps there are.

Every depthwise layer of a streaming network is one: its window is what the layer remembers of the stream. Taps in
padding are left out. Padding is the zero point, so that they contribute nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aboard.ir import Array, Node
from aboard.kernels.view import View
from aboard.ops import depthwise_conv2d as op
from aboard.ops.conv2d import attributes, window
from aboard.ops.weighted import INPUT


@dataclass(frozen=True)
class Lines:
    """Lines of taps of one distance.

    Attributes:
        count: Lines; as few as the distances of rows and pixels allow.
        taps: Taps of a line.
        first: Bytes from an image to its first tap.
        tap: Bytes from a tap to the next one of its line.
        line: Bytes from a line to the next one; 0 for a single line.
    """

    count: int
    taps: int
    first: int
    tap: int
    line: int


@dataclass(frozen=True)
class Taps:
    """The taps of a window that are in the image.

    Attributes:
        rows: Rows of the image that have taps, and those of the window.
        cols: Columns of the image that have taps, and those of the window.
    """

    rows: tuple[range, range]
    cols: tuple[range, range]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of taps."""
        return len(self.rows[0]), len(self.cols[0])

    def lines(self, x: View) -> Lines:
        """Returns the lines of taps in a view of the operand without a rolling buffer."""
        (rows, cols), row = self.shape, self.rows[0].step * x.row_stride
        first = self.rows[0].start * x.row_stride + self.cols[0].start * x.pixel_stride
        tap = self.cols[0].step * x.pixel_stride
        if cols == 1:
            return Lines(1, rows, first, row, 0)
        if rows == 1 or row == cols * tap:
            return Lines(1, rows * cols, first, tap, 0)
        return Lines(rows, cols, first, tap, row)

    def kept(self, node: Node, weights: Array) -> Array:
        """Returns the weights of the taps, [channels, taps], of those of all taps of a node."""
        windows = weights.reshape(len(weights), *window(node))
        rows, cols = (slice(each.start, each.stop) for each in (self.rows[1], self.cols[1]))
        return np.ascontiguousarray(windows[:, rows, cols]).reshape(len(weights), -1)


def refusal(node: Node) -> str | None:
    """Returns why a depthwise convolution does not have one result for each channel of an image; None if it has."""
    if node.output.shape[1:3] != (1, 1):
        return "is for one window in each image"
    return "is for a depth multiplier of 1" if op.depth_multiplier(node) != 1 else None


def taps(node: Node) -> Taps:
    """Returns the taps of the only window of an image that are no padding."""
    attrs = attributes(node)
    before = (attrs.padding.top, attrs.padding.left)
    sizes = node.input(INPUT).shape[1:3]
    rows, cols = (
        _inside(size, count, dilation, pad)
        for size, count, dilation, pad in zip(sizes, window(node), attrs.dilations, before, strict=True)
    )
    return Taps(rows, cols)


def _inside(size: int, count: int, dilation: int, pad: int) -> tuple[range, range]:
    """Returns the pixels of an axis of the image that have taps, and their numbers in the window."""
    first = -(-pad // dilation)
    last = max(first, min(count, (size + pad - 1) // dilation + 1))
    return range(first * dilation - pad, last * dilation - pad, dilation), range(first, last)

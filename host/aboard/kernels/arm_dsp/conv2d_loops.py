"""The work of the loops of int8 convolutions of pixel pairs with the DSP extension (`KernelCall.loops`).

A multiply-accumulate is 1. The other figures are cycles of Cortex-M4, fitted to the samples of three kernels whose
windows `arm_dsp/conv2d_windows.h` copies: those kernels have their cost of a product and of a result, and the rest is
common to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from aboard.ir import Node
from aboard.kernels import loops
from aboard.kernels.arm_dsp import dot
from aboard.kernels.windowed import groups, is_pointwise
from aboard.ops import conv2d
from aboard.ops.weighted import INPUT

#: A tap group of a window, and the row of a window that begins it.
_TAP_GROUP, _ROW = 5.5, 20

#: A pixel of whole tap groups that is found by itself, because the window has gaps or padding.
_PIXEL = 27

#: A byte of the rest of a window's row, of which several rows make a tap group.
_REST = 5.5

#: A window that is copied before, because its rows have gaps or padding, a byte of it, and a pixel of a row with gaps.
_COPIED, _BYTE, _APART = 150, 2.4, 9


@dataclass(frozen=True)
class Windows:
    """How windows are copied.

    Attributes:
        taps: Taps of a window in whole tap groups.
        lines: True if windows are copied row by row, False if from pixels of whole tap groups.
        row_ends: True if the rest of each row is a tap group of its own.
    """

    taps: int
    lines: bool
    row_ends: bool

    def work(self, node: Node) -> float:
        """Returns the work of copying the windows of all pixels of a conv2d."""
        pixels = prod(node.output.shape[:3]) * groups(node)
        work = pixels * self.taps / dot.TAP_GROUP * _TAP_GROUP
        if is_pointwise(node):
            return work
        height, width = conv2d.window(node)
        gaps, dense = loops.windows_with_gaps(node) * groups(node), loops.is_dense(node)
        if not self.lines:
            return work + gaps * height * width * _PIXEL + (pixels * height * _ROW if dense else 0)
        row = width * (node.input(INPUT).shape[3] // groups(node))
        rest = 0 if self.row_ends else row % dot.TAP_GROUP
        apart = 0 if dense else width * _APART
        return work + pixels * height * rest * _REST + gaps * (_COPIED + height * (row * _BYTE + apart))


def of_pixel_pairs(node: Node, block: int, windows: Windows, call: int) -> int:
    """Returns the work of a conv2d of two pixels at once.

    Args:
        node: The node.
        block: Channels at once.
        windows: How windows are copied.
        call: Work of a pixel besides its window and its results.
    """
    pixels, count = prod(node.output.shape[:3]), groups(node)
    results = loops.padded(pixels, 2) * count * loops.padded(node.output.shape[3] // count, block)
    return round(results * (windows.taps + loops.RESULT) + windows.work(node) + call * pixels * count)

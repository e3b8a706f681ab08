"""The work of a kernel's loops (`KernelCall.loops`), counted by blocks: results computed for nothing count too.

A multiply-accumulate is 1; the other figures are the ratios that fit the samples of Cortex-M4, M3 and RV32 best.
"""

from __future__ import annotations

from math import prod

from aboard.ir import Node
from aboard.kernels.windowed import groups
from aboard.ops import conv2d
from aboard.ops.weighted import INPUT, WEIGHTS
from aboard.ops.window import reach

#: Work of a result outside of its taps.
RESULT = 10

#: Work of widening an element.
_WIDENED = 2

#: Work of a run of bytes that is copied, of its words, and of its further bytes.
_RUN, _WORD, _BYTE = 10, 4, 5


def of_matrix(node: Node, block: int, *, widened: bool = False) -> int:
    """Returns the work of a fully_connected node that computes blocks of channels.

    Args:
        node: The node.
        block: Channels at once.
        widened: True if the elements of each sample are widened first.
    """
    channels, taps = node.input(WEIGHTS).shape
    sample = padded(channels, block) * (taps + RESULT) + (_WIDENED * taps if widened else 0)
    return prod(node.output.shape) // channels * sample


def of_pixel_pairs(node: Node, block: int, taps: int, single: int = 0, run: int = 0) -> int:
    """Returns the work of a conv2d that copies the windows of two pixels, and computes blocks of channels of both.

    Args:
        node: The node.
        block: Channels at once.
        taps: Taps of a result, with those that are padded.
        single: Work of copying a byte of a window with gaps or padding, if these are copied one by one.
        run: Work of each run of bytes of such a window.
    """
    pixels, count = prod(node.output.shape[:3]), groups(node)
    results = padded(pixels, 2) * count * padded(node.output.shape[3] // count, block)
    copied = 0 if _is_pixel(node) else pixels * _copies(node)
    if single or run:
        bytes_each = prod(conv2d.window(node)) * node.input(INPUT).shape[3]
        copied += windows_with_gaps(node) * (single * bytes_each + run * _runs(node))
    return results * (taps + RESULT) + copied


def padded(count: int, block: int) -> int:
    """Returns a number of results with those that are computed for nothing, in whole blocks."""
    return -(-count // block) * block


def _is_pixel(node: Node) -> bool:
    """True if each window is a pixel of the operand, which is not copied."""
    return conv2d.window(node) == (1, 1) and not conv2d.attributes(node).padding.any


def is_dense(node: Node) -> bool:
    """True if a row of a window is a run of bytes."""
    return conv2d.window(node)[1] == 1 or (groups(node) == 1 and conv2d.attributes(node).dilations[1] == 1)


def _copies(node: Node) -> int:
    """Returns the work of copying the window of a pixel, run by run."""
    depth = node.input(INPUT).shape[3] // groups(node)
    run = conv2d.window(node)[1] * depth if is_dense(node) else depth
    whole, rest = divmod(run, 4)
    return _runs(node) * (_RUN + _WORD * whole + _BYTE * rest)


def _runs(node: Node) -> int:
    """Returns the runs of bytes of a window."""
    height, width = conv2d.window(node)
    return height * (1 if is_dense(node) else width) * groups(node)


def windows_with_gaps(node: Node) -> int:
    """Returns the windows whose rows have gaps, or that are partly padding."""
    attrs, results = conv2d.attributes(node), node.output.shape[1:3]
    axes = zip(
        node.input(INPUT).shape[1:3],
        results,
        conv2d.window(node),
        attrs.strides,
        attrs.dilations,
        (attrs.padding.top, attrs.padding.left),
        strict=True,
    )
    rows, cols = (
        sum(0 <= n * step - before <= size - reach(taps, gap) for n in range(count))
        for size, count, taps, step, gap, before in axes
    )
    whole = rows * cols if is_dense(node) else 0
    return node.output.shape[0] * (prod(results) - whole)

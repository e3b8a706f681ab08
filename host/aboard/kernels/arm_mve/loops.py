"""The work of the loops of Helium kernels (`KernelCall.loops`): instructions of blocks, and of copies around them.

Blocks are assembly, so their instructions are known; what C adds to them is what fits the samples of Cortex-M55 best.
"""

from __future__ import annotations

from aboard.ir import Node
from aboard.kernels.arm_mve.epilogue import HIGH, LANES, LOW, EpilogueForm, EpilogueMve
from aboard.kernels.view import View
from aboard.kernels.windowed import groups
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT

#: Loops count in eighths of an instruction: about those of a multiply-accumulate, which is 1 in other kernels too.
UNIT = 8

#: ABOARD_MVE_UNROLLED of `arm_mve/sums.h`: chunks that are computed without a loop.
UNROLLED = 12

#: Instructions for a chunk of two windows and four channels.
PAIR = 14

#: Bytes of a chunk, and of four, which a loop copies at once.
CHUNK, _LOOP = 16, 64

#: Instructions around the copy of a row into a line buffer.
_LINE = 15

#: Instructions that lower a limit, or raise it, and of the constants of four channels.
_LIMITED, _CONSTANTS = 3, 3

#: Instructions that scale and narrow four sums.
_SCALED = {EpilogueForm.SINGLE: 5, EpilogueForm.DOUBLE_RIGHT: 10, EpilogueForm.DOUBLE: 11, EpilogueForm.PRODUCTS: 7}


def over(count: int, size: int) -> int:
    """Returns the blocks of a size that contain `count`."""
    return -(-count // size)


def is_limited(result: EpilogueMve) -> bool:
    """True if results have limits inside of int8."""
    return (result.params["low"], result.params["high"]) != (LOW, HIGH)


def short_refusal(result: EpilogueMve) -> str | None:
    """Returns why kernels without limits and left shifts do not compute results, or None if they do."""
    if is_limited(result):
        return "is for results without limits"
    return "is for multipliers below 1" if result.form is EpilogueForm.DOUBLE else None


def four_results(result: EpilogueMve) -> int:
    """Returns the instructions that convert four sums and store them, by `arm_mve/epilogue.h`."""
    return _SCALED[result.form] + (_LIMITED if result.is_single and is_limited(result) else 0) + 1


def of_block(sums: int, vectors: int, result: EpilogueMve) -> int:
    """Returns the instructions of a block of four channels: its sums, and its results, `vectors` of them."""
    return sums + _CONSTANTS + vectors * four_results(result)


def pair_sums(rows: int, chunks: int) -> int:
    """Returns the instructions of the sums of two windows and four channels, `aboard_mve_pair`."""
    products = PAIR * rows * chunks + LANES
    return products + (2 * (rows - 1) if rows * chunks <= UNROLLED else 8 + 4 * rows)


def copied(count: int) -> int:
    """Returns the instructions that copy a literal number of bytes, `aboard_mve_copy`."""
    if count > _LOOP:
        return copied_looped(count)
    return 2 * (count // CHUNK) + (4 if count % CHUNK else 0)


def copied_looped(count: int) -> int:
    """Returns the instructions that copy bytes in loops of the core."""
    return 9 * (count // _LOOP) + 3 * over(count % _LOOP, CHUNK) + 5


def copied_and_more(count: int) -> int:
    """Returns the instructions that copy bytes and may exceed them, `aboard_mve_copy_and_more`."""
    return 2 * over(count, CHUNK)


def line_buffer(node: Node, x: View, cols: int, *, row: int, lines: int) -> int:
    """Returns the instructions that fill the line buffer of all rows of a conv2d.

    Args:
        node: The node.
        x: View of its operand.
        cols: Pixels of a row of the line buffer; 0 without one.
        row: Instructions around the copies for a row of results.
        lines: Rows of results whose windows it holds at once; 0 if it is filled anew for each.
    """
    if cols == 0:
        return 0
    (height, _), attrs, (images, results) = op.window(node), op.attributes(node), node.output.shape[:2]
    kept = max(height - attrs.strides[0], 0) if lines else 0
    pixels = min(x.cols, cols - attrs.padding.left)
    padding = (attrs.padding.left, cols - attrs.padding.left - pixels)
    line = _LINE + copied_looped(pixels * x.channels) + sum(3 + 2 * over(n * x.channels, CHUNK) for n in padding)
    new, moved = height + (results - 1) * (height - kept), (over(results, lines or 1) - 1) * kept
    return images * (results * row + new * line + moved * copied_looped(cols * x.channels))


def windows(node: Node, count: int, *, scattered: bool, lies: bool) -> int:
    """Returns the instructions that copy windows of a conv2d, each into an im2col column.

    Args:
        node: The node.
        count: Windows, those of each group.
        scattered: True if the taps of a row are copied one by one, for two windows at once.
        lies: True if windows are read from the input, of which no byte may be read beyond them.
    """
    height, width = op.window(node)
    depth = node.input(INPUT).shape[3] // groups(node)
    if scattered:
        return over(count, 2) * height * (width * (4 * ((depth - 1) // CHUNK) + 6) + 4)
    run = width * depth
    return count * height * ((copied(run) if lies else copied_and_more(run)) + 2)

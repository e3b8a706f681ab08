"""The work of the loops of conv2d with Helium (`KernelCall.loops`)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from aboard.ir import Node
from aboard.kernels.arm_mve import loops
from aboard.kernels.arm_mve.conv2d_four_pixels import (
    FourPixels,
    Source,
    is_unrolled,
    run_sums,
    sums_of_row,
)
from aboard.kernels.arm_mve.epilogue import LANES, EpilogueForm, EpilogueMve
from aboard.kernels.arm_mve.four_pixels_columns import PIXELS
from aboard.kernels.arm_mve.four_pixels_last import saved_by_last
from aboard.kernels.arm_mve.line_buffer import scattered
from aboard.kernels.view import View
from aboard.kernels.windowed import groups
from aboard.ops import conv2d as op

#: Instructions around the blocks of four pixels, by the source of their windows and for whole rows of gathered windows;
#: and those that gather a chunk of four windows, and more of bytes with offsets of 16 bits.
_FOUR = {Source.DIRECT: 13, Source.LINE_BUFFER: 9, Source.IM2COL: 19}
_WHOLE_ROWS, _GATHERED, _FAR = 24, 15, 10

#: Instructions around a copy of one of the last pixels of a row, and around four of them.
_COPY, _COPIES = 4, 20

#: Instructions around a copy of four pixels before their results are written over them.
_STAGED = 6

#: Instructions of a window that is copied alone, and around the copies of a row of a line buffer.
_SINGLE, _LINE, _LINE_OF_WHOLE_ROWS, _LINE_OF_PAIRS = 25, 100, 0, 30

#: Instructions of four pixels and two channels with windows of one chunk: about.
_FOUR_CHUNKS = 28

#: Instructions around the blocks of two pixels, and of a block beside its sums and results.
_PAIR, _BLOCK = 14, 7

#: Instructions for a pixel and four channels with a window of one chunk, and for those of all pixels.
_ALONE, _ALONE_CONSTANTS = 14, 14


def of_four_pixels(node: Node, x: View, y: View, lines: int, found: FourPixels, result: EpilogueMve) -> int:
    """Returns the work of four pixels and two channels at once; `lines` as in `loops.line_buffer`."""
    images, rows, cols = node.output.shape[:3]
    together = found.joined and not scattered(node)
    runs = ceil(images * rows * cols / PIXELS) if together else images * rows * ceil(cols / PIXELS)
    channels = y.channels // groups(node)
    each = ceil(channels / 2) * (_sums(found) + _results(found, result) + channels % 2)
    copied = 0
    if found.whole_rows:
        each += 4 * (2 * found.chunks - 1) + found.chunks + _WHOLE_ROWS
    elif found.gather is not None:
        each += (_GATHERED + _FAR * found.gather.far) * found.chunks + _FOUR[found.source]
    else:
        each += _FOUR[found.source]
    if found.source is Source.IM2COL and found.gather is None:
        count = PIXELS * runs * groups(node) if scattered(node) else images * rows * cols
        copied = loops.windows(node, count, scattered=scattered(node), lies=found.cols == 0)
        copied += 0 if scattered(node) else _SINGLE * (count - PIXELS * _copied_together(node, found))
    if found.staged:
        each += _STAGED + 2 * PIXELS * found.chunks
    elif found.last > 0:
        copied = -saved_by_last(found, ceil(channels / 2)) * (1 if together else images * rows)
    elif found.source is Source.DIRECT and found.copies and (cols % PIXELS or found.joined):
        run = op.window(node)[1] * x.channels
        copied = (1 if together else images * rows) * (PIXELS * (loops.copied(run) + _COPY) + _COPIES)
    row = _LINE_OF_WHOLE_ROWS if found.whole_rows else _LINE
    copies = loops.line_buffer(node, x, found.cols, row=row, lines=lines)
    return round(loops.UNIT * (runs * groups(node) * each + copied + copies))


def _sums(found: FourPixels) -> int:
    """Returns the instructions of the sums of four pixels and two channels."""
    if found.source is not Source.LINE_BUFFER:
        return run_sums(found)
    rows = found.rows * (sums_of_row(found) + 1)
    return rows if is_unrolled(found) else rows + 2 * found.rows + 2 + (0 if found.begun else 8)


def _copied_together(node: Node, found: FourPixels) -> int:
    """Returns how often four windows are copied at once: neighbours in a line buffer, while none waits for others."""
    images, rows, cols = node.output.shape[:3]
    if found.cols == 0:
        return 0
    waiting = [-row * cols % PIXELS if found.joined else 0 for row in range(images * rows)]
    return sum((cols - min(cols, each)) // PIXELS for each in waiting)


def _results(found: FourPixels, result: EpilogueMve) -> float:
    """Returns the instructions of eight results, and those of the loop over channels for them."""
    shifted = 7 if found.ends else 10
    scaled = {EpilogueForm.SINGLE: 4, EpilogueForm.PRODUCTS: 6}.get(result.form, shifted)
    return 7 + scaled + (1 if found.begun else 2) + (2.5 if found.words else 5)


@dataclass(frozen=True)
class PixelPairs:
    """How a conv2d computes two pixels and four channels at once.

    Attributes:
        rows: Runs of chunks that a window consists of, or its im2col column.
        chunks: Chunks of a run.
        cols: Pixels of a row of the line buffer; 0 without one.
        column: True if windows are copied.
        joined: True if rows of results are one run.
        alone: True if a window is a chunk that is computed alone.
    """

    rows: int
    chunks: int
    cols: int
    column: bool
    joined: bool
    alone: bool


def of_chunks(rows: int, cols: int, channels: int) -> int:
    """Returns the instructions of pixels whose windows are a chunk, computed alone."""
    return rows * ceil(channels / LANES) * (_ALONE_CONSTANTS + _ALONE * cols)


def of_fours(rows: int, cols: int, channels: int) -> int:
    """Returns about the instructions of such pixels, computed by four pixels at once."""
    return rows * ceil(cols / PIXELS) * (_FOUR[Source.DIRECT] + ceil(channels / 2) * _FOUR_CHUNKS)


def of_pixel_pairs(node: Node, x: View, y: View, lines: int, found: PixelPairs, result: EpilogueMve) -> int:
    """Returns the work of two pixels and four channels at once; `lines` as in `loops.line_buffer`."""
    images, rows, width = node.output.shape[:3]
    fours = ceil(y.channels // groups(node) / LANES)
    runs, width = (1, images * rows * width) if found.joined else (images * rows, width)
    if found.alone:
        return loops.UNIT * of_chunks(runs, width, y.channels)
    pairs = runs * ceil(width / 2) * groups(node)
    block = loops.of_block(loops.pair_sums(found.rows, found.chunks), 2, result) + _BLOCK
    copies = loops.line_buffer(node, x, found.cols, row=_LINE_OF_PAIRS, lines=lines)
    if found.column:
        copies += loops.windows(node, 2 * pairs, scattered=scattered(node), lies=found.cols == 0)
    return loops.UNIT * (pairs * (fours * block + _PAIR) + copies)

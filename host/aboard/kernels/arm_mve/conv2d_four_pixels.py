"""conv2d of int8 with Helium, four pixels times two channels at a time: the source of windows, and the packing.

`arm_mve/conv2d_four_pixels.h` needs fewer loads than blocks of two pixels and four channels (`arm_mve/conv2d.h`):
windows of neighbouring pixels overlap, and the first chunk of a 1x1 layer stays in registers. It requires channels
without limits, and windows whose four pixels are within the address offsets of instructions. The last two of an odd
number of channels are the last and the one before it, which is computed twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from aboard.ir import Array, Node
from aboard.ir.numerics import Int64
from aboard.kernels.arm_mve.epilogue import EpilogueForm, EpilogueMve
from aboard.kernels.arm_mve.four_pixels_columns import MAX_ADVANCE, PIXELS, Gather, gather_of
from aboard.kernels.arm_mve.line_buffer import dilations, keeps_lines, scattered
from aboard.kernels.contract import ConstantArg, PackedConstant, Scratch
from aboard.kernels.overlap import Reads
from aboard.kernels.view import Literal, View
from aboard.kernels.weights import padded
from aboard.kernels.windowed import groups
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT
from aboard.ops.window import reach

HEADER, FUNCTION = "arm_mve/conv2d_four_pixels.h", "aboard_conv2d_four_pixels_mve"

#: Bytes of a chunk.
CHUNK = 16

#: Channels that are written as a word, and the order in which pairs of them are computed.
QUAD, _ALTERNATING = 4, (0, 2, 1, 3)

#: Bytes of a unit of loads, the preferred first: halfwords and bytes have offsets up to a half and a fourth.
_LOADS = 4, 2, 1

#: Largest offset of a load of words, and of a scattered result.
MAX_OFFSET, MAX_SCATTER = 508, 0xFFFF

#: Instructions of a chunk of a phase apart from its taps, of a tap and of an epilogue, and bytes of one: of the longer
#: loop.
_CHUNK, _TAP, _EPILOGUE, INSTRUCTION = 3, 11, 18, 4

#: Chunks times taps of windows in a line buffer without a loop over rows: ABOARD_FOUR_PIXELS_UNROLLED.
_UNROLLED = 36

#: Instructions that results in words save for four channels, and those for reading a pixel again.
_SAVED, _AGAIN = 5, 2

#: Sums of two channels, and bytes of the copies of their biases.
_SUMS, _COPIES = 8, 24

#: Instructions that 1 and the zero point save if they are constants, and their bytes.
_ENDS_SAVED, _ENDS = 3, 8

#: With fewer pixels than this, pixel pairs are faster.
_LEAST_PIXELS = 3

#: Pixels that may be computed for each pixel of the result, before more rows at once are preferred.
_MOST_GROWTH = 1.07

#: Most taps of a phase for which neighbouring windows share loads.
_MAX_TAPS = 5


class Source(IntEnum):
    """ABOARD_FOUR_PIXELS_DIRECT, _BAND and _PATCH."""

    DIRECT = 0
    LINE_BUFFER = 1
    IM2COL = 2


@dataclass(frozen=True)
class FourPixels:
    """The source of windows.

    Attributes:
        source: The memory that windows are read from.
        joined: 1 if the rows of the result are contiguous, and for DIRECT the rows of the input; 2 if they are except
            at the end of a rolling buffer; 0 if not.
        cols: Pixels of a row of the line buffer; 0 without a line buffer.
        rows: Rows of a window in the line buffer, else 1.
        taps: Pixels of a window's row if neighbouring windows share loads, else 1.
        phases: Pixels from one window to the next if they share loads, else 1: they share every so many pixels.
        chunks: Chunks of a tap.
        distance: Bytes from one window to the next.
        copies: True if the last pixels are copied for DIRECT.
        keeps: True if the line buffer keeps its content from one row of results to the next.
        words: True if four channels of a pixel are written as a word.
        begun: True if sums begin with biases from a copy for each pixel.
        ends: True if constants of two channels end with 1 and the zero point, for two roundings.
        load: Bytes that all pixels are at multiples of for DIRECT; 4 for the others.
        gather: The units that windows are gathered in for IM2COL; None if rows are copied.
        whole_rows: True if a call computes whole groups of four pixels of each row, with gathered windows.
        staged: True if all pixels are copied for DIRECT, because results may lie over them.
        exceeds: True if the last chunk of a window ends behind it for DIRECT.
        back: Bytes that the last chunk begins earlier for DIRECT, so that it ends with the window.
        last: Pixels of the last group of each call for DIRECT, if it has instructions of its own or is whole; else 0.
    """

    source: Source
    joined: int
    cols: int
    rows: int
    taps: int
    chunks: int
    distance: int
    phases: int = 1
    copies: bool = False
    keeps: bool = True
    words: bool = False
    begun: bool = False
    ends: bool = False
    load: int = 4
    gather: Gather | None = None
    whole_rows: bool = False
    staged: bool = False
    exceeds: bool = False
    back: int = 0
    last: int = 0

    @property
    def reads_again(self) -> bool:
        """True if the register of the fourth pixel holds results, so that it is read for each two channels."""
        return self.words and self.chunks > 1

    @property
    def function(self) -> str:
        """The C function, for windows of contiguous rows where others have one of their own."""
        if self.whole_rows or self.staged:
            return FUNCTION + ("_staged" if self.staged else "_whole_rows")
        return FUNCTION + ("_gathered" if self.gather is not None else "")

    @property
    def offsets(self) -> tuple[ConstantArg, ...]:
        """The argument behind the weights: offsets of the units of a window, if it is gathered."""
        if self.gather is None or self.whole_rows:
            return ()
        return (ConstantArg(PackedConstant("offsets", self.gather.offsets(), align=CHUNK)),)

    @property
    def reads(self) -> Reads:
        """The time of the last read of a window."""
        return Reads.STAGED if self.cols else Reads.FOUR

    def params(self) -> Mapping[str, Literal]:
        """Returns the fields of `aboard_conv2d_four_pixels_mve_t` after the views."""
        names = ("source", "joined", "rows", "taps", "phases", "chunks", "distance", "words", "begun", "ends")
        more = ("back", "last") if self.source is Source.DIRECT else ()
        return {name: int(getattr(self, name)) for name in (*names, *more)} | {"unit": self.unit}

    @property
    def unit(self) -> int:
        """Bytes of a unit that loads read; 0 for rows that are copied."""
        if self.source is Source.DIRECT:
            return self.load
        return self.gather.form if self.gather else 0

    def scratch(self, buffer_bytes: int) -> Scratch:
        """Returns the scratch: line buffer, im2col columns or pixels, and the bytes that vectors read beyond these."""
        copies = self.copies and self.last == 0
        direct = 3 * self.distance + self.chunks * CHUNK if copies or self.staged else 0
        own = {Source.DIRECT: direct, Source.LINE_BUFFER: 0, Source.IM2COL: PIXELS * self.distance + CHUNK}[self.source]
        return Scratch(buffer_bytes + own, align=CHUNK, persistent=self.cols > 0 and self.keeps)


def possible(node: Node, x: View, y: View, result: EpilogueMve, *, sliding: bool = True) -> list[FourPixels]:
    """Returns the sources of windows for four pixels at a time, the preferred first; none if pixel pairs are better.

    Args:
        node: A convolution.
        x: View of the input.
        y: View of the result.
        result: The epilogue of its sums.
        sliding: True if neighbouring windows share loads where they can.
    """
    if y.rows * y.cols < _LEAST_PIXELS:
        return []
    limited = (result.params["low"], result.params["high"]) != (-128, 127)
    if limited or result.form is EpilogueForm.DOUBLE or not 0 <= 3 * y.pixel_stride < MAX_SCATTER:
        return []
    found = (_direct(node, x, y), _line_buffer(node, x, y, sliding=sliding), _im2col(node, x, y))
    return [each for each in found if each is not None]


def may_stage(node: Node, found: FourPixels | None) -> bool:
    """True if four pixels of a 1x1 layer can be copied before their results are written over them."""
    same = node.input(INPUT).shape == node.output.shape
    plain = op.window(node) == (1, 1) and groups(node) == 1 and node.output.shape[3] % CHUNK == 0
    if found is None or found.source is not Source.DIRECT or found.joined == 0:
        return False
    near = (PIXELS - 1) * found.distance + (found.chunks - 1) * CHUNK <= MAX_OFFSET
    return same and plain and near


def priced(node: Node, found: FourPixels, y: View, result: EpilogueMve, price: float) -> FourPixels:
    """Returns the source of windows with results in words, and with further constants, if these are worth their flash.

    Args:
        node: A convolution.
        found: The source of its windows.
        y: View of the result.
        result: The epilogue of its sums.
        price: Instructions that a byte of flash must save.
    """
    channels, runs = y.channels // groups(node), math.ceil(y.rows * y.cols / PIXELS)
    row = sums_of_row(found)
    unrolled = is_unrolled(found)
    # Sums of a loop over rows must begin with something.
    negative = result.form is EpilogueForm.DOUBLE_RIGHT and bool(np.all(result.rows[-1] < 0))
    copies = replace(
        found,
        begun=runs * (1 if unrolled else _SUMS + 1) >= price * _COPIES,
        ends=negative and runs * _ENDS_SAVED >= price * _ENDS,
    )
    if channels % QUAD or not aligned(y):
        return copies
    code = INSTRUCTION * (row * (found.rows if unrolled else 1) + _EPILOGUE)
    # A further chunk takes the register that holds results, and the fourth pixel is read again.
    saved = _SAVED - (_AGAIN if found.source is not Source.LINE_BUFFER and found.chunks > 1 else 0)
    return replace(copies, words=saved * groups(node) * (channels // QUAD) * runs >= price * code)


def sums_of_row(found: FourPixels) -> int:
    """Returns the instructions of the sums of a row of four windows and two channels."""
    return found.chunks * (_CHUNK * found.phases + _TAP * found.taps)


def run_sums(found: FourPixels) -> int:
    """Returns the instructions of the sums of four windows of a single run and two channels."""
    return 14 * found.chunks - (3 if found.reads_again else 4)


def is_unrolled(found: FourPixels) -> bool:
    """True if the rows of windows in a line buffer have no loop."""
    return found.rows * found.chunks * found.taps <= _UNROLLED


def aligned(view: View, unit: int = 4) -> bool:
    """True if all pixels of a view are at multiples of a number of bytes."""
    return all(bytes_ % unit == 0 for bytes_ in (view.offset, view.row_stride, view.pixel_stride))


def _joined(*views: View) -> int:
    """Returns the value of `FourPixels.joined` for views that all count."""
    if any(v.row_stride != v.cols * v.pixel_stride for v in views):
        return 0
    return 1 if all(v.buffer_rows >= v.rows for v in views) else 2


def _direct(node: Node, x: View, y: View) -> FourPixels | None:
    attrs, (height, width) = op.attributes(node), op.window(node)
    run, distance = width * x.channels, attrs.strides[1] * x.pixel_stride
    chunks, load = math.ceil(run / CHUNK), next(unit for unit in _LOADS if aligned(x, unit))
    # The last pixels are copied one by one, so windows must not overlap.
    alone = height == 1 and (width == 1 or (x.pixel_stride == x.channels and distance >= run))
    plain = alone and not scattered(node) and not attrs.padding.any
    if not (plain and distance + (chunks - 1) * CHUNK <= MAX_OFFSET * load // 4):
        return None
    joined = _joined(x, y) if attrs.strides == (1, 1) and width == 1 else 0
    back = -run % CHUNK if run > CHUNK and (run - CHUNK) % load == 0 else 0
    exceeds = run % CHUNK > 0 and back == 0
    return FourPixels(
        Source.DIRECT, joined, 0, 1, 1, chunks, distance, copies=exceeds or y.cols % PIXELS > 0, load=load,
        exceeds=exceeds, back=back,
    )  # fmt: skip


def _line_buffer(node: Node, x: View, y: View, *, sliding: bool) -> FourPixels | None:
    attrs, (height, width) = op.attributes(node), op.window(node)
    if x.channels % CHUNK or y.cols < PIXELS or scattered(node):
        return None
    stride, depth = attrs.strides[1], x.channels
    cols = (y.cols - 1) * stride + width
    shared = sliding and stride < width <= _MAX_TAPS * stride
    taps, phases, run = (width, stride, depth) if shared else (1, 1, width * depth)
    distance = stride * depth
    # The last pixel that a window has more than the one before: of all phases, the furthest.
    furthest = (PIXELS - 1) * distance + (taps - 1) * depth + run - CHUNK
    if furthest > MAX_OFFSET or cols * depth > MAX_ADVANCE:
        return None
    return FourPixels(
        Source.LINE_BUFFER, 0, cols, height, taps, run // CHUNK, distance, phases=phases, keeps=keeps_lines(node, y)
    )


def _im2col(node: Node, x: View, y: View) -> FourPixels | None:
    attrs, (height, width), (down, right) = op.attributes(node), op.window(node), dilations(node)
    lies = not attrs.padding.any and x.buffer_rows >= x.rows and x.pixel_stride == x.channels
    plain = lies and down == 1 and not scattered(node)
    cols = 0 if plain else (y.cols - 1) * attrs.strides[1] + reach(width, right)
    gather = gather_of(node, x, y, cols)
    if gather is None:
        chunks = math.ceil(height * width * x.channels // groups(node) / CHUNK)
        # Copies of rows may read beyond the last row.
        distance = (chunks + 1) * CHUNK
    else:
        chunks, distance = gather.chunks, gather.chunks * CHUNK
        cols = gather.stride // x.channels if cols else 0
    if distance + (chunks - 1) * CHUNK > MAX_OFFSET:
        return None
    joined = 0 if scattered(node) else _joined(y)
    step = attrs.strides[1] * (x.channels if cols else x.pixel_stride)
    near = gather is not None and not gather.far and 0 <= step <= MAX_ADVANCE
    whole_rows = near and (scattered(node) or y.cols % PIXELS == 0)
    return FourPixels(
        Source.IM2COL, joined, cols, 1, 1, chunks, distance, keeps=keeps_lines(node, y), gather=gather,
        whole_rows=whole_rows,
    )  # fmt: skip


def rows_at_once(node: Node, found: FourPixels) -> int:
    """Returns the rows whose pixels nearly fill groups of four: 1, 2 or 4.

    Args:
        node: A convolution.
        found: The source of its windows, with tensors stored whole.
    """
    counts = (1, 2, 4) if found.joined else (1,)
    return next((rows for rows in counts if growth(node, found, rows) <= _MOST_GROWTH), counts[-1])


def growth(node: Node, found: FourPixels, rows: int) -> float:
    """Returns the pixels that are computed for each pixel of the result, in stripes of a number of rows."""
    pixels = node.output.shape[2] * (rows if found.joined else 1)
    return -(-pixels // PIXELS) * PIXELS / pixels


def channels(total: int, count: int, *, words: bool = False) -> Int64:
    """Returns the channels in the order in which they are computed, two by two.

    Args:
        total: Channels of the result.
        count: Groups of channels; the last two of an odd number of channels begin with the one before them.
        words: True if four channels of a pixel are written as a word.
    """
    of_group = total // count
    if words:
        return np.arange(total).reshape(-1, QUAD)[:, _ALTERNATING].reshape(-1)
    firsts = np.clip(np.arange(0, of_group, 2), 0, max(of_group - 2, 0))
    pairs = np.minimum(firsts[:, np.newaxis] + np.arange(2), of_group - 1).reshape(-1)
    order: Int64 = (np.arange(count)[:, np.newaxis] * of_group + pairs).reshape(-1)
    return order


def pack(found: FourPixels, matrix: Array, result: EpilogueMve, count: int) -> PackedConstant:
    """Returns weights [channels, taps] and constants as a stream, two channels after two channels.

    Args:
        found: The source of windows.
        matrix: Weights.
        result: The epilogue.
        count: Groups of channels.
    """
    order = channels(len(matrix), count, words=found.words)
    pairs, rows, constants = len(order) // 2, found.rows, result.rows.T[order]
    if found.gather is not None:
        matrix = found.gather.spread(matrix)
    matrix = matrix[order]
    by_row = matrix.reshape(len(matrix) * rows, -1)
    if found.back:
        # The last chunk begins with bytes of the one before it.
        by_row = np.insert(by_row, [by_row.shape[1] - CHUNK + found.back] * found.back, 0, axis=1)
    full = padded(by_row.T, found.taps * CHUNK).T
    vectors = full.reshape(pairs, 2, rows, found.taps, found.chunks, CHUNK).transpose(0, 2, 4, 3, 1, 5)
    phases = [vectors[:, :, :, phase :: found.phases] for phase in range(found.phases)]
    weights = np.concatenate([each.reshape(pairs, rows, -1) for each in phases], 2).reshape(pairs, -1).view(np.int8)
    words = np.ascontiguousarray(constants.astype("<i4"))
    begin = np.repeat(words[:, :1], PIXELS, 1) if found.begun else words[:, :0]
    tail = words[:, 1:] if found.begun else words
    ends = np.tile(np.array([1, result.params["zero_point"]], "<i4"), (pairs if found.ends else 0, 1))
    parts = [np.ascontiguousarray(each).view(np.int8).reshape(pairs, -1) for each in (begin, weights, tail, ends)]
    stream = np.concatenate(parts, 1)
    if found.gather is not None and found.whole_rows:
        stream = np.concatenate([found.gather.offsets(), stream.reshape(-1)])
    return PackedConstant("weights", stream, align=CHUNK)

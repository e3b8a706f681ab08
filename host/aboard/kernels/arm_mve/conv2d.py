"""conv2d of int8 with Helium."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.kernels import weights as packing
from aboard.kernels.arm_mve import conv2d_four_pixels as four_pixels
from aboard.kernels.arm_mve import conv2d_loops
from aboard.kernels.arm_mve.epilogue import LANES, EpilogueMve, epilogue, refusal
from aboard.kernels.arm_mve.loops import CHUNK, UNROLLED
from aboard.kernels.contract import (
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    RowWise,
    Scratch,
    ScratchArg,
)
from aboard.kernels.overlap import Reads, distance
from aboard.kernels.registry import implements
from aboard.kernels.select.price import flash_price
from aboard.kernels.view import Literal, View
from aboard.kernels.weights import padded
from aboard.kernels.windowed import groups, sliding_window
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT, WEIGHTS, Precision
from aboard.ops.window import reach as spanned
from aboard.target import Knob, Target

HEADER = "arm_mve/conv2d.h"

#: Largest distance between rows of a window.
MAX_ADVANCE = 4095

#: Numbers of chunks without a loop that `aboard tune` tries, the largest that code has room for first.
_RUNS = UNROLLED, 4, 1

#: Value of the knob `windows` for two pixels at once.
_PAIRS = "pairs"

#: Longest row of a window, in chunks, whose instructions are unrolled in the loop over rows.
_MAX_ROW = 128

#: Largest address offset of a load or store of bytes.
MAX_STEP = 127

#: Channels and results from which four pixels are faster than windows of a chunk alone.
_LEAST_CHANNELS, _MANY_RESULTS = 16, 4096


def reach(rows: int, chunks: int, advance: int, unrolled: int = UNROLLED) -> dict[str, int]:
    """Returns the fields of `aboard_mve_reach_t`; runs longer than `unrolled` are cut into equal runs of a loop."""
    if rows == 1 and chunks > unrolled:
        rows = next((n for n in range(2, chunks) if chunks % n == 0 and chunks // n <= unrolled), chunks)
        chunks //= rows
    return {"rows": rows, "chunks": chunks, "advance": advance}


def line_buffer_cols(node: Node, x: View) -> int:
    """Returns the pixels of a row of the line buffer; 0 if windows are read directly from the input."""
    attrs, dilations = op.attributes(node), four_pixels.dilations(node)
    plain = dilations == (1, 1) and groups(node) == 1
    if plain and not attrs.padding.any and x.buffer_rows >= x.rows and x.pixel_stride == x.channels:
        return 0
    return (node.output.shape[2] - 1) * attrs.strides[1] + spanned(op.window(node)[1], dilations[1])


def line_buffer(node: Node, x: View, cols: int, lines: int) -> dict[str, Literal]:
    """Returns the fields of `aboard_mve_line_buffer_t` of a conv2d.

    Args:
        node: The node.
        x: View of its operand.
        cols: Pixels of a row of the line buffer; 0 without one.
        lines: See `lines_at_once`.
    """
    attrs, dilations = op.attributes(node), four_pixels.dilations(node)
    height, width = op.window(node)
    return {
        "in": x.literal(),
        "in_height": node.input(INPUT).shape[1],
        "out_height": node.output.shape[1],
        "window_height": height,
        "window_width": width,
        "stride_h": attrs.strides[0],
        "stride_w": attrs.strides[1],
        "dilation_h": dilations[0],
        "dilation_w": dilations[1],
        "groups": groups(node),
        "pad_top": attrs.padding.top,
        "pad_left": attrs.padding.left,
        "cols": cols,
        "keeps": int(lines > 0),
        "lines": max(lines, 1),
        "zero_point": node.input(INPUT).quant.zero_point,
    }


def scratch_bytes(buffer_rows: int, row_bytes: int, column: int) -> int:
    """Returns the bytes of the line buffer, of two im2col columns, and of the bytes that vectors read beyond each."""
    kept = (buffer_rows * row_bytes + 2 * CHUNK - 1) // CHUNK * CHUNK if row_bytes else 0
    return kept + (2 * column + CHUNK if column else 0)


def _runs_on(node: Node, x: View, y: View) -> bool:
    """True if 1x1 windows have the same distance across the end of a row as within a row."""
    attrs = op.attributes(node)
    whole = [v.buffer_rows >= v.rows and v.row_stride == v.cols * v.pixel_stride for v in (x, y)]
    return op.window(node) == (1, 1) and attrs.strides == (1, 1) and all(whole)


def _alone(node: Node, x: View, y: View) -> bool:
    """True if each window is one run of at most sixteen bytes of the input, and instructions can step over pixels.

    Many results are computed faster by four pixels, whose results are written as words.
    """
    height, width = op.window(node)
    step = op.attributes(node).strides[1] * x.pixel_stride
    fits = height == 1 and width * x.channels <= CHUNK and y.channels % LANES == 0
    if not fits or line_buffer_cols(node, x) != 0 or max(step, y.pixel_stride) > MAX_STEP:
        return False
    words = four_pixels.aligned(x) and four_pixels.aligned(y) and width == 1 and y.channels >= _LEAST_CHANNELS
    return not (words and math.prod(node.output.shape) >= _MANY_RESULTS)


def pack(matrix: Array) -> Array:
    """Returns weights [channels, taps] as [blocks of four channels, chunks, 4, 16], padded with zeros."""
    full = padded(padded(matrix, LANES).T, CHUNK).T
    return np.ascontiguousarray(full.reshape(-1, LANES, full.shape[1] // CHUNK, CHUNK).swapaxes(1, 2))


def by_group(values: Array, count: int) -> Array:
    """Returns values [channels, ...] of `count` groups with the channels of each group padded to blocks of four."""
    return values if count == 1 else np.concatenate([padded(each, LANES) for each in np.split(values, count)])


@implements
class MveS8(Implementation):
    """int8: two pixels and four channels at once, sixteen taps per instruction."""

    op = "conv2d"
    name = "arm_mve_s8"
    exact = True
    keys = frozenset({"arm_mve"})
    strided = True
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        if reason is None and four_pixels.scattered(node):
            step = four_pixels.dilations(node)[1] * node.input(INPUT).shape[3]
            reason = f"is for taps within {MAX_ADVANCE} bytes, got {step}" if step > MAX_ADVANCE else None
        return reason or refusal(node, op.attributes(node).activation, op.AXIS)

    @override
    def knobs(self, node: Node, target: Target) -> tuple[Knob, ...]:
        x, y = (View.whole(t.shape, 1) for t in (node.input(INPUT), node.output))
        result = _epilogue(node)
        if _alone(node, x, y) and result.is_plain_single:
            return ()
        sources = [each.source.name.lower() for each in four_pixels.possible(node, x, y, result)]
        shared = any(each.taps > 1 for each in four_pixels.possible(node, x, y, result))
        column, chunks = _staged(node, x), math.ceil(math.prod(node.input(WEIGHTS).shape[1:]) / CHUNK)
        return (
            Knob("windows", (*sources, _PAIRS), "Four pixels from windows in this place, or two pixels at once."),
            Knob("sliding", (1, 0) if shared else (0,), "Neighbouring windows share loads."),
            Knob("staged", (1,) if column else (0, 1), "The windows of two pixels are copied before they are read."),
            Knob("unroll", _RUNS if chunks > min(_RUNS) else _RUNS[:1], "Chunks without a loop, for two pixels."),
        )

    def _four_pixels(self, node: Node, x: View, y: View, result: EpilogueMve) -> four_pixels.FourPixels | None:
        """Returns the source of windows for four pixels at a time; None for pixel pairs."""
        windows = self.tuned.values.get("windows", "")
        if windows == _PAIRS:
            return None
        found = four_pixels.possible(node, x, y, result, sliding=self.knob("sliding", 1) == 1)
        return next((each for each in found if each.source.name.lower() == windows), found[0] if found else None)

    @override
    def overlap(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View]) -> int | None:
        x, y = packing.view(inputs), outputs[0]
        result = _epilogue(node)
        if _alone(node, x, y):
            # The first four channels of all pixels are written before the others are computed.
            return None
        found = self._four_pixels(node, x, y, result)
        if not four_pixels.keeps_lines(node, y):
            # The line buffer is filled anew for each row of results.
            return distance(sliding_window(node), x, y, Reads.ROW)
        if found is not None:
            return distance(sliding_window(node), x, y, found.reads)
        return distance(sliding_window(node), x, y, Reads.STAGED if line_buffer_cols(node, x) else Reads.PAIR)

    @override
    def row_wise(self, node: Node) -> RowWise:
        """As many rows as nearly fill groups of four pixels."""
        found = self._whole(node)
        return RowWise(1 if found is None else four_pixels.rows_at_once(node, found))

    @override
    def growth(self, node: Node, rows: int) -> float:
        """Counts the pixels that are computed twice to fill groups of four."""
        found = self._whole(node)
        if found is None:
            return 1.0
        return four_pixels.growth(node, found, rows) / four_pixels.growth(node, found, node.output.shape[1])

    def _whole(self, node: Node) -> four_pixels.FourPixels | None:
        """Returns the source of windows of four pixels, with tensors stored whole; None for other forms."""
        x, y = (View.whole(t.shape, 1) for t in (node.input(INPUT), node.output))
        result = _epilogue(node)
        return None if _alone(node, x, y) and result.is_plain_single else self._four_pixels(node, x, y, result)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        matrix, result = packing.matrix(node, op.AXIS), _epilogue(node)
        alone = _alone(node, x, y) and result.is_plain_single
        found = None if alone else self._four_pixels(node, x, y, result)
        lines = four_pixels.lines_at_once(node, x, y, target)
        if found is None:
            unrolled, staged = self.knob("unroll", UNROLLED), self.knob("staged", 0) == 1
            return _pixel_pairs(node, x, y, lines, matrix, result, unrolled, staged=staged)
        found = four_pixels.priced(node, found, y, result, flash_price(target))
        return _four_pixels(node, x, y, lines, found, matrix, result)


def _epilogue(node: Node) -> EpilogueMve:
    matrix = packing.matrix(node, op.AXIS)
    return epilogue(node, matrix, packing.bias(node), op.attributes(node).activation, op.AXIS)


def _four_pixels(
    node: Node,
    x: View,
    y: View,
    lines: int,
    found: four_pixels.FourPixels,
    matrix: Array,
    result: EpilogueMve,
) -> KernelCall:
    """Returns the call that computes four pixels and two channels at once."""
    params: dict[str, Literal] = {
        "line_buffer": line_buffer(node, x, found.cols, lines),
        "out": y.literal(),
        **found.params(),
        "epilogue": result.params,
    }
    rows = four_pixels.buffered_rows(node, lines)
    return KernelCall(
        header=four_pixels.HEADER,
        function=found.function + ("_scattered" if four_pixels.scattered(node) else ""),
        params_type="aboard_conv2d_four_pixels_mve_t",
        params=params,
        arguments=(
            InputArg(INPUT, "const int8_t *"),
            OutputArg(0, "int8_t *"),
            ConstantArg(four_pixels.pack(found, matrix, result)),
            *found.offsets,
            ScratchArg(found.scratch(scratch_bytes(rows, found.cols * x.channels, 0)), "int8_t *"),
        ),
        rows=y.rows,
        slow_epilogue=not result.is_single,
        loops=conv2d_loops.of_four_pixels(node, x, y, lines, found, result),
        # Parameters are immediates in instructions, so layers cannot share code.
        code_key=repr(params),
        # A function that is not inlined gets the address of the line buffer's parameters: with an argument among them,
        # gcc would take none of them for a literal.
        literal_tables=True,
    )


def _staged(node: Node, x: View) -> bool:
    """True if windows must be copied: their rows are no whole chunks, not contiguous, or too far apart."""
    height, width = op.window(node)
    if four_pixels.scattered(node):
        return True
    run, stride = width * x.channels, line_buffer_cols(node, x) * x.channels or x.row_stride
    reached = height == 1 or (0 <= stride - run <= MAX_ADVANCE and run <= _MAX_ROW * CHUNK)
    return run % CHUNK > 0 or not reached


def _pixel_pairs(
    node: Node, x: View, y: View, lines: int, matrix: Array, result: EpilogueMve, unrolled: int, *, staged: bool
) -> KernelCall:
    """Returns the call that computes two pixels and four channels at once."""
    height, width = op.window(node)
    cols = line_buffer_cols(node, x)
    run, stride = width * x.channels, cols * x.channels or x.row_stride
    direct = not staged and not _staged(node, x)
    column = 0 if direct else math.ceil(matrix.shape[1] / CHUNK) * CHUNK
    gap = stride - run if height > 1 else 0
    reached = reach(height, run // CHUNK, gap, unrolled) if direct else reach(1, column // CHUNK, 0, unrolled)
    found = conv2d_loops.PixelPairs(
        rows=reached["rows"],
        chunks=reached["chunks"],
        cols=cols,
        column=not direct,
        joined=cols == 0 and _runs_on(node, x, y),
        alone=_alone(node, x, y) and result.is_plain_single,
    )
    params: dict[str, Literal] = {
        "line_buffer": line_buffer(node, x, cols, lines),
        "out": y.literal(),
        "joined": int(found.joined),
        "column": column,
        "reach": reached,
        "alone": int(found.alone),
        "epilogue": result.params,
    }
    keeps = cols > 0 and lines > 0
    # Copies of taps exceed the first column too.
    gap = CHUNK if four_pixels.scattered(node) else 0
    rows = four_pixels.buffered_rows(node, lines)
    scratch = Scratch(scratch_bytes(rows, cols * x.channels, column) + gap, align=CHUNK, persistent=keeps)
    count = groups(node)
    constants = EpilogueMve(result.form, by_group(result.rows.T, count).T, result.params)
    return KernelCall(
        header=HEADER,
        function="aboard_conv2d_mve" + ("_scattered" if four_pixels.scattered(node) else ""),
        params_type="aboard_conv2d_mve_t",
        params=params,
        arguments=(
            InputArg(INPUT, "const int8_t *"),
            OutputArg(0, "int8_t *"),
            ConstantArg(PackedConstant("weights", pack(by_group(matrix, count)), align=CHUNK)),
            ConstantArg(PackedConstant("constants", constants.blocks(), align=CHUNK)),
            ScratchArg(scratch, "int8_t *"),
        ),
        rows=y.rows,
        slow_epilogue=not result.is_single,
        loops=conv2d_loops.of_pixel_pairs(node, x, y, lines, found, result),
        # Parameters are immediates in instructions, so layers cannot share code.
        code_key=repr(params),
        # A function that is not inlined gets the address of the line buffer's parameters: with an argument among them,
        # gcc would take none of them for a literal.
        literal_tables=True,
    )

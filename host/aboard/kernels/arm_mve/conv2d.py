"""conv2d of int8 with Helium."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.fingerprint import once_for_equal_nodes
from aboard.kernels import weights as packing
from aboard.kernels.arm_mve import conv2d_four_pixels as four_pixels
from aboard.kernels.arm_mve import conv2d_loops, loops
from aboard.kernels.arm_mve.conv2d_blocks import by_group, pack
from aboard.kernels.arm_mve.epilogue import LANES, EpilogueMve, epilogue, refusal
from aboard.kernels.arm_mve.four_pixels_last import last_of
from aboard.kernels.arm_mve.line_buffer import (
    buffered_rows,
    dilations,
    keeps_lines,
    line_buffer,
    line_buffer_cols,
    lines_at_once,
    scattered,
    scratch_bytes,
)
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
from aboard.kernels.windowed import groups, sliding_window
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT, WEIGHTS, Precision
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

#: How much faster another source of windows must be than the preferred one by its estimate, and pairs of pixels than
#: that, to be chosen.
_FASTER, _PAIRS_FASTER = 1.05, 1.1

#: Channels and results from which four pixels are faster than windows of a chunk alone.
_LEAST_CHANNELS, _MANY_RESULTS = 16, 4096


def reach(rows: int, chunks: int, advance: int, unrolled: int = UNROLLED) -> dict[str, int]:
    """Returns the fields of `aboard_mve_reach_t`; runs longer than `unrolled` are cut into equal runs of a loop."""
    if rows == 1 and chunks > unrolled:
        rows = next((n for n in range(2, chunks) if chunks % n == 0 and chunks // n <= unrolled), chunks)
        chunks //= rows
    return {"rows": rows, "chunks": chunks, "advance": advance}


def _runs_on(node: Node, x: View, y: View) -> bool:
    """True if 1x1 windows have the same distance across the end of a row as within a row."""
    attrs = op.attributes(node)
    whole = [v.buffer_rows >= v.rows and v.row_stride == v.cols * v.pixel_stride for v in (x, y)]
    return op.window(node) == (1, 1) and attrs.strides == (1, 1) and all(whole)


def _alone(node: Node, x: View, y: View) -> bool:
    """True if each window is one run of at most sixteen bytes of the input, and instructions can step over pixels.

    Many results are computed faster by four pixels, whose results are written as words, or where channels are no whole
    blocks.
    """
    height, width = op.window(node)
    step = op.attributes(node).strides[1] * x.pixel_stride
    fits = height == 1 and width * x.channels <= CHUNK and y.channels >= LANES
    if not fits or line_buffer_cols(node, x) != 0 or max(step, y.pixel_stride) > MAX_STEP:
        return False
    if y.channels % LANES and width == 1:
        rows, cols = (1, y.rows * y.cols) if _runs_on(node, x, y) else (y.rows, y.cols)
        return conv2d_loops.of_chunks(rows, cols, y.channels) <= conv2d_loops.of_fours(rows, cols, y.channels)
    words = four_pixels.aligned(x) and four_pixels.aligned(y) and width == 1 and y.channels >= _LEAST_CHANNELS
    return not (words and math.prod(node.output.shape) >= _MANY_RESULTS)


@implements
class MveS8(Implementation):
    """int8: two pixels and four channels at once, sixteen taps per instruction."""

    op = "conv2d"
    name = "arm_mve_s8"
    exact = True
    prices_code = True
    keys = frozenset({"arm_mve"})
    strided = True
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        if reason is None and scattered(node):
            step = dilations(node)[1] * node.input(INPUT).shape[3]
            reason = f"is for taps within {MAX_ADVANCE} bytes, got {step}" if step > MAX_ADVANCE else None
        return reason or refusal(node, op.attributes(node).activation, op.AXIS)

    @override
    def knobs(self, node: Node, target: Target) -> tuple[Knob, ...]:
        x, y = (View.whole(t.shape, 1) for t in (node.input(INPUT), node.output))
        result = epilogue_of(node)
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
        named = next((each for each in found if each.source.name.lower() == windows), None)
        return named or _fastest(node, x, y, result, found)

    @override
    def overlap(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View]) -> int | None:
        x, y = packing.view(inputs), outputs[0]
        result = epilogue_of(node)
        if _alone(node, x, y):
            # The first four channels of all pixels are written before the others are computed.
            return None
        found = self._four_pixels(node, x, y, result)
        if not keeps_lines(node, y):
            # The line buffer is filled anew for each row of results.
            return distance(sliding_window(node), x, y, Reads.ROW)
        if found is not None:
            return distance(sliding_window(node), x, y, found.reads)
        return distance(sliding_window(node), x, y, Reads.STAGED if line_buffer_cols(node, x) else Reads.PAIR)

    @override
    def row_wise(self, node: Node) -> RowWise:
        """As many rows as nearly fill groups of four pixels."""
        found = self._whole(node)
        return RowWise() if found is None else RowWise(four_pixels.rows_at_once(node, found), follows=True)

    @override
    def overwrites_rows(self, node: Node) -> tuple[int, ...]:
        """A 1x1 layer whose stripes follow those of another one copies four pixels before it writes their results."""
        return (INPUT,) if four_pixels.may_stage(node, self._whole(node)) else ()

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
        result = epilogue_of(node)
        return None if _alone(node, x, y) and result.is_plain_single else self._four_pixels(node, x, y, result)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        matrix, result = packing.matrix(node, op.AXIS), epilogue_of(node)
        alone = _alone(node, x, y) and result.is_plain_single
        found = None if alone else self._four_pixels(node, x, y, result)
        lines = lines_at_once(node, x, y, target)
        if found is None:
            unrolled = self.knob("unroll", UNROLLED)
            staged = self.knob("staged", int(_copies(node, x, y, flash_price(target, self.inference)))) == 1
            return _pixel_pairs(node, x, y, lines, matrix, result, unrolled, staged=staged)
        # Stripes follow another layer's, so that their rows in blocks may lie over those of the operand.
        follows = bool(x.table and y.table) and y.stripe_height > self.row_wise(node).rows
        staged = follows and four_pixels.may_stage(node, found)
        price = flash_price(target, self.inference)
        found = replace(four_pixels.priced(node, found, y, result, price), staged=staged)
        found = replace(found, last=last_of(node, found, x, y, price))
        return _four_pixels(node, x, y, lines, found, matrix, result)


@once_for_equal_nodes(1 << 12)
def epilogue_of(node: Node) -> EpilogueMve:
    """Returns the epilogue of a conv2d."""
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
        "line_buffer": line_buffer(node, x, found.cols, lines) | _within_a_call(node, y, found),
        "out": y.literal(),
        **found.params(),
        "epilogue": result.params,
    }
    rows = buffered_rows(node, lines)
    return KernelCall(
        header=four_pixels.HEADER,
        function=found.function + ("_scattered" if scattered(node) and not found.whole_rows else ""),
        params_type="aboard_conv2d_four_pixels_mve_t",
        params=params,
        arguments=(
            InputArg(INPUT, "const int8_t *"),
            OutputArg(0, "int8_t *"),
            ConstantArg(four_pixels.pack(found, matrix, result, groups(node))),
            *found.offsets,
            ScratchArg(found.scratch(scratch_bytes(rows, found.cols * x.channels, 0)), "int8_t *"),
        ),
        rows=y.rows,
        # The last pixels are known of all rows only.
        step_rows=y.rows if found.last and found.joined else 1,
        slow_epilogue=not result.is_single,
        loops=conv2d_loops.of_four_pixels(node, x, y, lines, found, result),
        # Parameters are immediates in instructions, so layers cannot share code.
        code_key=repr(params),
        # A function that is not inlined gets the address of the line buffer's parameters: with an argument among them,
        # gcc would take none of them for a literal.
        literal_tables=not found.staged,
    )


def _within_a_call(node: Node, y: View, found: four_pixels.FourPixels) -> dict[str, Literal]:
    """Returns the field of a line buffer in stripes of several rows, which keeps rows until the end of each."""
    several = y.stripe_height > 1 and found.source is four_pixels.Source.IM2COL and found.cols > 0
    return {"keeps": 2} if several and dilations(node)[0] == 1 and not scattered(node) else {}


def _staged(node: Node, x: View) -> bool:
    """True if windows must be copied: their rows are no whole chunks, not contiguous, or too far apart.

    Rows that are no whole chunks may be read from a line buffer, whose bytes after a row are multiplied by 0.
    """
    height, width = op.window(node)
    if scattered(node):
        return True
    cols = line_buffer_cols(node, x)
    run, stride = width * x.channels, cols * x.channels or x.row_stride
    read = math.ceil(run / CHUNK) * CHUNK
    reached = height == 1 or (0 <= stride - read <= MAX_ADVANCE and read <= _MAX_ROW * CHUNK)
    return (run % CHUNK > 0 and cols == 0) or not reached


def _copies(node: Node, x: View, y: View, price: float) -> bool:
    """True if windows that need not be copied are copied: rows that are padded to whole chunks would take longer.

    Args:
        node: A convolution with a line buffer.
        x: View of the input.
        y: View of the result.
        price: Instructions that a byte of flash must save.
    """
    (height, width), blocks = op.window(node), math.ceil(y.channels / LANES)
    run = width * x.channels
    more = height * math.ceil(run / CHUNK) - math.ceil(height * run / CHUNK)
    pairs = y.rows * math.ceil(y.cols / 2)
    copied = loops.windows(node, 2, scattered=False, lies=False)
    return pairs * (copied - blocks * more * loops.PAIR) < price * blocks * more * LANES * CHUNK


def _fastest(
    node: Node, x: View, y: View, result: EpilogueMve, found: list[four_pixels.FourPixels]
) -> four_pixels.FourPixels | None:
    """Returns the preferred one of several sources of windows, or one that is faster; None if pixel pairs are."""
    if not found:
        return None
    lines = int(keeps_lines(node, y))
    times = {each: float(conv2d_loops.of_four_pixels(node, x, y, lines, each, result)) for each in found}
    best = min(found, key=lambda each: times[each] * (1 if each is found[0] else _FASTER))
    pairs, _ = _pairs(node, x, y, result, UNROLLED, staged=_staged(node, x))
    alone = conv2d_loops.of_pixel_pairs(node, x, y, lines, pairs, result)
    return None if alone * _PAIRS_FASTER < times[best] else best


def _pairs(
    node: Node, x: View, y: View, result: EpilogueMve, unrolled: int, *, staged: bool
) -> tuple[conv2d_loops.PixelPairs, dict[str, int]]:
    """Returns how two pixels and four channels are computed at once, and the chunks of a window."""
    (height, width), depth = op.window(node), x.channels // groups(node)
    cols, direct = line_buffer_cols(node, x), not staged and not _staged(node, x)
    stride = cols * x.channels or x.row_stride
    rows, run = (height, width * x.channels) if direct else (1, height * width * depth)
    chunks = math.ceil(run / CHUNK)
    reached = reach(rows, chunks, stride - chunks * CHUNK if rows > 1 else 0, unrolled)
    found = conv2d_loops.PixelPairs(
        rows=reached["rows"],
        chunks=reached["chunks"],
        cols=cols,
        column=not direct,
        joined=cols == 0 and _runs_on(node, x, y),
        alone=_alone(node, x, y) and result.is_plain_single,
    )
    return found, reached


def _pixel_pairs(
    node: Node, x: View, y: View, lines: int, matrix: Array, result: EpilogueMve, unrolled: int, *, staged: bool
) -> KernelCall:
    """Returns the call that computes two pixels and four channels at once."""
    height, cols = op.window(node)[0], line_buffer_cols(node, x)
    found, reached = _pairs(node, x, y, result, unrolled, staged=staged)
    column = found.rows * found.chunks * CHUNK if found.column else 0
    # Each row of a window is padded to whole chunks, except in an im2col column.
    rows = 1 if found.column else height
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
    gap = CHUNK if scattered(node) else 0
    held = scratch_bytes(buffered_rows(node, lines), cols * x.channels, column)
    scratch = Scratch(held + gap, align=CHUNK, persistent=keeps)
    count = groups(node)
    constants = EpilogueMve(result.form, by_group(result.rows.T, count).T, result.params)
    return KernelCall(
        header=HEADER,
        function="aboard_conv2d_mve" + ("_scattered" if scattered(node) else ""),
        params_type="aboard_conv2d_mve_t",
        params=params,
        arguments=(
            InputArg(INPUT, "const int8_t *"),
            OutputArg(0, "int8_t *"),
            ConstantArg(PackedConstant("weights", pack(by_group(matrix, count), rows), align=CHUNK)),
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

"""conv2d of int8 with Helium for windows of at most five taps: four pixels at a time, a lane for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.numerics import Int64, wrap32
from aboard.kernels import weights as packing
from aboard.kernels.arm_mve import loops
from aboard.kernels.arm_mve.conv2d import epilogue_of
from aboard.kernels.arm_mve.conv2d_four_pixels import MAX_SCATTER, QUAD, aligned, channels
from aboard.kernels.arm_mve.epilogue import EpilogueForm, EpilogueMve, refusal
from aboard.kernels.arm_mve.four_pixels_columns import PIXELS
from aboard.kernels.contract import (
    ROLLING_ROW_COST,
    ConstantArg,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    RowWise,
)
from aboard.kernels.overlap import Reads
from aboard.kernels.portable.conv2d import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.select.price import flash_price
from aboard.kernels.view import Literal, View
from aboard.kernels.windowed import Convolution, groups
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT, WEIGHTS, Precision
from aboard.target import Target

#: ABOARD_FEW_TAPS_MOST: taps of a window.
_MOST = 5

#: Most channels if taps occupy all registers, or are four neighbouring bytes. `arm_mve_s8` computes more as fast; of
#: neighbouring bytes in up to a fifth more instructions, but a third fewer cycles, as it gathers none.
_MOST_OF_FULL = 3

#: Pixels that may be computed for each pixel of the result, before more rows at once are preferred.
_MOST_GROWTH = 1.07

#: Instructions around four pixels, of their lanes that leave a row, and more if taps occupy all registers.
_FOUR, _WRAPPED, _SPILLED = 10, 5, 2

#: Instructions around a run of pixels, and for a run whose pixels are no whole fours.
_RUN, _REST = 30, 7

#: Instructions of two channels beside their sums, of a last single one, and of four in a word; what results in words
#: save for four channels.
_PAIR, _SINGLE, _QUAD, _SAVED = 6, 4, 8, 6

#: Bytes of the code of a channel beside its taps, of a tap, and channels whose code results in words have more.
_CODE, _TAP_CODE, _MORE = 20, 4, 2


@dataclass(frozen=True)
class Run:
    """The distances of the windows of a run of pixels: fields of `aboard_few_taps_mve_t`.

    Attributes:
        joined: True if rows of the result follow each other without gaps, so that a run may have several.
        even: True if rows of windows have equal distances from one image to the next too.
        step: Bytes from a window to the next in a row.
        row: Bytes from a row of windows to the next.
        cols: Pixels of a row.
        pixel: Bytes from a pixel of the result to the next.
        taps: Taps of a window.
        words: True if four channels of a pixel are written as a word.
    """

    joined: bool
    even: bool
    step: int
    row: int
    cols: int
    pixel: int
    taps: int
    words: bool

    @property
    def ones(self) -> bool:
        """True if channels are computed one by one: taps occupy all registers, or results are far apart."""
        return self.taps == _MOST or (PIXELS - 1) * self.pixel >= MAX_SCATTER

    @property
    def wraps(self) -> bool:
        """True if the distance from a window to the next is another one at the end of a row."""
        return self.joined and self.row != self.cols * self.step

    @property
    def ahead(self) -> int:
        """Pixels that a lane advances in its row; 0 if it stays in its column, or if that does not matter."""
        return PIXELS % self.cols if self.wraps else 0

    def params(self) -> dict[str, Literal]:
        """Returns the fields after the shape."""
        delta, jump = PIXELS * self.step, 0
        if self.wraps:
            delta = PIXELS // self.cols * self.row + PIXELS % self.cols * self.step
            jump = self.row - self.cols * self.step
        return {
            "joined": int(self.joined),
            "even": int(self.even),
            "delta": delta,
            "jump": jump,
            "ahead": self.ahead,
            "words": int(self.words),
            "ones": int(self.ones),
        }

    def head(self) -> Int64:
        """Returns the words before the constants of channels, `aboard_few_taps_head`."""
        lanes = np.arange(PIXELS)
        results = lanes * self.pixel
        windows = lanes // self.cols * self.row + lanes % self.cols * self.step if self.wraps else lanes * self.step
        places = [lanes % self.cols - self.cols] if self.ahead else []
        if self.words:
            results = results - QUAD
        elif not self.ones:
            results = np.stack([results, results + 1], 1).astype("<u2").view("<u4").reshape(-1)
        return np.concatenate([windows, results.astype(np.int64), *places])


@implements
class MveFewS8(Convolution):
    """int8, at most five taps: each is a vector of four pixels."""

    name = "arm_mve_few_s8"
    exact = True
    prices_code = True
    keys = frozenset({"arm_mve"})
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS) or _geometry(node)
        reason = reason or refusal(node, op.attributes(node).activation, op.AXIS)
        return reason or loops.short_refusal(epilogue_of(node))

    @override
    def reads(self, node: Node) -> Reads:
        """The windows of four pixels stay in registers."""
        return Reads.FIRST

    @override
    def row_wise(self, node: Node) -> RowWise:
        """As many rows as nearly fill groups of four pixels."""
        return RowWise(next((rows for rows in (1, 2, 4) if _growth(node, rows) <= _MOST_GROWTH), 4))

    @override
    def growth(self, node: Node, rows: int) -> float:
        """Counts the lanes without a pixel."""
        return _growth(node, rows) / _growth(node, node.output.shape[1])

    @override
    def rolling_cost(self, node: Node) -> float:
        """Finds the rows of windows for each run of pixels."""
        return math.prod(node.output.shape[:2]) * op.window(node)[0] * ROLLING_ROW_COST

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        run, result = _run(node, x, y, flash_price(target, self.inference)), epilogue_of(node)
        params: dict[str, Literal] = {
            "shape": {**shape_params(node, x, y), "groups": 1},
            **run.params(),
            "epilogue": result.params,
        }
        return KernelCall(
            header="arm_mve/few_taps.h",
            function="aboard_few_taps_mve",
            params_type="aboard_few_taps_mve_t",
            params=params,
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", pack(run, packing.matrix(node, op.AXIS), result))),
            ),
            rows=y.rows,
            code_variant=f"words={int(run.words)}",
            slow_epilogue=not result.is_single,
            loops=_loops(node, run, result),
            # Parameters are immediates in instructions, so layers cannot share code.
            code_key=repr(params),
            literal_tables=True,
        )


def pack(run: Run, matrix: Array, result: EpilogueMve) -> Array:
    """Returns the words that the kernel reads: offsets of four pixels, and the constants of each channel.

    Args:
        run: The distances of windows.
        matrix: Weights [channels, taps].
        result: The epilogue.
    """
    rows = result.rows.T
    taps, most = matrix.astype(np.int64), _MOST - 1
    constants = np.concatenate([rows[:, :1], taps[:, :most], rows[:, 1:], taps[:, most:]], 1)
    if run.words:
        constants = constants[channels(len(constants), 1, words=True)]
    return wrap32(np.concatenate([run.head(), constants.reshape(-1)])).astype(np.int32)


def _taps(node: Node) -> int:
    """Returns the taps of a window of all channels."""
    return math.prod(node.input(WEIGHTS).shape[1:])


def _is_word(node: Node) -> bool:
    """True if the taps of a window are four neighbouring bytes."""
    (height, width), dilations = op.window(node), op.attributes(node).dilations
    return _taps(node) == QUAD and height == 1 and (width == 1 or dilations[1] == 1)


def _geometry(node: Node) -> str | None:
    if _taps(node) > _MOST:
        return f"is for windows of at most {_MOST} taps"
    if node.output.shape[3] > _MOST_OF_FULL and (_taps(node) == _MOST or _is_word(node)):
        what = f"of {_MOST} taps" if _taps(node) == _MOST else "of four neighbouring bytes"
        return f"is for at most {_MOST_OF_FULL} output channels with windows {what}"
    if op.attributes(node).padding.any or groups(node) != 1:
        return "is for windows without padding and groups"
    return None


def _run(node: Node, x: View, y: View, price: float) -> Run:
    """Returns the distances of the windows of a run of pixels; a byte of flash must save `price` instructions."""
    height, width = op.attributes(node).strides
    saved = _SAVED * (y.channels // QUAD) * loops.over(y.rows * y.cols, PIXELS)
    code = _MORE * (_CODE + _TAP_CODE * _taps(node))
    return Run(
        joined=y.row_stride == y.cols * y.pixel_stride,
        even=node.output.shape[0] == 1 or node.input(INPUT).shape[1] == node.output.shape[1] * height,
        step=width * x.pixel_stride,
        row=height * x.row_stride,
        cols=y.cols,
        pixel=y.pixel_stride,
        taps=_taps(node),
        words=_taps(node) < _MOST and y.channels % QUAD == 0 and aligned(y) and saved >= price * code,
    )


def _growth(node: Node, rows: int) -> float:
    """Returns the pixels that are computed for each pixel of the result, in stripes of a number of rows."""
    pixels = rows * node.output.shape[2]
    return loops.over(pixels, PIXELS) * PIXELS / pixels


def _loops(node: Node, run: Run, result: EpilogueMve) -> int:
    """Returns the work of all pixels."""
    images, rows, cols, count = node.output.shape
    runs = (1 if run.even else images) if run.joined else images * rows
    pixels, taps = images * rows * cols // runs, run.taps
    around, full = _FOUR + taps, taps >= _MOST - 1
    around += (_WRAPPED + _SPILLED * full if run.ahead else 0) + (_SPILLED if run.words and (full or run.ahead) else 0)
    scaled, narrowed = 5 if result.form is EpilogueForm.DOUBLE_RIGHT else 3, 0 if result.is_single else 2
    channel = 2 + taps + scaled
    if run.words:
        each = count // QUAD * (QUAD * channel + _QUAD + 2 * narrowed)
    elif run.ones:
        each = count * (channel + _SINGLE + narrowed)
    else:
        each = count // 2 * (2 * channel + _PAIR + narrowed) + count % 2 * (channel + _SINGLE + narrowed)
    of_run = loops.over(pixels, PIXELS) * (around + each) + _RUN + (_REST if pixels % PIXELS else 0)
    return loops.UNIT * runs * of_run

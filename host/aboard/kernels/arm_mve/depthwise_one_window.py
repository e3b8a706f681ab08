"""depthwise_conv2d of int8 with Helium for windows that cover the whole image: one result per channel and image.

Every depthwise layer of a streaming network is one: its window is what the layer remembers of the stream.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.kernels import one_window
from aboard.kernels import weights as packing
from aboard.kernels.arm_mve import loops
from aboard.kernels.arm_mve.conv2d import MAX_STEP, reach
from aboard.kernels.arm_mve.conv2d_four_pixels import aligned
from aboard.kernels.arm_mve.epilogue import EpilogueMve, epilogue
from aboard.kernels.arm_mve.fully_connected import BLOCK as EIGHT
from aboard.kernels.arm_mve.fully_connected import EIGHT_RESULTS, stream
from aboard.kernels.arm_mve.loops import CHUNK
from aboard.kernels.arm_mve.packed_layer import BLOCK
from aboard.kernels.contract import (
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    Scratch,
    ScratchArg,
    UnsupportedNodeError,
)
from aboard.kernels.one_window import Lines, Taps
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops import depthwise_conv2d as op
from aboard.ops.conv2d import attributes
from aboard.ops.weighted import INPUT, Precision
from aboard.target import Target

#: Taps of a word, words that an instruction multiplies, and bytes of a word of all channels of a strip.
_WORD, _LANES, _WORD_BYTES = 4, 4, 64

#: Fewest taps of a window: `arm_mve_s8` computes fewer as fast, for a vector of sixteen channels each.
_LEAST_TAPS = 5

#: Most words of a window, and most parts of it without a loop.
_MOST_WORDS, _UNROLLED = 32, 4

#: Largest distance of words that a load advances its address by.
_MAX_APART = 508

#: ABOARD_ONE_WINDOW_WORDS, ABOARD_ONE_WINDOW_BYTES and ABOARD_ONE_WINDOW_FAR.
_WORDS, _BYTES, _FAR = range(3)

#: Instructions of a part of eight channels; around a line of taps, around a strip, with those that find the last one,
#: around an image, and around all.
_PART, _LINE, _STRIP, _LAST, _IMAGE, _CALL = 24, 3, 10, 6, 12, 33


def _words(lines: Lines) -> int:
    """Returns the words of a window: each line begins one."""
    return lines.count * loops.over(lines.taps, _WORD)


def _parts(lines: Lines) -> int:
    """Returns the parts of a window: one instruction multiplies as many words as there are lanes."""
    return loops.over(_words(lines), _LANES)


def packed(lines: Lines, matrix: Array) -> Array:
    """Returns weights [channels, taps] as [channels, parts * 16]: lane l has the words from l * parts on.

    If lanes share words, the first of them multiplies.
    """
    count, parts, rows = _words(lines), _parts(lines), matrix.reshape(len(matrix), lines.count, lines.taps)
    words = np.pad(rows, [(0, 0), (0, 0), (0, -lines.taps % _WORD)]).reshape(len(matrix), count, _WORD)
    found = np.zeros((len(matrix), parts, _LANES, _WORD), matrix.dtype)
    for lane in range(_LANES):
        start = min(lane * parts, count - parts)
        for part in range(max(lane * parts - start, 0), parts):
            found[:, part, lane] = words[:, start + part]
    return found.reshape(len(matrix), -1)


def _reads(lines: Lines, x: View) -> int:
    """Returns how taps are read: with the offset of a load if it can, of words if all are aligned."""
    if abs(lines.tap) <= MAX_STEP:
        return _BYTES
    words = aligned(x) and x.channels % _WORD == 0 and abs(lines.tap) <= _MAX_APART
    return _WORDS if words else _FAR


def eights(channels: int) -> Array:
    """Returns the channels in the order in which they are computed, [blocks of eight, 8]."""
    if channels < BLOCK:
        return np.arange(channels).reshape(-1, EIGHT)
    found = packing.overlapping(channels, BLOCK).reshape(-1, EIGHT)
    return np.delete(found, -2, axis=0) if 0 < channels % BLOCK <= EIGHT else found


def _matrix(node: Node, found: Taps) -> Array:
    return found.kept(node, packing.matrix(node, op.AXIS))


def _epilogue(node: Node, found: Taps) -> EpilogueMve:
    return epilogue(node, _matrix(node, found), packing.bias(node), attributes(node).activation, op.AXIS)


@implements
class MveOneS8(Implementation):
    """int8, one result per channel and image: eight channels at once, sixteen taps per instruction."""

    op = "depthwise_conv2d"
    name = "arm_mve_one_s8"
    specialised = True
    exact = True
    keys = frozenset({"arm_mve"})
    strided = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS) or _geometry(node)
        if reason is not None:
            return reason
        try:
            return loops.short_refusal(_epilogue(node, one_window.taps(node)))
        except UnsupportedNodeError as error:
            return str(error)

    @override
    def overlap(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View]) -> int | None:
        """Channels are packed before their results are written; those of two blocks are packed again after that."""
        x, y = packing.view(inputs), outputs[0]
        return -x.channels % EIGHT if x.contiguous and y.contiguous else None

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y, found = packing.view(inputs), outputs[0], one_window.taps(node)
        lines, result = found.lines(x), _epilogue(node, found)
        order = eights(x.channels).reshape(-1)
        weights = stream(packed(lines, _matrix(node, found))[order], result.rows[:, order])
        params: dict[str, Literal] = {
            "channels": x.channels,
            "lines": lines.count,
            "taps": lines.taps,
            "reads": _reads(lines, x),
            "first": lines.first,
            "tap": lines.tap,
            "line": lines.line,
            "image": node.input(INPUT).shape[1] * x.row_stride,
            "result": y.row_stride,
            "parts": reach(1, _parts(lines), 0, _UNROLLED),
            "epilogue": result.params,
        }
        return KernelCall(
            header="arm_mve/depthwise_one_window.h",
            function="aboard_depthwise_one_window_mve",
            params_type="aboard_depthwise_one_window_mve_t",
            params=params,
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", weights, align=CHUNK)),
                ScratchArg(Scratch(_WORD_BYTES * _words(lines), align=CHUNK), "int8_t *"),
            ),
            rows=y.rows,
            slow_epilogue=not result.is_single,
            loops=loops.UNIT * (node.output.shape[0] * _of_image(lines, x, result) + _CALL),
            # Parameters are immediates in instructions, so layers cannot share code.
            code_key=repr(params),
        )


def _geometry(node: Node) -> str | None:
    reason = one_window.refusal(node)
    if reason is not None:
        return reason
    channels, (rows, cols) = node.output.shape[3], one_window.taps(node).shape
    if channels < BLOCK and channels != EIGHT:
        return f"is for {EIGHT} channels, or for {BLOCK} or more"
    if rows * cols < _LEAST_TAPS:
        return f"is for windows of at least {_LEAST_TAPS} taps in the image"
    words = loops.over(rows, _WORD) if cols == 1 else rows * loops.over(cols, _WORD)
    if words > _MOST_WORDS:
        return f"is for windows of at most {_MOST_WORDS} words of {_WORD} taps in a row"
    return None


def _of_image(lines: Lines, x: View, result: EpilogueMve) -> int:
    """Returns the instructions of an image."""
    strips, blocks = loops.over(x.channels, BLOCK), len(eights(x.channels))
    runs = reach(1, _parts(lines), 0, _UNROLLED)["rows"]
    looped = 3 * runs + 3 if runs > 1 else 0
    whole, rest = divmod(lines.taps, _WORD)
    far, some = _reads(lines, x) == _FAR, x.channels < BLOCK
    masked = (1 + lines.taps if far else 1 + whole + rest) if some else 0
    stores = _LANES * (whole + (rest > 0))
    line = lines.taps * (2 if far else 1) + stores + masked + (2 + whole if whole else 0) + _LINE
    strip = lines.count * line + _STRIP + (_LAST if strips > 2 and x.channels % BLOCK else 0)
    return _IMAGE + strips * strip + blocks * (EIGHT_RESULTS[result.form] + _PART * _parts(lines) + looped)

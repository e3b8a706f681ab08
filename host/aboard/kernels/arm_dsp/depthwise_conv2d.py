"""depthwise_conv2d for cores with the DSP extension (Cortex-M4, M7, M33): int8, windows of 3x3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.numerics import wrap32
from aboard.kernels import weights as packing
from aboard.kernels.arm_dsp.depthwise_loops import of_few_rows, of_line_buffers
from aboard.kernels.contract import (
    ConstantArg,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    RowWise,
    Scratch,
    ScratchArg,
)
from aboard.kernels.registry import implements
from aboard.kernels.requantisation import RequantisedLayer, requantised
from aboard.kernels.strips import InStrips
from aboard.kernels.view import Literal, View
from aboard.ops import depthwise_conv2d as op
from aboard.ops.conv2d import attributes, window
from aboard.ops.weighted import INPUT
from aboard.target import Knob, Target

#: ABOARD_DSP_LINE_BUFFERS of `arm_dsp/line_buffer_fill.h` and ABOARD_DSP_LINE_BUFFER_SHIFT of `line_buffer.h`.
LINE_BUFFERS, LINE_SHIFT = 4, 2

#: Largest number of results per block, by stride: registers hold as many sums beside the pixels.
_MOST_RESULTS = {1: 6, 2: 4}

#: Largest size of line buffers in bytes, also with `-opt=speed`; rows at the border of two strips are copied twice.
_BUFFER_BYTES, _HIGH_BUFFER_BYTES = 2080, 8192

#: Largest number of results of a row without line buffers: half a register counts them.
_MOST_COLS = 1 << 16

#: Smallest number of rows per strip, by stride, unless the result has fewer.
_LEAST_STRIP = {1: 2, 2: 1}

#: ABOARD_DEPTHWISE_CONV2D_DSP_ROWS of the header.
_MOST_PIECES = 8

#: Value of `single_rounding` for a single rounding without a shift.
_UNSHIFTED = 2

#: Parameters by which a row is computed by another function.
_CODE_PARAMETERS = ("single_rounding", "narrow", "at_once", "stride", "count")


@implements
class DspS8(InStrips):
    """int8: channels in 16-bit line buffers, several pixels of a row at once."""

    name = "dsp_s8"
    keys = frozenset({"arm_dsp"})
    strips = 1, 2, 4, 8
    buffer_bytes: ClassVar[int] = _BUFFER_BYTES

    @override
    def own_strip(self, node: Node) -> int:
        """Returns the rows of strips with line buffers, or of those without if they cost less."""
        few, heights = _few_rows(node), [_strip(node, self.buffer_bytes)]
        return min([*heights, few] if few else heights, key=lambda rows: self.work(node, rows))

    @override
    def wrong_geometry(self, node: Node) -> str | None:
        return _geometry(node)

    @override
    def check(self, node: Node) -> None:
        _layer(node)

    @override
    def knobs(self, node: Node, target: Target) -> tuple[Knob, ...]:
        return (
            *super().knobs(node, target),
            Knob("block", _blocks(node), "Results of a row that are computed at once."),
            Knob("narrow", (1, 0) if _narrow(node) else (0,), "Line buffers of a single block hold no padding."),
            Knob("few_rows", (1, 0) if _few_rows(node) else (0,), "Strips of two rows need no line buffers."),
        )

    def _at_once(self, node: Node, rows: int) -> int:
        """Returns the rows of a strip of so many rows that are computed without line buffers, or 0."""
        return rows if rows <= _few_rows(node) and self.knob("few_rows", 1) == 1 else 0

    @override
    def overwrites_rows(self, node: Node) -> tuple[int, ...]:
        """Four channels of all rows of a strip are copied before their results are written."""
        same = node.input(INPUT).shape == node.output.shape
        return (INPUT,) if same and self.rows(node) >= self.row_wise(node).rows else ()

    @override
    def row_wise(self, node: Node) -> RowWise:
        """With a stride of 1, two rows at once: windows of neighbouring rows share line buffers."""
        return RowWise(_LEAST_STRIP[attributes(node).strides[0]])

    @override
    def work(self, node: Node, strip: int) -> int:
        at_once, (block, narrow) = self._at_once(node, strip), self._form(node)
        if at_once:
            return of_few_rows(node, at_once)
        pixels = node.input(INPUT).shape[2]
        return of_line_buffers(node, strip, block, pixels, narrow=narrow)

    def _form(self, node: Node) -> tuple[int, bool]:
        """Returns the results of a block, and whether line buffers hold no padding."""
        block = self.knob("block", _blocks(node)[0])
        return block, _narrow(node) and block == node.output.shape[2] and self.knob("narrow", 1) == 1

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        layer = _layer(node)
        stride = attributes(node).strides[0]
        strip = min(self.rows(node), y.stripe_height or y.rows)
        if x.table:
            strip = min(strip, (_MOST_PIECES - 3) // stride + 1)
        at_once = self._at_once(node, strip)
        block, narrow = self._form(node)
        pitch = _pitch(node, narrow=narrow)
        scratch = _few_bytes(y.cols, at_once, stride) if at_once else LINE_BUFFERS * _span(strip, stride) * pitch
        params = {
            **_image(node, x, y),
            "strip": strip,
            "pitch": pitch,
            "count": 0 if at_once else block,
            "blocks": y.cols // block,
            "rest": y.cols % block,
            "narrow": int(narrow and not at_once),
            "at_once": at_once,
            "zero_point": node.input(INPUT).quant.zero_point,
            **layer.params,
        }
        variant = {**params, "single_rounding": int(layer.is_single_rounding)}
        return KernelCall(
            header="arm_dsp/depthwise_conv2d.h",
            function="aboard_depthwise_conv2d_dsp",
            params_type="aboard_depthwise_conv2d_dsp_t",
            params=params,
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", pack(layer, by_columns=at_once > 0), form="int8")),
                ScratchArg(Scratch(scratch), "uint32_t *"),
            ),
            rows=y.rows,
            code_variant=" ".join(f"{name}={variant[name]}" for name in _CODE_PARAMETERS),
            slow_epilogue=not layer.is_single_rounding,
            loops=self.work(node, self.rows(node)),
            # One shared function for all geometries would contain the code for every block size.
            code_key=repr(params),
        )


@implements
class DspHighS8(DspS8):
    """Like `DspS8` with strips that are several times as high: fewer rows are copied twice, for more scratch."""

    name = "dsp_high_s8"
    buffer_bytes = _HIGH_BUFFER_BYTES

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        if target.opt != "speed" or target.ram_max is not None:
            return "is for -opt=speed without -ram-max: its scratch is up to four times that of dsp_s8"
        return super().refuses(node, target)

    @override
    def wrong_geometry(self, node: Node) -> str | None:
        reason = super().wrong_geometry(node)
        if reason is None and self.own_strip(node) <= DspS8().own_strip(node):
            return f"strips of {DspS8.name} are as high"
        return reason


def _geometry(node: Node) -> str | None:
    attrs = attributes(node)
    if window(node) != (3, 3) or attrs.dilations != (1, 1):
        return "is for windows of 3x3 without dilation"
    if attrs.strides not in ((1, 1), (2, 2)):
        return "is for strides of 1 and 2, the same in both directions"
    if op.depth_multiplier(node) != 1 or node.input(INPUT).shape[3] % LINE_BUFFERS:
        return "is for a multiple of four channels, each with one result"
    if attrs.padding.left > 1:
        return "is for at most one pixel of padding on the left"
    return None


def _image(node: Node, x: View, y: View) -> dict[str, Literal]:
    """Returns the fields of `aboard_depthwise_conv2d_dsp_t` up to the padding."""
    attrs = attributes(node)
    return {
        "in": x.literal(),
        "out": y.literal(),
        "in_height": node.input(INPUT).shape[1],
        "out_height": node.output.shape[1],
        "stride": attrs.strides[0],
        "pad_top": attrs.padding.top,
        "pad_left": attrs.padding.left,
    }


def _blocks(node: Node) -> tuple[int, ...]:
    """Returns the results per block that `arm_dsp/line_buffer.h` has code for; the preferred number first."""
    cols, stride = node.output.shape[2], attributes(node).strides[1]
    most = min(cols, _MOST_RESULTS[stride])
    possible = [n for n in range(most, 0, -1) if n == cols or stride == 2 or n % 2 == 0]
    own = block_size(cols, stride)
    return (own, *(n for n in possible if n not in (own, 1)))


def block_size(cols: int, stride: int) -> int:
    """Returns the preferred number of results per block of a row."""
    most = _MOST_RESULTS[stride]
    if cols <= most:
        return cols
    if stride == 2:
        return next((n for n in (4, 3) if cols % n == 0), most)
    fits = [n for n in range(2, most + 1) if cols % n == 0]
    return max((n for n in fits if n >= most - 1 and n % 2 == 0), default=most)


def _span(rows: int, stride: int) -> int:
    return (rows - 1) * stride + 3


def _pitch(node: Node, *, narrow: bool) -> int:
    """Returns the bytes of a row of a line buffer: all pixels in a row of windows, in whole words."""
    cols, stride = node.output.shape[2], attributes(node).strides[1]
    if narrow:
        return (cols + 1) // 2 * 4
    return (_span(cols, stride) + 1) // 2 * 4


def _narrow(node: Node) -> bool:
    """True if a row is one block with a pixel of padding on both sides: line buffers then hold no padding."""
    return _is_padded(node) and node.output.shape[2] <= _MOST_RESULTS[1]


def _is_padded(node: Node) -> bool:
    """True for a pixel of padding on both sides and windows one pixel apart."""
    attrs = attributes(node)
    same = node.output.shape[2] == node.input(INPUT).shape[2] and attrs.padding.left == 1
    return same and attrs.strides[1] == 1


def _few_rows(node: Node) -> int:
    """Returns how many rows `arm_dsp/row_single.h`, `row_apart.h` and `row_pairs.h` compute at once, at most."""
    cols, attrs = node.output.shape[2], attributes(node)
    if not 2 <= cols <= _MOST_COLS:
        return 0
    if attrs.strides[1] == 1:
        return 2 if _is_padded(node) else 0
    return 1 if 2 * cols - attrs.padding.left <= node.input(INPUT).shape[2] else 0


def _few_bytes(cols: int, rows: int, stride: int) -> int:
    """Returns the bytes of ABOARD_DSP_ROW_SINGLE_WORDS for each two pixels, or ABOARD_DSP_ROW_PAIR_WORDS for each.

    Those of two rows are made a multiple of 64: blocks in memory then leave smaller gaps (`kws`: 24 bytes).
    """
    if stride == 2:
        return 48 * (cols + 1)
    return 48 * ((cols + 1) // 2) if rows == 1 else (cols + 1) // 2 * 64


def _strip(node: Node, buffer_bytes: int) -> int:
    """Returns the rows of the result per strip: the strips are as equal as the size of line buffers allows."""
    height, stride = node.output.shape[1], attributes(node).strides[0]
    row = LINE_BUFFERS * _pitch(node, narrow=_narrow(node))
    most = max((buffer_bytes // row - 3) // stride + 1, _LEAST_STRIP[stride])
    strips = -(-height // most)
    return -(-height // strips)


def pack(layer: RequantisedLayer, *, by_columns: bool) -> Array:
    """Returns the words of `aboard_dsp_rows_t` or `aboard_dsp_row_pairs_t`: those of a channel follow one another."""
    # Two SXTB16 make the pairs (w0, w1) and (w1, w2) of a row, or of a column.
    lines = layer.weights.reshape(-1, 3, 3)
    taps = (lines.transpose(0, 2, 1) if by_columns else lines)[:, :, [0, 1, 1, 2]]
    words = np.ascontiguousarray(taps.astype(np.int8).reshape(len(taps), 12)).view("<u4")
    constants = [layer.bias, layer.factor, layer.constant] + ([] if layer.is_single_rounding else [layer.shift])
    rest = wrap32(np.stack(constants, 1)).astype(np.int32).view(np.uint32)
    return np.ascontiguousarray(np.concatenate([words, rest], 1))


def _layer(node: Node) -> RequantisedLayer:
    activation = attributes(node).activation
    layer = requantised(node, activation, op.AXIS, LINE_SHIFT, swar=False)
    if not layer.is_single_rounding:
        # A channel whose results are nearly as large as its sums has a single rounding without a shift.
        unshifted = requantised(node, activation, op.AXIS, 0, swar=False)
        if unshifted.is_single_rounding:
            layer = replace(unshifted, params={**unshifted.params, "single_rounding": _UNSHIFTED})
    return layer.centered(node.input(INPUT).quant.zero_point)

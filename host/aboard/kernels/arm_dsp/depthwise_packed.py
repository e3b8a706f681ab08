"""depthwise_conv2d of any window for cores with the DSP extension (Cortex-M4, M7, M33): int8, four products at once.

`firmware/kernels/arm_dsp/packed_taps.h` describes sums in three fields of 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.numerics import Int64, wrap32
from aboard.kernels import weights as packing
from aboard.kernels.arm_dsp.depthwise_loops import first_block_in_loop, of_packed
from aboard.kernels.contract import (
    ConstantArg,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    RowWise,
    Scratch,
    ScratchArg,
    UnsupportedNodeError,
)
from aboard.kernels.portable.depthwise_conv2d import params_of_shape
from aboard.kernels.registry import implements
from aboard.kernels.requantisation import RequantisedLayer, requantised
from aboard.kernels.select.price import flash_price
from aboard.kernels.strips import InStrips
from aboard.kernels.view import View
from aboard.ops import depthwise_conv2d as op
from aboard.ops.conv2d import attributes, window
from aboard.ops.weighted import INPUT
from aboard.ops.window import reach
from aboard.target import Target

#: ABOARD_DSP_PACKED_CHANNELS, ABOARD_DSP_FIELD and ABOARD_DSP_PACKED_SUMS of `arm_dsp/packed_taps.h`.
CHANNELS, FIELD, SUMS = 4, 21, 3

#: ABOARD_DSP_LINE_BUFFER_SHIFT of `arm_dsp/line_buffer.h`.
LINE_SHIFT = 2

#: Bits of the upper field.
_UPPER_FIELD = 64 - 2 * FIELD

#: Largest size of copied rows in bytes; rows at the border of two strips are copied twice.
_BUFFER_BYTES = 2560

#: Bytes of the code of a block in a phase of the dilation, and of each word of taps of a window in it.
_BLOCK_CODE, _WORD_CODE = 40, 28

#: Fewest rows of a strip, unless the result has fewer.
_LEAST_STRIP = 2

#: Fewest results of a row in a phase; a row of fewer leaves much of its sums unused.
_LEAST_RESULTS = 3


@implements
class DspPackedS8(InStrips):
    """int8: several pixels of a row at once, two pixels and two taps in one product."""

    name = "dsp_packed_s8"
    prices_code = True
    keys = frozenset({"arm_dsp"})
    strips = 2, 4, 8

    @override
    def own_strip(self, node: Node) -> int:
        return _strip(node)

    @override
    def wrong_geometry(self, node: Node) -> str | None:
        return _geometry(node)

    @override
    def check(self, node: Node) -> None:
        _fields(node)

    @override
    def overwrites_rows(self, node: Node) -> tuple[int, ...]:
        """Four channels of all rows of a strip are copied before their results are written."""
        same = node.input(INPUT).shape == node.output.shape and node.output.shape[3] % CHANNELS == 0
        return (INPUT,) if same and self.rows(node) >= self.row_wise(node).rows else ()

    @override
    def row_wise(self, node: Node) -> RowWise:
        """Two rows at once: windows of neighbouring rows share copied rows."""
        return RowWise(_LEAST_STRIP)

    @override
    def work(self, node: Node, strip: int) -> int:
        blocks = _blocks(node)
        sums = blocks["blocks"] * blocks["sums"] + blocks["rest"]
        return of_packed(node, strip, _pairs(node), sums, blocks["blocks"] + 1)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        fields = _fields(node)
        looped, apart = self._first_block(node, fields.layer, target)
        strip = min(self.rows(node), y.stripe_height or y.rows)
        params = {
            "shape": params_of_shape(node, x, y),
            "strip": strip,
            "pairs": _pairs(node),
            **_blocks(node),
            "apart": apart,
            "zero_point": node.input(INPUT).quant.zero_point,
            **fields.layer.params,
        }
        return KernelCall(
            header="arm_dsp/depthwise_packed.h",
            function="aboard_depthwise_conv2d_packed",
            params_type="aboard_depthwise_conv2d_packed_t",
            params=params,
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", pack(node, fields), form="int8")),
                ScratchArg(Scratch(_span(node, strip) * _pitch(node)), "int32_t *"),
            ),
            rows=y.rows,
            code_variant=" ".join(f"{name}={value}" for name, value in _variant(node, fields.layer, apart).items()),
            slow_epilogue=not fields.layer.is_single_rounding,
            loops=self.work(node, self.rows(node)) + looped,
            # One shared function for all geometries would compute addresses and counts at run time.
            code_key=repr(params),
        )

    def _first_block(self, node: Node, layer: RequantisedLayer, target: Target) -> tuple[int, int]:
        """Returns the work that a loop of all blocks adds, and 1 if the first block has code of its own instead."""
        blocks = _blocks(node)["blocks"]
        more = first_block_in_loop(node, blocks, single=layer.is_single_rounding)
        code = attributes(node).dilations[1] * (_BLOCK_CODE + _WORD_CODE * _window_words(node))
        apart = int(more > flash_price(target, self.inference) * code)
        return 0 if apart else more, apart


@dataclass(frozen=True)
class Fields:
    """A layer whose sums fit three fields, per channel.

    Attributes:
        layer: The layer, for inputs minus the zero point.
        start: Start of a sum of 64 bits.
        offset: What the middle field has more than the sum.
    """

    layer: RequantisedLayer
    start: tuple[int, ...]
    offset: Int64


def pack(node: Node, fields: Fields) -> Array:
    """Returns the words of `aboard_depthwise_conv2d_packed`: [channels, words]."""
    layer = fields.layer
    starts = np.array([(start & 0xFFFFFFFF, start >> 32) for start in fields.start], np.int64)
    constants = [fields.offset, layer.factor, layer.constant] + ([] if layer.is_single_rounding else [layer.shift])
    head = np.concatenate([starts, np.stack(constants, 1)], 1)
    first, second = _taps(node, layer)
    words = second + (first << FIELD)
    return np.ascontiguousarray(wrap32(np.concatenate([head, words], 1)).astype(np.int32).view(np.uint32))


def _taps(node: Node, layer: RequantisedLayer) -> tuple[Int64, Int64]:
    """Returns the first and the second tap of each word, [channels, words]; 0 for a tap behind a row."""
    height, width = window(node)
    rows = layer.weights.reshape(-1, height, width)
    stride = attributes(node).strides[1]
    words = []
    for phase in range(min(stride, width)):
        taps = rows[:, :, phase::stride]
        words.append(np.pad(taps, ((0, 0), (0, 0), (0, taps.shape[2] % 2))))
    both = np.concatenate(words, 2).reshape(len(rows), -1, 2)
    return both[:, :, 0], both[:, :, 1]


def _fields(node: Node) -> Fields:
    """Returns the layer with the fields of its sums.

    Raises:
        UnsupportedNodeError: Some sums do not fit, or the layer has no requantisation epilogue.
    """
    found = requantised(node, attributes(node).activation, op.AXIS, LINE_SHIFT, swar=False)
    zero_point = node.input(INPUT).quant.zero_point
    layer = found.centered(zero_point)
    first, second = _taps(node, layer)
    (upper_low, upper_high), (low, high), (middle_low, middle_high) = (
        _range(taps, zero_point) for taps in (first, second, layer.weights)
    )
    upper = layer.bias + low
    limit, upper_limit = 1 << FIELD, 1 << (_UPPER_FIELD - 1)
    fits = (high - low < limit) & (middle_high - middle_low < limit)
    fits &= (upper + upper_low >= -upper_limit) & (upper + upper_high < upper_limit)
    if not fits.all():
        raise UnsupportedNodeError(f"sums may exceed fields of {FIELD} bits")
    columns = zip(low.tolist(), middle_low.tolist(), upper.tolist(), strict=True)
    start = tuple(((-a) + ((-b) << FIELD) + (c << (2 * FIELD))) & ((1 << 64) - 1) for a, b, c in columns)
    return Fields(layer, start, -(layer.bias + middle_low))


def _range(taps: Int64, zero_point: int) -> tuple[Int64, Int64]:
    """Returns the smallest and the largest sum of products with inputs minus the zero point."""
    ends = np.stack([taps * (-128 - zero_point), taps * (127 - zero_point)])
    return ends.min(0).sum(1), ends.max(0).sum(1)


def _geometry(node: Node) -> str | None:
    attrs, (_, width) = attributes(node), window(node)
    if op.depth_multiplier(node) != 1:
        return "is for one result of each channel"
    if width < 2:
        return "is for windows of two columns or more"
    if attrs.strides[1] > 2:
        return "is for strides of 1 and 2 in a row"
    if attrs.strides[1] > 1 and attrs.dilations[1] > 1:
        return "is for a stride or a dilation in a row, not both"
    if node.output.shape[2] // attrs.dilations[1] < _LEAST_RESULTS:
        return f"is for rows of {_LEAST_RESULTS * attrs.dilations[1]} results or more"
    return None


def _words(node: Node) -> int:
    """Returns the words of taps of a row in the phase that has the most."""
    stride, (_, width) = attributes(node).strides[1], window(node)
    return (-(-width // stride) + 1) // 2


def _sums(node: Node) -> int:
    """Returns the sums of a row in the phase of the dilation that has the most results."""
    return -(-node.output.shape[2] // attributes(node).dilations[1]) // 2 + 1


def _blocks(node: Node) -> dict[str, int]:
    """Returns the sums of a block, the number of blocks, and the sums of the last one."""
    sums, fewest = _sums(node), node.output.shape[2] // attributes(node).dilations[1]
    if sums <= SUMS:
        return {"sums": sums, "blocks": 0, "rest": sums}
    # All sums of these blocks have a result in their middle field.
    blocks = min((sums - 1) // SUMS, (fewest + 1) // (2 * SUMS))
    return {"sums": SUMS, "blocks": blocks, "rest": sums - blocks * SUMS}


def _pairs(node: Node) -> int:
    """Returns the words of a channel in a phase of a row: those of all sums."""
    return _sums(node) + _words(node) - 1


def _pitch(node: Node) -> int:
    """Returns the bytes of a row of four channels."""
    attrs = attributes(node)
    return 4 * CHANNELS * attrs.strides[1] * attrs.dilations[1] * _pairs(node)


def _span(node: Node, rows: int) -> int:
    """Returns the rows of the input in the receptive field of rows of the result."""
    attrs = attributes(node)
    return (rows - 1) * attrs.strides[0] + reach(window(node)[0], attrs.dilations[0])


def _strip(node: Node) -> int:
    """Returns the rows of the result per strip: the strips are as equal as the size of copied rows allows."""
    height, attrs = node.output.shape[1], attributes(node)
    span = _BUFFER_BYTES // _pitch(node) - reach(window(node)[0], attrs.dilations[0])
    most = max(span // attrs.strides[0] + 1, _LEAST_STRIP)
    return -(-height // -(-height // most))


def _window_words(node: Node) -> int:
    """Returns the words of taps of a window."""
    stride, (height, width) = attributes(node).strides[1], window(node)
    return height * sum(-(-len(range(phase, width, stride)) // 2) for phase in range(stride))


def _variant(node: Node, layer: RequantisedLayer, apart: int) -> dict[str, int]:
    """Returns the parameters by which the code of a row differs."""
    return {
        "single_rounding": int(layer.is_single_rounding),
        "words": _window_words(node),
        "blocks": min(_blocks(node)["blocks"], 1) + apart,
        "rest": _blocks(node)["rest"],
    }

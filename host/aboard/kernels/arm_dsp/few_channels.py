"""conv2d of 1x1 over one to eight channels of a group for cores with the DSP extension (Cortex-M4, M7, M33): int8."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.numerics import Int64
from aboard.kernels import weights as packing
from aboard.kernels.arm_dsp import dot
from aboard.kernels.arm_dsp.pointwise import DOUBLE_ROUNDING, ONCE, PixelsInRegisters, layer_of, packed
from aboard.kernels.contract import ConstantArg, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable.conv2d import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.requantisation import RequantisedLayer
from aboard.kernels.view import View
from aboard.kernels.windowed import groups
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT
from aboard.target import Target

#: Largest number of input channels: those of two words.
_MOST_CHANNELS = 2 * dot.TAP_GROUP

#: Cycles of a row, of copies of its last pixels, whose words reach behind it, and of a last pixel without copies.
_ROW, _COPIES, _SINGLE = 72, 76, 57

#: By words of taps: cycles of two pixels, of an iteration of up to four channels of both, and of each of these.
_PAIR, _ITERATION, _CHANNEL = (29, 27, 38, 35), (4, 4, 6, 6), (13, 16, 20, 27)


@implements
class DspFewS8(PixelsInRegisters):
    """Two pixels of one to eight channels of a group."""

    name = "dsp_few_s8"

    @override
    def wrong_geometry(self, node: Node) -> str | None:
        return _geometry(node)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        layer = layer_of(node)
        return KernelCall(
            header="arm_dsp/few_channels.h",
            function="aboard_few_channels_dsp",
            params_type="aboard_few_channels_dsp_t",
            params={"shape": {**shape_params(node, x, y), "groups": groups(node)}, **layer.params},
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", pack(layer), form=dot.WIDENED)),
            ),
            rows=y.rows,
            code_variant=f"words={_words(_depth(node))} single_rounding={int(layer.is_single_rounding)}",
            slow_epilogue=not layer.is_single_rounding,
            loops=_loops(node, layer),
        )


def pack(layer: RequantisedLayer) -> Array:
    """Returns the words of `aboard_dsp_few_channels_t`: [channels, ABOARD_DSP_FEW_CHANNEL]."""
    depth = layer.weights.shape[1]
    words = _words(depth)
    # SXTB16 returns the bytes of a word in this order: 0 and 2, then 1 and 3.
    order = dot.TAP_ORDER if words > 1 else [0, 1]
    taps = np.pad(layer.weights, ((0, 0), (0, max(0, len(order) - depth))))[:, order]
    if words > 2:
        taps = np.concatenate([taps, _second_word(layer.weights)], 1)
    return packed(layer, taps)


def _second_word(weights: Int64) -> Int64:
    """Returns the taps of the last channels in their order: 0 for those that the first word has too."""
    depth = weights.shape[1]
    order = [depth - 2, depth - 1] if _words(depth) == 3 else [depth - dot.TAP_GROUP + tap for tap in dot.TAP_ORDER]
    return np.where(np.array(order) < dot.TAP_GROUP, 0, weights[:, order])


def _words(depth: int) -> int:
    """Returns the words of taps of a channel."""
    return -(-depth // 2)


def _depth(node: Node) -> int:
    """Returns the input channels of a group."""
    return node.input(INPUT).shape[3] // groups(node)


def _geometry(node: Node) -> str | None:
    if op.window(node) != (1, 1) or op.attributes(node).padding.any:
        return "is for windows of 1x1 without padding"
    return f"is for at most {_MOST_CHANNELS} input channels in each group" if _depth(node) > _MOST_CHANNELS else None


def _loops(node: Node, layer: RequantisedLayer) -> int:
    """Returns the work of all pairs of pixels, with single ones at the end of a row that are computed as two."""
    images, rows, cols, channels = node.output.shape
    count, flat = groups(node), op.attributes(node).strides == (1, 1)
    lines, pixels = (1, images * rows * cols) if flat else (images * rows, cols)
    row = of_row(pixels, channels // count, _depth(node), single_rounding=layer.is_single_rounding)
    return lines * count * row


def of_row(pixels: int, channels: int, depth: int, *, single_rounding: bool) -> int:
    """Returns the work of a group of a row; words of last pixels are copied unless all bytes of a word are theirs."""
    row = _ROW + (_COPIES if depth < dot.TAP_GROUP else _SINGLE * (pixels % 2))
    words = _words(depth) - 1
    channel = _CHANNEL[words] + (0 if single_rounding else DOUBLE_ROUNDING)
    return row + -(-pixels // 2) * (_PAIR[words] + -(-channels // ONCE) * _ITERATION[words] + channels * channel)

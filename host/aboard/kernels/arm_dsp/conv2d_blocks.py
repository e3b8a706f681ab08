"""conv2d for cores with the DSP extension (Cortex-M4, M7, M33): int8, four channels of two pixels at once."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.numerics import wrap32
from aboard.kernels.arm_dsp import dot
from aboard.kernels.arm_dsp.conv2d import DspS8
from aboard.kernels.registry import implements
from aboard.kernels.requantisation import RequantisedLayer
from aboard.kernels.weights import overlapping
from aboard.kernels.windowed import groups, is_pointwise
from aboard.target import Target

#: Work of a pixel that is no window of its own: two of them are a call.
_CALL = 33

#: Fewest channels of a group: two are a block of other kernels.
FEWEST = 3

#: ABOARD_DSP_BLOCK of `arm_dsp/dot_blocks.h`.
CHANNELS = 4


@implements
class DspBlocksS8(DspS8):
    """Like `DspS8` with four channels at once and single loads of operands: fewer cycles, more instructions."""

    name = "dsp_blocks_s8"
    exact = True
    header = "arm_dsp/conv2d_blocks.h"
    function = "aboard_conv2d_blocks_dsp"
    block = CHANNELS

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = super().refuses(node, target)
        if reason is not None:
            return reason
        enough = node.output.shape[3] // groups(node) >= FEWEST
        return None if enough else f"is for {FEWEST} output channels or more in each group"

    @override
    def _call(self, node: Node) -> int:
        return 0 if is_pointwise(node) and node.output.shape[3] // groups(node) >= CHANNELS else _CALL

    @override
    def _packed(self, layer: RequantisedLayer) -> Array:
        return packed(layer)


def packed(layer: RequantisedLayer) -> Array:
    """Returns the words of `aboard_dsp_block_single` or `aboard_dsp_block_double`: [blocks of four channels, words].

    Channels are in the order of `overlapping`.
    """
    layer = layer.of(overlapping(len(layer.weights), CHANNELS).reshape(-1))
    taps = dot.swar_words(layer.weights)
    # [blocks, pairs of channels, words] to [blocks, words, pairs of channels].
    steps = taps.reshape(-1, CHANNELS // 2, taps.shape[1]).transpose(0, 2, 1).reshape(-1, CHANNELS // 2 * taps.shape[1])
    bias, factor, constant, shift = (
        values.reshape(-1, 2).T for values in (layer.bias, layer.factor, layer.constant, layer.shift)
    )
    before = [bias[0], bias[0] + 256 * bias[1]]
    if layer.is_single_rounding:
        behind = [*factor, constant[0], constant[1] * 256 + 128]
    else:
        behind = [factor[0], constant[0], shift[0] + 256 * shift[1], factor[1], constant[1]]
    around = [_words(part) for part in (before, behind)]
    return np.ascontiguousarray(np.concatenate([around[0], steps, around[1]], 1))


def _words(columns: list[Array]) -> Array:
    """Returns values of pairs of channels as words: [blocks of four channels, words]."""
    words = wrap32(np.stack(columns, 1)).astype(np.int32).view(np.uint32)
    return words.reshape(-1, CHANNELS // 2 * len(columns))

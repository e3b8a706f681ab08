"""depthwise_conv2d of any window for cores with the DSP extension (Cortex-M4, M7, M33): int8."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.numerics import wrap32
from aboard.kernels import weights as packing
from aboard.kernels.contract import (
    ROLLING_ROW_COST,
    ConstantArg,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    Scratch,
    ScratchArg,
    UnsupportedNodeError,
)
from aboard.kernels.portable.depthwise_conv2d import params_of_shape
from aboard.kernels.registry import implements
from aboard.kernels.requantisation import RequantisedLayer, requantised
from aboard.kernels.view import View
from aboard.kernels.windowed import Windowed
from aboard.ops import depthwise_conv2d as op
from aboard.ops.conv2d import attributes, window
from aboard.ops.weighted import INPUT, Precision
from aboard.target import Target

#: Channels computed at once, and ABOARD_DSP_LINE_BUFFER_SHIFT of `arm_dsp/line_buffer.h`.
CHANNELS, LINE_SHIFT = 4, 2

#: Cycles of Cortex-M4: to find the pixel of a tap without and with padding, of four channels, and of a tap of these; of
#: four channels, and of a pixel, if the last four channels contain some of the four before.
_FOUND, _FOUND_PADDED, _BLOCK, _TAP, _PARTIAL, _PARTIAL_PIXEL = 11, 21, 45, 15.5, 6.5, 14

#: Likewise of code of -opt=speed, whose loops over the taps are unrolled: of a pixel without and with padding, to find
#: the pixel of a tap, of four channels, and of a tap of these.
_FAST_PIXEL, _FAST_PADDED, _FAST_FOUND, _FAST_BLOCK, _FAST_TAP = 19, 45, 4, 48, 15

#: Likewise of four channels of windows of one tap, whose pixels need not be found; with -opt=speed less if all are
#: whole fours.
_SINGLE, _FAST_SINGLE = 52, 46


@implements
class DspTapsS8(Windowed):
    """int8: four channels of a pixel at once, tap after tap; for layers without line buffers."""

    op = "depthwise_conv2d"
    name = "dsp_taps_s8"
    exact = True
    keys = frozenset({"arm_dsp"})
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        if reason is not None:
            return reason
        if op.depth_multiplier(node) != 1 or node.input(INPUT).shape[3] < CHANNELS:
            return "is for four channels or more, each with one result"
        try:
            _layer(node)
        except UnsupportedNodeError as error:
            return str(error)
        return None

    @override
    def rolling_cost(self, node: Node) -> float:
        """Finds the row of each tap once for all channels of a pixel."""
        height, width = window(node)
        return ROLLING_ROW_COST * node.output.shape[1] * node.output.shape[2] * height * width

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        layer = _layer(node)
        padded = attributes(node).padding.any
        return KernelCall(
            header="arm_dsp/depthwise_taps.h",
            function="aboard_depthwise_conv2d_taps",
            params_type="aboard_depthwise_conv2d_taps_t",
            params={
                "shape": params_of_shape(node, x, y),
                "padded": int(padded),
                "zero_point": node.input(INPUT).quant.zero_point,
                **layer.params,
            },
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", pack(layer), form="int8")),
                ScratchArg(Scratch(4 * layer.weights.shape[1]), "aboard_dsp_seen_t *"),
                ScratchArg(Scratch(x.channels if padded else 0), "int8_t *"),
            ),
            rows=y.rows,
            code_variant=f"padded={int(padded)} single_rounding={int(layer.is_single_rounding)}",
            slow_epilogue=not layer.is_single_rounding,
            loops=_loops(node, target),
        )


def pack(layer: RequantisedLayer) -> Array:
    """Returns the words of `aboard_dsp_taps_any`: [blocks of four channels, words]; the last block is the last four."""
    channels = packing.overlapping(len(layer.bias), CHANNELS).reshape(-1)
    blocks = len(channels) // CHANNELS
    taps = layer.weights[channels].astype(np.int8).reshape(blocks, CHANNELS, -1).swapaxes(1, 2)
    weights = np.ascontiguousarray(taps).reshape(blocks, -1).view("<u4")
    pairs = np.stack([layer.factor, layer.constant], 1)[channels].reshape(blocks, -1)
    both = np.concatenate([layer.bias[channels].reshape(blocks, CHANNELS), pairs], 1)
    constants = wrap32(both).astype(np.int32).view(np.uint32)
    shifts = np.ascontiguousarray(layer.shift[channels].astype(np.uint8).reshape(blocks, CHANNELS)).view("<u4")
    return np.ascontiguousarray(np.concatenate([weights, constants, shifts], 1))


def _loops(node: Node, target: Target) -> int:
    """Returns the work of finding the taps of each pixel, and of its blocks of four channels."""
    (height, width), channels = window(node), node.output.shape[3]
    padded = attributes(node).padding.any
    pixel = of_pixel(height * width, channels, padded=padded, fast=target.opt == "speed")
    return round(prod(node.output.shape[:3]) * pixel)


def of_pixel(taps: int, channels: int, *, padded: bool, fast: bool) -> float:
    """Returns the work of a pixel; `fast` is true for code of `-opt=speed`."""
    blocks, partial = -(-channels // CHANNELS), channels % CHANNELS > 0
    if taps == 1:
        return blocks * (_FAST_SINGLE if fast and not partial else _SINGLE)
    if fast:
        found = (_FAST_PADDED if padded else _FAST_PIXEL) + _FAST_FOUND * taps
        return found + blocks * (_FAST_BLOCK + _FAST_TAP * taps)
    found = (_FOUND_PADDED if padded else _FOUND) * taps + _PARTIAL_PIXEL * partial
    return found + blocks * (_BLOCK + _PARTIAL * partial + _TAP * taps)


def _layer(node: Node) -> RequantisedLayer:
    activation = attributes(node).activation
    return requantised(node, activation, op.AXIS, LINE_SHIFT, swar=False)

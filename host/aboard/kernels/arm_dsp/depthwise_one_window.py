"""depthwise_conv2d with one window in each image, for cores with the DSP extension (Cortex-M4, M7, M33): int8.

`firmware/kernels/arm_dsp/depthwise_one_window.h` describes how two taps of four channels become operands of products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.numerics import Int64, wrap32
from aboard.kernels import one_window
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
from aboard.ops.conv2d import attributes
from aboard.ops.weighted import INPUT, Precision
from aboard.target import Target

#: Channels computed at once, and ABOARD_DSP_LINE_BUFFER_SHIFT of `arm_dsp/line_buffer.h`.
CHANNELS, LINE_SHIFT = 4, 2

#: Fewest taps within the image: those of one product.
_LEAST_TAPS = 2

#: Cycles of an image, and of finding the pixel of a tap.
_IMAGE, _FOUND = 45, 6

#: Cycles of four channels by single and by double roundings, of two taps, and of a last single tap.
_SINGLE, _DOUBLE, _PAIR, _TAP = 41, 56, 23, 10


@implements
class DspOneS8(Windowed):
    """int8: four channels of a single window at once, two taps in one product."""

    op = "depthwise_conv2d"
    name = "dsp_one_s8"
    exact = True
    keys = frozenset({"arm_dsp"})
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS) or _geometry(node)
        if reason is not None:
            return reason
        try:
            _layer(node)
        except UnsupportedNodeError as error:
            return str(error)
        return None

    @override
    def rolling_cost(self, node: Node) -> float:
        """Finds the row of each tap once for all channels of an image."""
        return ROLLING_ROW_COST * node.output.shape[0] * prod(one_window.taps(node).shape)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        layer = _layer(node)
        taps_within = one_window.taps(node)
        height, width = taps_within.shape
        # Padding is the zero point, whose products are in the bias.
        shape = {
            **params_of_shape(node, x, y),
            "window_height": height,
            "window_width": width,
            "pad_top": -taps_within.rows[0].start,
            "pad_left": -taps_within.cols[0].start,
        }
        taps = {"shape": shape, "padded": 0, "zero_point": node.input(INPUT).quant.zero_point, **layer.params}
        zero_point = node.output.quant.zero_point
        return KernelCall(
            header="arm_dsp/depthwise_one_window.h",
            function="aboard_depthwise_one_window_dsp",
            params_type="aboard_depthwise_one_window_t",
            params={"taps": taps, "result_zero_point": zero_point},
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", pack(layer, zero_point), form="int8")),
                ScratchArg(Scratch(4 * layer.weights.shape[1]), "aboard_dsp_seen_t *"),
            ),
            rows=y.rows,
            code_variant=f"single_rounding={int(layer.is_single_rounding)}",
            slow_epilogue=not layer.is_single_rounding,
            loops=_loops(node, layer),
        )


def pack(layer: RequantisedLayer, zero_point: int) -> Array:
    """Returns the words of `aboard_dsp_one_window`: [blocks of four channels, words].

    Args:
        layer: The layer, of two taps or more.
        zero_point: Zero point of the result.
    """
    fours = packing.overlapping(len(layer.bias), CHANNELS)
    bias, factor = (layer.bias, layer.factor) if layer.is_single_rounding else _double_rounding(layer, zero_point)
    taps = layer.weights.astype(np.int8)[fours]  # [blocks, channels, taps]
    odd = taps.shape[2] % 2
    # Two taps of four channels: (first, second) of channels 0 and 1, interleaved, then those of channels 2 and 3.
    pairs = taps[:, :, odd:].reshape(len(fours), 2, 2, -1, 2).transpose(0, 3, 1, 4, 2)
    weights = [taps[:, :, :odd].reshape(len(fours), -1), pairs.reshape(len(fours), -1)]
    words = np.ascontiguousarray(np.concatenate(weights, 1)).view("<u4")
    if layer.is_single_rounding:
        # Factors, then constants, of two channels and of the other two.
        ends = np.stack([factor, layer.constant], 1)[fours].reshape(-1, 2, 2, 2).swapaxes(2, 3)
        after = _words(ends.reshape(len(fours), -1))
    else:
        shifts = np.ascontiguousarray(layer.shift.astype(np.uint8)[fours]).view("<u4")
        after = np.concatenate([_words(factor[fours]), shifts], 1)
    return np.ascontiguousarray(np.concatenate([_words(bias[fours]), words, after], 1))


def _double_rounding(layer: RequantisedLayer, zero_point: int) -> tuple[Int64, Int64]:
    """Returns bias and factor of each channel for a constant that is that of the zero point.

    A channel whose result is the same for all inputs is that far from the zero point by its bias.
    """
    value = (layer.constant - (1 << layer.shift >> 1)) >> layer.shift
    fixed = value != zero_point
    bias = np.where(fixed, (value - zero_point) << layer.shift, layer.bias)
    return bias, np.where(fixed, 0, layer.factor)


def _words(values: Int64) -> Array:
    return wrap32(values).astype(np.int32).view(np.uint32)


def _layer(node: Node) -> RequantisedLayer:
    """Returns the layer of the taps within the image; those in padding are in the bias."""
    layer = requantised(node, attributes(node).activation, op.AXIS, LINE_SHIFT, swar=False)
    kept = one_window.taps(node).kept(node, layer.weights).astype(np.int64)
    padding = layer.weights.sum(1) - kept.sum(1)
    return replace(layer, weights=kept, bias=layer.bias + node.input(INPUT).quant.zero_point * padding)


def _geometry(node: Node) -> str | None:
    reason = one_window.refusal(node)
    if reason is not None:
        return reason
    if node.output.shape[3] < CHANNELS:
        return f"is for {CHANNELS} channels or more"
    few = prod(one_window.taps(node).shape) < _LEAST_TAPS
    return f"is for windows of at least {_LEAST_TAPS} taps in the image" if few else None


def _loops(node: Node, layer: RequantisedLayer) -> int:
    """Returns the cycles of all images."""
    taps, blocks = prod(one_window.taps(node).shape), -(-node.output.shape[3] // CHANNELS)
    block = (_SINGLE if layer.is_single_rounding else _DOUBLE) + _PAIR * (taps // 2) + _TAP * (taps % 2)
    return node.output.shape[0] * (_IMAGE + _FOUND * taps + blocks * block)

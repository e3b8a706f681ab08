"""conv2d of 3x3 over one channel for cores with the DSP extension (Cortex-M4, M7, M33): int8."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.kernels import weights as packing
from aboard.kernels.arm_dsp import dot
from aboard.kernels.arm_dsp.pointwise import DOUBLE_ROUNDING, ONCE, PixelsInRegisters, layer_of, packed
from aboard.kernels.contract import (
    ROLLING_ROW_COST,
    ConstantArg,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
)
from aboard.kernels.portable.conv2d import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.requantisation import RequantisedLayer
from aboard.kernels.view import View
from aboard.kernels.windowed import groups
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT
from aboard.target import Target

#: Rows and columns of a window.
_WINDOW = (3, 3)

#: Distances of windows in columns for which the two of a pair fit in registers.
_STRIDES = (1, 2)

#: Cycles of a pair of pixels, of an iteration of up to four channels of both, and of each of these, by the distance of
#: windows; of the rows of pairs that are a call, and of a row of a window that is copied.
_PAIR, _ITERATION, _CHANNEL = {1: 29.6, 2: 44}, 7.5, {1: 28.7, 2: 30.7}
_CALL, _COPIED = 193, 57.6

#: Taps of a channel in the order of their halfwords; -1 for a weight of 0.
_ORDER = (0, 3, 1, 4, 2, 5, 6, 8, 7, -1)


@implements
class DspPlaneS8(PixelsInRegisters):
    """Windows of 3x3 over one channel, as of a grey image."""

    name = "dsp_plane_s8"

    @override
    def wrong_geometry(self, node: Node) -> str | None:
        attrs = op.attributes(node)
        if op.window(node) != _WINDOW or attrs.dilations != (1, 1) or attrs.strides[1] not in _STRIDES:
            return "is for windows of 3x3 without dilation, one or two columns apart"
        return None if node.input(INPUT).shape[3] == groups(node) == 1 else "is for one input channel"

    @override
    def rolling_cost(self, node: Node) -> float:
        images, rows = node.output.shape[:2]
        return images * rows * _WINDOW[0] * ROLLING_ROW_COST

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        layer = layer_of(node)
        return KernelCall(
            header="arm_dsp/conv2d_plane.h",
            function="aboard_conv2d_plane_dsp",
            params_type="aboard_conv2d_plane_dsp_t",
            params={
                "shape": {**shape_params(node, x, y), "groups": 1},
                "zero_point": node.input(INPUT).quant.zero_point,
                **layer.params,
            },
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", pack(layer), form=dot.WIDENED)),
            ),
            rows=y.rows,
            code_variant=f"stride={op.attributes(node).strides[1]} single_rounding={int(layer.is_single_rounding)}",
            slow_epilogue=not layer.is_single_rounding,
            loops=_loops(node, layer),
        )


def pack(layer: RequantisedLayer) -> Array:
    """Returns the words of `aboard_dsp_plane_t`: [channels, ABOARD_DSP_PLANE_CHANNEL]."""
    return packed(layer, np.pad(layer.weights, ((0, 0), (0, 1)))[:, list(_ORDER)])


def _loops(node: Node, layer: RequantisedLayer) -> int:
    """Returns the work of all pairs of pixels; the last of a row may be a single one."""
    images, rows, cols, channels = node.output.shape
    attrs, (height, width) = op.attributes(node), node.input(INPUT).shape[1:3]
    stride = attrs.strides[1]
    pairs = -(-cols // 2)
    inside = _pairs_inside(width, stride, attrs.padding.left, cols)
    calls = copied = 0
    for row in range(rows):
        top = row * attrs.strides[0] - attrs.padding.top
        there = sum(0 <= top + tap < height for tap in range(_WINDOW[0]))
        calls += pairs if there < _WINDOW[0] else pairs - inside + min(inside, 1)
        copied += there * (pairs - inside)
    channel = _CHANNEL[stride] + (0 if layer.is_single_rounding else DOUBLE_ROUNDING)
    pair = _PAIR[stride] + -(-channels // ONCE) * _ITERATION + channels * channel
    return round(images * (calls * _CALL + copied * _COPIED + rows * pairs * pair))


def _pairs_inside(width: int, stride: int, before: int, cols: int) -> int:
    """Returns the pairs of pixels of a row whose columns are all in the input."""
    first = -(-before // (2 * stride))
    room = width - _WINDOW[1] - stride - (2 * first * stride - before)
    return max(0, min(room // (2 * stride) + 1, cols // 2 - first)) if room >= 0 else 0

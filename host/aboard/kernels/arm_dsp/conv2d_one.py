"""conv2d with the DSP extension (Cortex-M4, M7, M33) with one channel in each group: int8."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import loops
from aboard.kernels import weights as packing
from aboard.kernels.arm_dsp import dot, large_sums
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
from aboard.kernels.portable.conv2d import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.requantisation import RequantisedLayer
from aboard.kernels.view import View
from aboard.kernels.windowed import Convolution, groups
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT, WEIGHTS, Precision
from aboard.target import Target

#: Cycles of a result; of a row of its window that has tap groups, of a tap group, of a tap behind them, and of a tap of
#: a row without: such rows are a loop each, unless the window is a pixel.
_RESULT, _ROW, _TAP_GROUP, _TAP, _TAP_ALONE = 11.5, 36, 9.2, 5.4, 14
#: Cycles of a pixel that is copied, and of a byte of it.
_COPIED_PIXEL, _COPIED_BYTE = 13, 2.8


@implements
class DspOneS8(Convolution):
    """int8: a pixel of one channel at once, whose weights are as they are."""

    name = "dsp_one_s8"
    exact = True
    keys = frozenset({"arm_dsp"})
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        if reason is not None:
            return reason
        if node.output.shape[3] != groups(node):
            return "is for one channel in each group"
        try:
            _layer(node)
        except UnsupportedNodeError as error:
            return str(error)
        return None

    @override
    def rolling_cost(self, node: Node) -> float:
        """Finds the rows of each window once for each channel."""
        return math.prod(node.output.shape) * op.window(node)[0] * ROLLING_ROW_COST

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        layer, count = _layer(node), groups(node)
        weights = np.concatenate([large_sums.channel(part, op.window(node)[0]) for part in layer.split(count)])
        return KernelCall(
            header="arm_dsp/conv2d_one.h",
            function="aboard_conv2d_one_dsp",
            params_type="aboard_conv2d_dsp_t",
            params={
                "shape": {**shape_params(node, x, y), "groups": count},
                "wide": 0,
                "lines": 1,
                "passes": 1,
                "zero_point": node.input(INPUT).quant.zero_point,
                **layer.params,
            },
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", weights, form=dot.PAIRED)),
                ScratchArg(Scratch(math.prod(node.input(WEIGHTS).shape[1:])), "int8_t *"),
            ),
            rows=y.rows,
            code_variant=f"single_rounding={int(layer.is_single_rounding)}",
            slow_epilogue=not layer.is_single_rounding,
            loops=_loops(node),
        )


def _layer(node: Node) -> RequantisedLayer:
    return large_sums.layer(node, op.attributes(node).activation, op.AXIS)


def _loops(node: Node) -> int:
    """Returns the cycles of all windows; those with gaps or padding are copied first."""
    height, width = op.window(node)
    depth = node.input(INPUT).shape[3] // groups(node)
    tap_groups, taps = divmod(width * depth, dot.TAP_GROUP)
    tap = _TAP if tap_groups or height * width == 1 else _TAP_ALONE
    row = (_ROW + _TAP_GROUP * tap_groups if tap_groups else 0) + tap * taps
    copied = loops.windows_with_gaps(node) * groups(node) * height * width
    return round(
        math.prod(node.output.shape) * (_RESULT + height * row) + copied * (_COPIED_PIXEL + _COPIED_BYTE * depth)
    )

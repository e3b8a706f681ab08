"""conv2d with the DSP extension (Cortex-M4, M7, M33) for sums of any size: int8."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
from aboard.kernels.arm_dsp import dot, large_sums
from aboard.kernels.arm_dsp.conv2d import DspS8
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
from aboard.kernels.windowed import Convolution, groups, has_one_channel
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT, WEIGHTS, Precision
from aboard.target import Target

#: Least number of taps of a window's row that is worth a call of its own for each block of channels, and number of
#: channels below which copying windows costs more than such calls.
_LONG_ROW, _FEW_CHANNELS = 256, 12


@implements
class DspLargeS8(Convolution):
    """int8: a pixel and four channels at once, sums of any size."""

    name = "dsp_large_s8"
    exact = True
    keys = frozenset({"arm_dsp"})
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        if reason is not None:
            return reason
        if has_one_channel(node):
            return "is for two channels or more"
        if not dot.fits_swar(packing.matrix(node, op.AXIS)):
            return "has weights of -128"
        try:
            _layer(node)
        except UnsupportedNodeError as error:
            return str(error)
        return None if DspS8().refuses(node, target) else f"is for sums that {DspS8.name} cannot take"

    @override
    def rolling_cost(self, node: Node) -> float:
        """Finds the rows of each window once for each group of channels."""
        pixels = math.prod(node.output.shape[:3])
        return pixels * groups(node) * op.window(node)[0] * ROLLING_ROW_COST

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        layer, lines = _layer(node), _reads_in_place(node)
        taps = layer.weights.shape[1]
        weights = np.concatenate([large_sums.blocks(part) for part in layer.split(groups(node))])
        return KernelCall(
            header="arm_dsp/conv2d_large.h",
            function="aboard_conv2d_large_dsp",
            params_type="aboard_conv2d_dsp_t",
            params={
                "shape": {**shape_params(node, x, y), "groups": groups(node)},
                "wide": 0,
                "lines": int(lines),
                "passes": 1,
                "zero_point": node.input(INPUT).quant.zero_point,
                **layer.params,
            },
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", weights, form=dot.PAIRED)),
                ScratchArg(Scratch(taps), "int8_t *"),
            ),
            rows=y.rows,
            code_variant=f"lines={int(lines)} single_rounding={int(layer.is_single_rounding)}",
            slow_epilogue=not layer.is_single_rounding,
        )


def _layer(node: Node) -> RequantisedLayer:
    return large_sums.layer(node, op.attributes(node).activation, op.AXIS)


def _reads_in_place(node: Node) -> bool:
    """True if the rows of windows are read where they lie; else each window is copied, once for all channels."""
    channels, _, width, depth = node.input(WEIGHTS).shape
    row = width * depth
    return row % dot.TAP_GROUP == 0 and (row >= _LONG_ROW or channels // groups(node) < _FEW_CHANNELS)

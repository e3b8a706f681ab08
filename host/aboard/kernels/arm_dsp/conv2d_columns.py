"""conv2d of windows three pixels wide for cores with the DSP extension (Cortex-M4, M7, M33): int8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
from aboard.kernels.arm_dsp import dot
from aboard.kernels.arm_dsp.conv2d_blocks import CHANNELS, DspBlocksS8, packed
from aboard.kernels.contract import (
    ROLLING_ROW_COST,
    ConstantArg,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    RowWise,
    Scratch,
    ScratchArg,
)
from aboard.kernels.portable.conv2d import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.requantisation import RequantisedLayer
from aboard.kernels.view import View
from aboard.kernels.windowed import groups
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT, WEIGHTS
from aboard.target import Knob, Target

#: ABOARD_DSP_COLUMNS, ABOARD_DSP_COLUMN_RESULTS and ABOARD_DSP_COLUMN_TAPS of `arm_dsp/dot_columns.h`.
COLUMNS, RESULTS, TAPS = 6, 4, 3

#: Groups of columns of the longest iteration of `arm_dsp/dot_columns.h`.
_ITERATION = 6

#: Bytes of a group of columns.
_GROUP_BYTES = 4 * COLUMNS


@implements
class DspColumnsS8(DspBlocksS8):
    """Like `DspBlocksS8` for windows three pixels wide: neighbours share the columns that both need."""

    name = "dsp_columns_s8"
    exact = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        return _geometry(node) or super().refuses(node, target) or _channels(node)

    @override
    def knobs(self, node: Node, target: Target) -> tuple[Knob, ...]:
        return ()

    @override
    def row_wise(self, node: Node) -> RowWise:
        return RowWise()

    @override
    def rolling_cost(self, node: Node) -> float:
        """Counts the rows of the windows of four results."""
        rows, cols = node.output.shape[1:3]
        return rows * -(-cols // RESULTS) * op.window(node)[0] * ROLLING_ROW_COST

    @override
    def growth(self, node: Node, rows: int) -> float:
        """Rows have no common pairs of pixels."""
        return 1.0

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        layer = self._layer(node)
        return KernelCall(
            header="arm_dsp/conv2d_columns.h",
            function="aboard_conv2d_columns_dsp",
            params_type="aboard_conv2d_columns_dsp_t",
            params={
                "shape": {**shape_params(node, x, y), "groups": 1},
                "zero_point": node.input(INPUT).quant.zero_point,
                **layer.params,
            },
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", packed(layer), form=dot.PAIRED)),
                ScratchArg(Scratch(_GROUP_BYTES * _column_groups(node)), "uint32_t *"),
                ScratchArg(Scratch(x.channels), "int8_t *"),
            ),
            rows=y.rows,
            code_variant=f"single_rounding={int(layer.is_single_rounding)}",
            slow_epilogue=not layer.is_single_rounding,
        )

    @override
    def _layer(self, node: Node) -> RequantisedLayer:
        layer = super()._layer(node)
        return replace(layer, weights=layer.weights[:, _order(node)])


def _channels(node: Node) -> str | None:
    return "is for a multiple of four output channels" if node.output.shape[3] % CHANNELS else None


def _geometry(node: Node) -> str | None:
    attrs = op.attributes(node)
    if op.window(node)[1] != TAPS or attrs.strides[1] != 1 or attrs.dilations[1] != 1 or groups(node) != 1:
        return "is for windows three pixels wide, one pixel apart, without groups"
    if node.input(INPUT).shape[3] % dot.TAP_GROUP != 0 or _column_groups(node) % _ITERATION != 0:
        return "is for a multiple of four input channels, and twelve of all rows of a window"
    return None


def _column_groups(node: Node) -> int:
    """Returns the groups of columns of a window: pairs of channels of each row."""
    height, _, depth = node.input(WEIGHTS).shape[1:]
    return height * depth // 2


def _order(node: Node) -> list[int]:
    """Returns the order of a window's taps for `packed`: those of the same two channels of a row are together."""
    height, width, depth = node.input(WEIGHTS).shape[1:]
    taps = np.arange(height * width * depth).reshape(height, width, depth // dot.TAP_GROUP, 2, 2)
    # [row, column, tap group, first or second two of it, even or odd] to [row, tap group, even or odd, column, two].
    steps = taps.transpose(0, 2, 4, 1, 3).reshape(-1, dot.TAP_GROUP)
    return [int(tap) for tap in steps[:, np.argsort(dot.TAP_ORDER)].reshape(-1)]

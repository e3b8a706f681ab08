"""depthwise_conv2d of one column for cores with the DSP extension (Cortex-M4, M7, M33): int8, two products at once.

`firmware/kernels/arm_dsp/depthwise_column.h` describes how results below one another share words of two pixels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.numerics import wrap32
from aboard.kernels import weights as packing
from aboard.kernels.contract import (
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    RowWise,
    UnsupportedNodeError,
)
from aboard.kernels.overlap import Reads, distance
from aboard.kernels.portable.depthwise_conv2d import params_of_shape
from aboard.kernels.registry import implements
from aboard.kernels.requantisation import RequantisedLayer, requantised
from aboard.kernels.view import View
from aboard.kernels.windowed import sliding_window
from aboard.ops import depthwise_conv2d as op
from aboard.ops.conv2d import attributes, window
from aboard.ops.weighted import INPUT, Precision
from aboard.target import Target

#: ABOARD_DSP_TALL_TAPS and ABOARD_DSP_TALL_RESULTS of `arm_dsp/tall_windows.h`.
MOST_TAPS, RESULTS = 32, 6

#: ABOARD_DSP_LINE_BUFFER_SHIFT of `arm_dsp/line_buffer.h`.
LINE_SHIFT = 2

#: Longest row whose length operand and result are aligned to: a longer one would cost the arena more than it saves.
_LONGEST_ROW = 256

#: Cycles of a channel's set-up, in cycles of a result.
_SETUP = 2


@implements
class DspColumnS8(Implementation):
    """int8: up to six results of a channel below one another, two taps in one product."""

    op = "depthwise_conv2d"
    name = "dsp_column_s8"
    exact = True
    strided = True
    by_rows = True
    keys = frozenset({"arm_dsp"})

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
    def alignment(self, node: Node) -> int:
        """Rows of operand and result that lie over one another let each channel overwrite its own column."""
        return _row(node) or self.align

    @override
    def overlap(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View]) -> int | None:
        """A column of a channel is read before or when it is written, one channel after another."""
        x, y = packing.view(inputs), outputs[0]
        below = distance(sliding_window(node), x, y, Reads.ROW)
        row = _row(node)
        if below is None or (row and x.row_stride == y.row_stride == row):
            return None if below is None else 0
        # The last channel of the first row is read after the first channels of the last row are written.
        return below + (y.rows - 1) * y.row_stride

    @override
    def row_wise(self, node: Node) -> RowWise:
        """As many rows at once as share words of pixels."""
        return RowWise(RESULTS)

    @override
    def growth(self, node: Node, rows: int) -> float:
        """Counts the weights that each call widens."""
        return 1 + _SETUP / min(rows, node.output.shape[1])

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        layer = _layer(node)
        params = {"shape": params_of_shape(node, x, y), **layer.params}
        return KernelCall(
            header="arm_dsp/depthwise_column.h",
            function="aboard_depthwise_conv2d_column",
            params_type="aboard_depthwise_conv2d_column_t",
            params=params,
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", pack(layer), form="int8")),
            ),
            rows=y.rows,
            code_variant=f"taps={window(node)[0]} {_blocks(y.rows)} single_rounding={int(layer.is_single_rounding)}",
            slow_epilogue=not layer.is_single_rounding,
            # Registers hold the weights of a literal number of taps.
            code_key=repr(params),
        )


def pack(layer: RequantisedLayer) -> Array:
    """Returns the words of `aboard_depthwise_conv2d_column`: [channels, words]."""
    channels = len(layer.bias)
    if layer.is_single_rounding:
        head = [layer.bias, layer.factor, layer.constant]
    else:
        # Of twice the sums the upper half of the product with the multiplier is TFLite's first rounding.
        head = [2 * layer.bias, (layer.factor % (1 << 32)) >> 1, layer.constant, layer.shift]
    taps = layer.weights.shape[1]
    fours = np.pad(layer.weights, ((0, 0), (0, -taps % 4))).reshape(channels, -1, 4)[:, :, [0, 2, 1, 3]]
    weights = np.ascontiguousarray(fours.astype(np.int8)).reshape(channels, -1).view("<u4")
    constants = wrap32(np.stack(head, 1)).astype(np.int32).view(np.uint32)
    return np.ascontiguousarray(np.concatenate([constants, weights], 1))


def _layer(node: Node) -> RequantisedLayer:
    return requantised(node, attributes(node).activation, op.AXIS, LINE_SHIFT, swar=False)


def _geometry(node: Node) -> str | None:
    attrs, (height, width) = attributes(node), window(node)
    if op.depth_multiplier(node) != 1:
        return "is for one result of each channel"
    if width != 1 or not 2 <= height <= MOST_TAPS:
        return f"is for windows of one column and 2 to {MOST_TAPS} rows"
    if attrs.strides != (1, 1) or attrs.dilations[0] != 1 or attrs.padding.any:
        return "is for strides and dilations of 1 without padding"
    return None


def _blocks(rows: int) -> str:
    """Returns how the code of a column is made of blocks of six results and of pairs."""
    if rows < RESULTS:
        return f"pairs={int(rows > 1)} single={rows % 2}"
    return f"blocks={1 + (rows % RESULTS > 0)}"


def _row(node: Node) -> int:
    """Returns the bytes of a row of operand and result if an arena can align both to it, else 0."""
    shape = node.input(INPUT).shape
    row = shape[2] * shape[3]
    return row if row <= _LONGEST_ROW and row & (row - 1) == 0 else 0

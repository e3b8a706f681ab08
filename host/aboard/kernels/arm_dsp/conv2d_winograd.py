"""conv2d of 3x3 windows for cores with the DSP extension (Cortex-M4, M7, M33) by Winograd's F(2x2, 3x3): int8.

Four results of a channel, a tile, take 16 products of transformed inputs and weights instead of 36. Weights are
transformed here, with integers only, by twice the usual matrix: all sums are four times what they should be. They are
exact modulo 2**32, so that four times the sum of a result must fit int32, and nothing else.
`firmware/kernels/arm_dsp/dot_winograd.h` computes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Node
from aboard.ir.numerics import Int64, wrap32
from aboard.kernels import weights as packing
from aboard.kernels.arm_dsp import dot
from aboard.kernels.arm_dsp.conv2d import LINE_SHIFT
from aboard.kernels.arm_dsp.conv2d_blocks import CHANNELS
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
    UnsupportedNodeError,
)
from aboard.kernels.portable.conv2d import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.requantisation import RequantisedLayer, requantised
from aboard.kernels.view import View
from aboard.kernels.windowed import Convolution, groups
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT, Precision
from aboard.target import Target

#: ABOARD_DSP_PLACES and ABOARD_DSP_TILES of `arm_dsp/dot_winograd.h`.
PLACES, TILES = 16, 2

#: ABOARD_DSP_TILE_COLUMNS, ABOARD_DSP_TILE_RESULTS and ABOARD_DSP_TILE_HEIGHT of `arm_dsp/winograd_inputs.h`.
COLUMNS, RESULTS, HEIGHT = 6, 4, 2

#: Bytes of the sums of two tiles for four channels, and of the inputs of two tiles for each channel.
_SUM_BYTES, _INPUT_BYTES = 4 * PLACES * TILES * CHANNELS, 2 * PLACES * TILES

#: ABOARD_DSP_TILE_EDGE of the header: most channels of a result that lies over its operand.
_EDGE_CHANNELS = 160

#: Twice the transformation of a window's rows, and of its columns.
_TRANSFORMATION = np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]])

#: Sums are four times what they should be, and four times a sum must fit int32.
_FACTOR = 4


@dataclass(frozen=True)
class TileCycles:
    """Cycles of two tiles on Cortex-M4.

    Attributes:
        product: Of a product of channels.
        result: For each channel of the result.
        input: For each channel of the operand.
        both: For both tiles.
    """

    product: int
    result: int
    input: int
    both: int = 0


class WinogradTiles(Convolution):
    """int8, 3x3: two tiles side by side, and four channels at once.

    Attributes:
        height: Rows of results of a tile.
        results: Columns of results of two tiles.
        cycles: What two tiles take.
    """

    exact = True
    keys = frozenset({"arm_dsp"})
    height: ClassVar[int]
    results: ClassVar[int]
    cycles: ClassVar[TileCycles]

    def work(self, node: Node) -> int:
        """Returns the work of all pairs of tiles, whose results may partly be computed for nothing."""
        images, rows, cols, count = node.output.shape
        inputs, channels, each = depth(node), -(-count // CHANNELS) * CHANNELS, self.cycles
        pairs = images * -(-rows // self.height) * -(-cols // self.results)
        return pairs * (each.product * inputs * channels + each.result * channels + each.input * inputs + each.both)

    @override
    def row_wise(self, node: Node) -> RowWise:
        return RowWise(self.height)

    @override
    def overlap(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View]) -> int | None:
        """Further rows of results are written before tiles on the right read their first rows of the operand."""
        return None

    @override
    def rolling_cost(self, node: Node) -> float:
        """Counts the rows of the windows of two tiles."""
        rows, cols = node.output.shape[1:3]
        return -(-rows // self.height) * -(-cols // self.results) * (self.height + 2) * ROLLING_ROW_COST

    @override
    def growth(self, node: Node, rows: int) -> float:
        """Counts rows of tiles that are computed for nothing."""
        return -(-rows // self.height) * self.height / rows


@implements
class DspWinogradS8(WinogradTiles):
    """int8, 3x3: two tiles of 2x2 results and four channels at once, transformed weights of 16 bits."""

    name = "dsp_winograd_s8"
    height, results = HEIGHT, RESULTS
    cycles = TileCycles(product=32, result=280, input=115, both=460)

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        return refusal(node, _FACTOR)

    @override
    def overwrites_rows(self, node: Node) -> tuple[int, ...]:
        """Two rows of tiles are read before their results are written, but for a column that is put back."""
        padding, same = op.attributes(node).padding, node.input(INPUT).shape == node.output.shape
        few = node.output.shape[3] <= _EDGE_CHANNELS
        return (INPUT,) if same and few and (padding.top, padding.left) == (1, 1) else ()

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        layer = layer_of(node, _FACTOR)
        row_bytes = (COLUMNS - 1) * x.pixel_stride + x.channels
        # Rows in blocks may lie over each other; of other rows the planner decides by `overlap`.
        overwrites = bool(x.table and y.table and self.overwrites_rows(node))
        edge = HEIGHT * x.channels if overwrites else 0
        return KernelCall(
            header="arm_dsp/conv2d_winograd.h",
            function="aboard_conv2d_winograd_dsp",
            params_type="aboard_conv2d_winograd_dsp_t",
            params={
                "shape": {**shape_params(node, x, y), "groups": 1},
                "zero_point": node.input(INPUT).quant.zero_point,
                "padding_bytes": row_bytes,
                "overwrites": int(overwrites),
                **layer.params,
            },
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(
                    PackedConstant("weights", packed(layer, _TRANSFORMATION, _FACTOR, _FACTOR), form=dot.WIDENED)
                ),
                # One buffer, which the memory planner places more tightly than two.
                ScratchArg(Scratch(_SUM_BYTES + _INPUT_BYTES * depth(node) + row_bytes + edge), "uint32_t *"),
            ),
            rows=y.rows,
            code_variant=f"single_rounding={int(layer.is_single_rounding)} steps={steps(depth(node))}",
            slow_epilogue=not layer.is_single_rounding,
            loops=self.work(node),
        )


def steps(depth: int) -> str:
    """Returns the code of the products in `arm_dsp/winograd_products.h` for a number of channels of the operand."""
    return "any" if depth % 16 else "16" if depth == 16 else "32"


def packed(layer: RequantisedLayer, transformation: Int64, factor: int, left: int) -> Array:
    """Returns the words of `aboard_dsp_products_t`: [blocks of four channels, words].

    Args:
        layer: The layer.
        transformation: That of a window's rows, and of its columns: [places of an axis, 3], integers.
        factor: What sums are multiplied by.
        left: The part of it that the requantisation divides by, a power of two.
    """
    axis = len(transformation)
    results = packing.overlapping(len(layer.weights), CHANNELS).reshape(-1)
    count, taps = len(results), _whole_groups(layer.weights.reshape(len(layer.weights), 3, 3, -1)[results])
    places = np.einsum("ai,bj,nijk->nabk", transformation, transformation, taps).reshape(count, axis * axis, -1)
    # [channels, places, tap groups, even and odd taps of a group, two taps], then a word for two taps.
    ordered = places.reshape(count, axis * axis, -1, dot.TAP_GROUP)[..., dot.TAP_ORDER].astype("<i2")
    pairs = np.ascontiguousarray(ordered).view("<u4")
    # [blocks, channels, places, steps] to [blocks, places, steps, channels].
    products = pairs.reshape(-1, CHANNELS, axis * axis, pairs.shape[2] * pairs.shape[3]).transpose(0, 2, 3, 1)
    columns = [factor * layer.bias, layer.factor]
    if layer.is_single_rounding:
        columns += [left * layer.constant + left // 2]
    else:
        columns += [layer.constant, layer.shift]
    around = wrap32(np.stack(columns, 1)[results]).astype(np.int32).view(np.uint32).reshape(len(products), -1)
    return np.ascontiguousarray(np.concatenate([products.reshape(len(products), -1), around], 1))


def _whole_groups(taps: Int64) -> Int64:
    """Returns weights [.., channels] of whole tap groups: the last are the last channels, 0 where they repeat some."""
    channels = packing.overlapping(taps.shape[-1], dot.TAP_GROUP)
    filled, last = taps[..., channels.reshape(-1)], channels.size - dot.TAP_GROUP
    filled[..., last : channels.size - taps.shape[-1] + last] = 0
    return filled


def depth(node: Node) -> int:
    """Returns the channels of transformed inputs: aboard_dsp_tile_depth of `arm_dsp/winograd_products.h`."""
    return -(-node.input(INPUT).shape[3] // dot.TAP_GROUP) * dot.TAP_GROUP


def refusal(node: Node, left: int) -> str | None:
    """Returns why a node cannot be computed by tiles whose requantisation divides by `left`."""
    reason = packing.refusal(node, Precision.INT8, op.AXIS) or _geometry(node)
    if reason is not None:
        return reason
    try:
        layer_of(node, left)
    except UnsupportedNodeError as error:
        return str(error)
    return None


def _geometry(node: Node) -> str | None:
    attrs = op.attributes(node)
    is_plain = op.window(node) == (3, 3) and attrs.strides == (1, 1) and attrs.dilations == (1, 1)
    if not is_plain or groups(node) != 1:
        return "is for windows of 3x3, one pixel apart, without dilation and groups"
    if node.input(INPUT).shape[3] < dot.TAP_GROUP:
        return "is for four input channels or more"
    return None


def layer_of(node: Node, left: int) -> RequantisedLayer:
    """Returns the layer of a node; `left` times a sum must fit int32."""
    # Constants of single roundings that fit 256 times fit `left` times.
    return requantised(node, op.attributes(node).activation, op.AXIS, LINE_SHIFT, limit=(1 << 31) // left)

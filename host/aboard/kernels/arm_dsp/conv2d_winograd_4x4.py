"""conv2d of 3x3 windows for cores with the DSP extension (Cortex-M4, M7, M33) by Winograd's F(4x4, 3x3): int8.

16 results of a channel, a tile, take 36 products of transformed inputs and weights instead of 144. All sums are 576
times what they should be, exact modulo 2**32; a product with the inverse of 9 leaves 64 times the sum of a result,
which must fit int32, and nothing else. `firmware/kernels/arm_dsp/dot_winograd_4x4.h` computes them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.arm_dsp import dot
from aboard.kernels.arm_dsp.conv2d_blocks import CHANNELS
from aboard.kernels.arm_dsp.conv2d_winograd import (
    TILES,
    TileCycles,
    WinogradTiles,
    depth,
    layer_of,
    packed,
    refusal,
    steps,
)
from aboard.kernels.contract import (
    ConstantArg,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    Scratch,
    ScratchArg,
)
from aboard.kernels.portable.conv2d import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.kernels.weights import view
from aboard.ops.weighted import INPUT
from aboard.target import Target

#: ABOARD_DSP_PLACES_4X4 of `arm_dsp/dot_winograd_4x4.h`.
PLACES = 36

#: ABOARD_DSP_TILE_4X4_COLUMNS, _RESULTS and _HEIGHT of `arm_dsp/winograd_4x4_inputs.h`.
COLUMNS, RESULTS, HEIGHT = 10, 8, 4

#: Bytes of the sums of two tiles for four channels, and of the inputs of two tiles for each channel.
_SUM_BYTES, _INPUT_BYTES = 4 * PLACES * TILES * CHANNELS, 2 * PLACES * TILES

#: The transformation of a window's rows, and of its columns, times 24; the last row and its sums are halved.
_TRANSFORMATION = np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 12]])

#: What sums are multiplied by, and what is left of it behind a product with the inverse of 9.
_FACTOR, _LEFT = 576, 64


@implements
class DspWinograd4x4S8(WinogradTiles):
    """int8, 3x3: two tiles of 4x4 results and four channels at once, transformed weights of 16 bits."""

    name = "dsp_winograd_4x4_s8"
    height, results = HEIGHT, RESULTS
    cycles = TileCycles(product=72, result=740, input=440)

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        if target.opt != "speed":
            return "is for -opt=speed: its scratch and weights are several times those of other kernels"
        return refusal(node, _LEFT)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = view(inputs), outputs[0]
        layer = layer_of(node, _LEFT)
        row_bytes = (COLUMNS - 1) * x.pixel_stride + x.channels
        return KernelCall(
            header="arm_dsp/conv2d_winograd_4x4.h",
            function="aboard_conv2d_winograd_4x4_dsp",
            params_type="aboard_conv2d_winograd_4x4_dsp_t",
            params={
                "shape": {**shape_params(node, x, y), "groups": 1},
                "zero_point": node.input(INPUT).quant.zero_point,
                "padding_bytes": row_bytes,
                **layer.params,
            },
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(
                    PackedConstant("weights", packed(layer, _TRANSFORMATION, _FACTOR, _LEFT), form=dot.WIDENED)
                ),
                # One buffer, which the memory planner places more tightly than two.
                ScratchArg(Scratch(_SUM_BYTES + _INPUT_BYTES * depth(node) + row_bytes), "uint32_t *"),
            ),
            rows=y.rows,
            code_variant=f"single_rounding={int(layer.is_single_rounding)} steps={steps(depth(node))}",
            slow_epilogue=not layer.is_single_rounding,
            loops=self.work(node),
        )

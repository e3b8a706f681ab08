"""conv2d of int8 with the vector extension of RISC-V."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
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
from aboard.kernels.overlap import Reads
from aboard.kernels.portable.conv2d import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.riscv_v import block as blocks
from aboard.kernels.view import Literal, View
from aboard.kernels.windowed import Convolution, Windowed, groups
from aboard.ops import conv2d as op
from aboard.ops.weighted import INPUT
from aboard.target import Target


def scratch(node: Node, channels: int) -> Scratch:
    """Returns the table of the windows of four pixels, with a pixel of padding if windows pass the image.

    Args:
        node: A conv2d or depthwise_conv2d.
        channels: Channels of a pixel of padding.
    """
    table = blocks.PIXELS * math.prod(op.window(node)) * blocks.PLACE_BYTES
    return Scratch(table + (channels if op.attributes(node).padding.any else 0))


class FourPixels(Windowed):
    """A kernel of four pixels at once, whose windows are read where they lie."""

    name = "riscv_v_s8"
    exact = True
    keys = blocks.KEYS

    @override
    def reads(self, node: Node) -> Reads:
        return Reads.FOUR

    @override
    def rolling_cost(self, node: Node) -> float:
        """Finds a row for each row of a pixel's window."""
        _, rows, cols, _ = node.output.shape
        return ROLLING_ROW_COST * rows * cols * op.window(node)[0]

    @override
    def growth(self, node: Node, rows: int) -> float:
        """Counts pixels of a group of four that are computed for nothing."""
        pixels = rows * node.output.shape[2]
        return math.ceil(pixels / blocks.PIXELS) * blocks.PIXELS / pixels


@implements
class RiscvVS8(FourPixels, Convolution):
    """int8: sixteen channels of four pixels at once, windows in place."""

    @override
    def row_wise(self, node: Node) -> RowWise:
        """Two rows at once if a row has an odd number of pixels."""
        return RowWise(1 + node.output.shape[2] % 2)

    @override
    def rolling_cost(self, node: Node) -> float:
        """Finds the rows once for each group."""
        return groups(node) * super().rolling_cost(node)

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        return blocks.refusal(node, op.attributes(node).activation, op.AXIS)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        whole = blocks.layer(node, op.attributes(node).activation, op.AXIS)
        parts = whole.split(groups(node))
        params: dict[str, Literal] = {
            "shape": {**shape_params(node, x, y), "groups": groups(node)},
            "padded": int(op.attributes(node).padding.any),
            "zero_point": node.input(INPUT).quant.zero_point,
            **blocks.limits(whole),
        }
        return KernelCall(
            header="riscv_v/conv2d.h",
            function="aboard_conv2d_riscv_v",
            params_type="aboard_conv2d_riscv_v_t",
            params=params,
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", np.concatenate([blocks.weights(part) for part in parts]))),
                ConstantArg(PackedConstant("constants", np.concatenate([blocks.constants(part) for part in parts]))),
                ScratchArg(scratch(node, x.channels // groups(node)), "aboard_riscv_v_place_t *"),
            ),
            rows=y.rows,
            slow_epilogue=not whole.is_single_rounding,
        )

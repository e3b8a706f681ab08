"""depthwise_conv2d of int8 with the vector extension of RISC-V."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
from aboard.kernels.contract import ConstantArg, InputArg, KernelCall, OutputArg, PackedConstant, RowWise, ScratchArg
from aboard.kernels.portable.conv2d import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.riscv_v import block as blocks
from aboard.kernels.riscv_v.conv2d import FourPixels, scratch
from aboard.kernels.view import Literal, View
from aboard.ops import depthwise_conv2d as op
from aboard.ops.conv2d import attributes
from aboard.ops.weighted import INPUT
from aboard.target import Target


@implements
class RiscvVS8(FourPixels):
    """int8: sixteen channels of four pixels at once, windows of any size in place."""

    op = "depthwise_conv2d"

    @override
    def row_wise(self, node: Node) -> RowWise:
        """As many rows as a convolution before it computes at once."""
        return RowWise(1 + node.input(INPUT).shape[2] % 2)

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        if op.depth_multiplier(node) != 1:
            return "is for one result channel per channel"
        return blocks.refusal(node, attributes(node).activation, op.AXIS)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, y = packing.view(inputs), outputs[0]
        layer = blocks.layer(node, attributes(node).activation, op.AXIS)
        params: dict[str, Literal] = {
            "shape": {**shape_params(node, x, y), "groups": x.channels},
            "padded": int(attributes(node).padding.any),
            "zero_point": node.input(INPUT).quant.zero_point,
            **blocks.limits(layer),
        }
        return KernelCall(
            header="riscv_v/depthwise_conv2d.h",
            function="aboard_depthwise_conv2d_riscv_v",
            params_type="aboard_conv2d_riscv_v_t",
            params=params,
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", blocks.weights(layer))),
                ConstantArg(PackedConstant("constants", blocks.constants(layer))),
                ScratchArg(scratch(node, x.channels), "aboard_riscv_v_place_t *"),
            ),
            rows=y.rows,
            slow_epilogue=not layer.is_single_rounding,
        )

"""fully_connected of int8 with the vector extension of RISC-V."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import ConstantArg, Implementation, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable.fully_connected import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.riscv_v import block as blocks
from aboard.kernels.view import View
from aboard.ops import fully_connected as op
from aboard.ops.weighted import INPUT
from aboard.target import Target


@implements
class RiscvVS8(Implementation):
    """int8: sixteen channels of up to four samples at once."""

    op = "fully_connected"
    name = "riscv_v_s8"
    exact = True
    keys = blocks.KEYS

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        return blocks.refusal(node, op.attributes(node).activation, op.AXIS)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        layer = blocks.layer(node, op.attributes(node).activation, op.AXIS)
        return KernelCall(
            header="riscv_v/fully_connected.h",
            function="aboard_fully_connected_riscv_v",
            params_type="aboard_fully_connected_riscv_v_t",
            params={**shape_params(node, outputs[0]), **blocks.limits(layer)},
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", blocks.weights(layer))),
                ConstantArg(PackedConstant("constants", blocks.constants(layer))),
            ),
            rows=outputs[0].rows,
            slow_epilogue=not layer.is_single_rounding,
        )

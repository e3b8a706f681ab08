"""fully_connected of int16 with int8 weights in portable C."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
from aboard.kernels.contract import ConstantArg, Implementation, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable import epilogue_s16
from aboard.kernels.portable.epilogue import BLOCK
from aboard.kernels.portable.fully_connected import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops import fully_connected as op
from aboard.ops.weighted import INPUT
from aboard.target import Target


@implements
class PortableS16(Implementation):
    """int16: four output channels at a time."""

    op = "fully_connected"
    name = "portable_s16"
    exact = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        return epilogue_s16.refusal(node, op.AXIS)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        matrix = packing.matrix(node, op.AXIS)
        result = epilogue_s16.epilogue(node, matrix, packing.bias(node), op.attributes(node).activation, op.AXIS)
        return KernelCall(
            header="portable/fully_connected_s16.h",
            function="aboard_fully_connected_s16",
            params_type="aboard_fully_connected_s16_t",
            params={**shape_params(node, outputs[0]), "chunk": result.chunk, "epilogue": result.params},
            arguments=(
                InputArg(INPUT, "const int16_t *"),
                OutputArg(0, "int16_t *"),
                ConstantArg(PackedConstant("weights", packing.blocks(matrix, BLOCK))),
                ConstantArg(PackedConstant("constants", result.constants)),
            ),
            rows=outputs[0].rows,
            slow_epilogue=not result.short,
        )

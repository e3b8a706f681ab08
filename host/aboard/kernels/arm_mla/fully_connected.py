"""fully_connected for Arm cores with MLA but without SIMD (Cortex-M3): int8."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import loops
from aboard.kernels import weights as packing
from aboard.kernels.contract import ConstantArg, Implementation, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable.epilogue import BLOCK, epilogue
from aboard.kernels.portable.fully_connected import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops import fully_connected as op
from aboard.ops.weighted import Precision
from aboard.target import Target


@implements
class MlaS8(Implementation):
    """int8: four channels at once, loads in runs."""

    op = "fully_connected"
    name = "mla_s8"
    exact = True
    keys = frozenset({"arm_mla"})

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        return packing.refusal(node, Precision.INT8, op.AXIS)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        matrix = packing.matrix(node, op.AXIS)
        result = epilogue(node, matrix, packing.bias(node), op.attributes(node).activation, op.AXIS)
        return KernelCall(
            header="arm_mla/fully_connected.h",
            function="aboard_fully_connected_mla",
            params_type="aboard_fully_connected_s8_t",
            params={**shape_params(node, outputs[0]), "epilogue": result.params},
            arguments=(
                InputArg(0, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", packing.blocks(matrix, BLOCK))),
                ConstantArg(PackedConstant("constants", result.blocks())),
            ),
            rows=outputs[0].rows,
            slow_epilogue=not result.fast,
            loops=loops.of_matrix(node, BLOCK),
        )

"""fully_connected with one to four output channels in portable C: int8."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
from aboard.kernels.contract import ConstantArg, Implementation, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable.epilogue import epilogue
from aboard.kernels.portable.fully_connected import FEW, shape_params
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops import fully_connected as op
from aboard.ops.weighted import INPUT, WEIGHTS, Precision
from aboard.target import Target


@implements
class PortableFewS8(Implementation):
    """int8: as many channels at once as there are."""

    op = "fully_connected"
    name = "portable_few_s8"
    exact = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        if reason is not None:
            return reason
        return None if node.input(WEIGHTS).shape[op.AXIS] <= FEW else f"is for at most {FEW} channels"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        matrix = packing.matrix(node, op.AXIS)
        result = epilogue(node, matrix, packing.bias(node), op.attributes(node).activation, op.AXIS)
        return KernelCall(
            header="portable/fully_connected_few.h",
            function="aboard_fully_connected_few_s8",
            params_type="aboard_fully_connected_few_s8_t",
            params={**shape_params(node, outputs[0]), "epilogue": result.params},
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", np.ascontiguousarray(matrix.T))),
                ConstantArg(PackedConstant("constants", result.blocks())),
            ),
            rows=outputs[0].rows,
            code_variant=f"channels={len(matrix)}",
            slow_epilogue=not result.fast,
        )

"""fully_connected of int8 with Helium in code that layers share."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
from aboard.kernels.arm_mve import loops
from aboard.kernels.arm_mve.epilogue import LANES, EpilogueMve, epilogue, refusal
from aboard.kernels.contract import ConstantArg, Implementation, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable.fully_connected import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops import fully_connected as op
from aboard.ops.weighted import INPUT, WEIGHTS, Precision
from aboard.target import Target

#: Alignment of vectors of constants.
_VECTOR = 16

#: Instructions of sixteen inputs times four channels, and of these outside of their loop over inputs, beside results.
_CHUNK, _BLOCK = 10, 20


def _loops(node: Node, result: EpilogueMve) -> int:
    """Returns the work of the loops: blocks of four channels."""
    channels, inputs = node.input(WEIGHTS).shape
    block = loops.of_block(math.ceil(inputs / loops.CHUNK) * _CHUNK + _BLOCK, 1, result)
    return loops.UNIT * math.prod(node.output.shape) // channels * math.ceil(channels / LANES) * block


@implements
class MveRowsS8(Implementation):
    """int8: four output channels at once, weights as they are, parameters that are no part of the code."""

    op = "fully_connected"
    name = "mve_rows_s8"
    exact = True
    keys = frozenset({"arm_mve"})

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = packing.refusal(node, Precision.INT8, op.AXIS)
        return reason or refusal(node, op.attributes(node).activation, op.AXIS)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        matrix = packing.matrix(node, op.AXIS)
        found = epilogue(node, matrix, packing.bias(node), op.attributes(node).activation, op.AXIS)
        # A loop for each form would be code for layers that are rare.
        result = found.general()
        return KernelCall(
            header="arm_mve/fully_connected_rows.h",
            function="aboard_fully_connected_rows_mve",
            params_type="aboard_fully_connected_rows_mve_t",
            params={**shape_params(node, outputs[0]), "epilogue": result.params},
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", np.ascontiguousarray(matrix))),
                ConstantArg(PackedConstant("constants", result.blocks(), align=_VECTOR)),
            ),
            rows=outputs[0].rows,
            code_variant=f"single_rounding={int(result.is_single)}",
            slow_epilogue=not result.is_single,
            loops=_loops(node, result),
        )

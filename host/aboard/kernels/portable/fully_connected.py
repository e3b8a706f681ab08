"""fully_connected in portable C: int8, float32, float32 with int8 weights."""

from __future__ import annotations

import math
from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import loops
from aboard.kernels import weights as packing
from aboard.kernels.contract import ConstantArg, Implementation, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable.epilogue import BLOCK, epilogue
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.kernels.weights import padded
from aboard.ops import fully_connected as op
from aboard.ops.weighted import INPUT, WEIGHTS, Precision
from aboard.target import Target

HEADER = "portable/fully_connected.h"

#: Output channels that the int8 kernel computes at once.
BLOCK_S8 = 8

#: Output channels that have an int8 kernel of their own, at most (`fully_connected_few`).
FEW = 4


def shape_params(node: Node, y: View) -> dict[str, Literal]:
    """Returns the size fields of the parameter struct."""
    outputs, inputs = node.input(WEIGHTS).shape
    return {"inputs": inputs, "outputs": outputs, "samples": math.prod(node.output.shape) // outputs // y.rows}


class _Portable(Implementation):
    op = "fully_connected"
    form: Precision

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        return packing.refusal(node, self.form, op.AXIS)


@implements
class PortableS8(_Portable):
    """int8: eight output channels at a time."""

    name = "portable_s8"
    exact = True
    form = Precision.INT8

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        reason = super().refuses(node, target)
        if reason is None and node.input(WEIGHTS).shape[op.AXIS] <= FEW:
            return f"is for more than {FEW} channels"
        return reason

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        matrix = packing.matrix(node, op.AXIS)
        result = epilogue(node, matrix, packing.bias(node), op.attributes(node).activation, op.AXIS)
        constants = padded(result.blocks(), BLOCK_S8 // BLOCK)
        return KernelCall(
            header=HEADER,
            function="aboard_fully_connected_s8" if target.opt == "speed" else "aboard_fully_connected_s8_shared",
            params_type="aboard_fully_connected_s8_t",
            params={**shape_params(node, outputs[0]), "epilogue": result.params},
            arguments=(
                InputArg(INPUT, "const int8_t *"),
                OutputArg(0, "int8_t *"),
                ConstantArg(PackedConstant("weights", packing.blocks(matrix, BLOCK_S8))),
                ConstantArg(PackedConstant("constants", constants)),
            ),
            rows=outputs[0].rows,
            slow_epilogue=not result.fast,
            loops=loops.of_matrix(node, BLOCK_S8),
        )


class _PortableFloat(_Portable):
    """Both float forms: four output channels at a time."""

    function: str

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        weights = packing.blocks(packing.matrix(node, op.AXIS), BLOCK)
        constants = packing.interleaved(packing.float_constants(node, op.AXIS), BLOCK)
        return KernelCall(
            header=HEADER,
            function=self.function,
            params_type="aboard_fully_connected_f32_t",
            params={**shape_params(node, outputs[0]), **packing.float_clamp(op.attributes(node).activation)},
            arguments=(
                InputArg(INPUT, "const float *"),
                OutputArg(0, "float *"),
                ConstantArg(PackedConstant("weights", weights)),
                ConstantArg(PackedConstant("constants", constants)),
            ),
            rows=outputs[0].rows,
        )


@implements
class PortableF32(_PortableFloat):
    """float32 throughout."""

    name = "portable_f32"
    form = Precision.FLOAT
    function = "aboard_fully_connected_f32"


@implements
class PortableF32W8(_PortableFloat):
    """float32 with int8 weights, which stay int8 in flash."""

    name = "portable_f32_w8"
    form = Precision.HYBRID
    function = "aboard_fully_connected_f32_w8"

"""fully_connected of int16 with int8 weights for cores with the DSP extension (Cortex-M4, M7, M33)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import weights as packing
from aboard.kernels.arm_dsp import dot_s16
from aboard.kernels.arm_dsp.dot import TAP_GROUP
from aboard.kernels.contract import (
    ConstantArg,
    Implementation,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
    Scratch,
    ScratchArg,
)
from aboard.kernels.portable import epilogue_s16
from aboard.kernels.portable.fully_connected import shape_params
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops import fully_connected as op
from aboard.ops.weighted import INPUT
from aboard.target import Target

#: Channels of a block.
BLOCK = 4


@implements
class DspS16(Implementation):
    """int16: four output channels at a time."""

    op = "fully_connected"
    name = "dsp_s16"
    exact = True
    keys = frozenset({"arm_dsp"})
    align = 4

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        return epilogue_s16.refusal(node, op.AXIS)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        matrix = packing.matrix(node, op.AXIS)
        result = epilogue_s16.epilogue(node, matrix, packing.bias(node), op.attributes(node).activation, op.AXIS)
        taps = matrix.shape[1]
        staged = 0 if taps % TAP_GROUP == 0 else -(-taps // TAP_GROUP) * TAP_GROUP * np.int16().nbytes
        return KernelCall(
            header="arm_dsp/fully_connected_s16.h",
            function="aboard_fully_connected_dsp_s16",
            params_type="aboard_fully_connected_dsp_s16_t",
            params={
                **shape_params(node, outputs[0]),
                "chunk": -(-result.chunk // TAP_GROUP),
                "epilogue": result.params,
            },
            arguments=(
                InputArg(INPUT, "const int16_t *"),
                OutputArg(0, "int16_t *"),
                ConstantArg(PackedConstant("weights", dot_s16.blocks(matrix, result, BLOCK), form="int8")),
                ScratchArg(Scratch(staged), "uint32_t *"),
            ),
            rows=outputs[0].rows,
            slow_epilogue=not result.short,
        )

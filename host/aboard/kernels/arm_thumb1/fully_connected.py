"""fully_connected for Arm cores with MULS alone (Cortex-M0, M0+, M23): int8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.kernels import loops, two_products
from aboard.kernels import weights as packing
from aboard.kernels.contract import ConstantArg, KernelCall, PackedConstant
from aboard.kernels.portable.epilogue import BLOCK, epilogue
from aboard.kernels.portable.fully_connected import PortableS8
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops import fully_connected as op
from aboard.target import Target

#: What is added to weights, so that bytes are not negative.
_OFFSET = 128


@implements
class Thumb1S8(PortableS8):
    """int8: two channels share the words that are multiplied, four channels at once."""

    name = "thumb1_s8"
    keys = frozenset({"arm_thumb1"})

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        return super().refuses(node, target) or two_products.refusal(packing.matrix(node, op.AXIS))

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        call = super().lower(node, inputs, outputs, target)
        matrix = packing.matrix(node, op.AXIS)
        blocks = packing.blocks(matrix, BLOCK).astype(np.int16) + _OFFSET
        weights = np.ascontiguousarray(blocks.astype(np.uint8)).view("<u4")
        result = epilogue(node, matrix, packing.bias(node), op.attributes(node).activation, op.AXIS)
        x, y, _, _ = call.arguments
        return replace(
            call,
            header="arm_thumb1/fully_connected.h",
            function="aboard_fully_connected_thumb1",
            loops=loops.of_matrix(node, BLOCK),
            arguments=(
                x,
                y,
                ConstantArg(PackedConstant("weights", weights)),
                ConstantArg(PackedConstant("constants", result.blocks())),
            ),
        )

"""Reshape on any core: a copy of the whole tensor, if operand and result cannot share memory."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, KernelCall
from aboard.kernels.portable import gather
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.target import Target


@implements
class ReshapePortable(Implementation):
    """One memcpy; operand and result are stored whole."""

    op = "reshape"
    name = "portable"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        operand, result = gather.operand(inputs), outputs[0]
        steps = [
            gather.Step(bytes=step.rows * result.row_stride + step.bytes)
            for step in gather.axis_steps(node.output.shape, result)
        ]
        return gather.call(gather.gather(node.output.shape, steps, gather.Step(), operand, result), result.rows)

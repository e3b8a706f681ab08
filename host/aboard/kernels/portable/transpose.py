"""Transpose on any core: a gather with the operand's axes in another order."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, KernelCall
from aboard.kernels.portable import gather
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.transpose import attributes
from aboard.target import Target


@implements
class TransposePortable(Implementation):
    """Rows of the result in order; each is gathered from the operand."""

    op = "transpose"
    name = "portable"
    strided = True

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        operand, result = gather.operand(inputs), outputs[0]
        steps = gather.axis_steps(node.input(0).shape, operand)
        ordered = [steps[axis] for axis in attributes(node).order]
        return gather.call(gather.gather(node.output.shape, ordered, gather.Step(), operand, result), result.rows)

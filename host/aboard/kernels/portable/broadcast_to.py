"""Broadcast on any core: a gather that stays where it is along repeated axes."""

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
class BroadcastToPortable(Implementation):
    """Rows of the result in order, each copied from the row or the element that is repeated."""

    op = "broadcast_to"
    name = "portable"
    strided = True

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        operand, result = gather.operand(inputs), outputs[0]
        before, after = node.input(0).shape, node.output.shape
        steps = [
            step if size == extent else gather.Step()
            for step, size, extent in zip(gather.axis_steps(before, operand), before, after, strict=True)
        ]
        return gather.call(gather.gather(after, steps, gather.Step(), operand, result), result.rows)

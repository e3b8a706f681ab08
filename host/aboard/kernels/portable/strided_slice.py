"""Strided slice on any core: a gather with the starts and strides of the slices."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, KernelCall
from aboard.kernels.portable import gather
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.strided_slice import StridedSliceAttributes, attributes
from aboard.target import Target


@implements
class StridedSlicePortable(Implementation):
    """Rows of the result in order; contiguous runs if only rows or pixels are left out."""

    op = "strided_slice"
    name = "portable"
    strided = True

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        attrs, operand, result = attributes(node), gather.operand(inputs), outputs[0]
        steps = gather.axis_steps(node.input(0).shape, operand)
        start = gather.Step()
        for part, step in zip(attrs.slices, steps, strict=True):
            start += step * part.start
        result_steps = _result_steps(
            attrs, [step * part.stride for part, step in zip(attrs.slices, steps, strict=True)]
        )
        return gather.call(gather.gather(attrs.shape, result_steps, start, operand, result), result.rows)


def _result_steps(attrs: StridedSliceAttributes, steps: Sequence[gather.Step]) -> list[gather.Step]:
    """Returns the steps of the result's axes, with axes of one index dropped or added."""
    moving = [step for part, step in zip(attrs.slices, steps, strict=True) if part.count != 1]
    return [gather.Step() if extent == 1 else moving.pop(0) for extent in attrs.shape]

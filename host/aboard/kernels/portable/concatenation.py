"""Concatenation on any core: copies rows of the operands side by side, or one after another."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable import gather
from aboard.kernels.portable.arity import MAX_PARTS
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops.concatenation import attributes
from aboard.target import Target


@implements
class ConcatenationPortable(Implementation):
    """Copies each row of the result from the operands that contain a part of it."""

    op = "concatenation"
    name = "portable"
    strided = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses more operands than the largest kernel has."""
        operands = len(node.inputs)
        return None if operands <= MAX_PARTS else f"{operands} operands, at most {MAX_PARTS} are supported"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        axis, shape, result = attributes(node).axis, node.output.shape, outputs[0]
        step = gather.axis_steps(shape, result)[axis]
        inner = step.rows or result.rows
        parts: list[Literal] = []
        start = 0
        for index, tensor in enumerate(node.operands):
            extent = tensor.shape[axis]
            parts.append(
                {
                    "view": gather.operand(inputs, index).literal(),
                    "start": start if step.rows else 0,
                    "extent": extent if step.rows else 1,
                    "byte": start * step.bytes,
                }
            )
            start += extent
        count = len(parts)
        return KernelCall(
            header="portable/concatenation.h",
            function=f"aboard_concatenation_{count}",
            params_type=f"aboard_concatenation_{count}_t",
            params={
                "rows": {
                    "out": result.literal(),
                    "element_bytes": result.element_bytes,
                    "extent": shape[axis] if step.rows else 1,
                    "inner": inner,
                },
                "part": parts,
            },
            arguments=(*(InputArg(index, "const void *") for index in range(count)), OutputArg(0, "void *")),
            rows=result.rows,
        )

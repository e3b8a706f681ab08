"""Split on any core: one gather per part."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable import gather
from aboard.kernels.portable.arity import MAX_PARTS
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops.split import attributes
from aboard.target import Target


@implements
class SplitPortable(Implementation):
    """All parts row by row; part after part if they have different numbers of rows."""

    op = "split"
    name = "portable"
    strided = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses more parts than the largest kernel has."""
        parts = len(node.outputs)
        return None if parts <= MAX_PARTS else f"{parts} parts, at most {MAX_PARTS} are supported"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        attrs, operand = attributes(node), gather.operand(inputs)
        steps = gather.axis_steps(node.input(0).shape, operand)
        parts: list[Literal] = []
        start = 0
        for tensor, view, size in zip(node.outputs, outputs, attrs.sizes, strict=True):
            parts.append(gather.gather(tensor.shape, steps, steps[attrs.axis] * start, operand, view))
            start += size
        rows = outputs[0].rows
        return KernelCall(
            header="portable/split.h",
            function=f"aboard_split_{len(parts)}",
            params_type=f"aboard_split_{len(parts)}_t",
            params={"part": parts},
            arguments=(
                InputArg(0, "const void *"),
                *(OutputArg(index, "void *") for index in range(len(parts))),
            ),
            rows=rows,
            step_rows=1 if all(view.rows == rows for view in outputs) else rows,
        )

"""add_n on any core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable.arithmetic import scaling_fields
from aboard.kernels.portable.arity import MAX_PARTS
from aboard.kernels.portable.elementwise import SUFFIXES, joined, present
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops import get
from aboard.ops.add_n import AddN
from aboard.target import Target


@implements
class AddNPortable(Implementation):
    """All operands of an element at once."""

    op, name = "add_n", "portable"
    strided = True
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses more operands than there are kernels for."""
        operands = len(node.inputs)
        return None if operands <= MAX_PARTS else f"{operands} operands, at most {MAX_PARTS} are supported"

    @override
    def runs_in_place(self, node: Node) -> tuple[tuple[int, int], ...]:
        """Returns that the result may be the memory of any operand."""
        return tuple((0, index) for index in range(len(node.inputs)))

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        *views, result = joined(*present(inputs), outputs[0])
        count, offset, scaling = len(views), 0, scaling_fields(0, 0, 0)
        if not node.output.dtype.is_float:
            offset = -(count + 1) * node.input(0).quant.zero_point
            scaling = scaling_fields(node.output.quant.zero_point, *cast(AddN, get(node.op)).scaling(node))
        return KernelCall(
            header="portable/add_n.h",
            function=f"aboard_add_n_{SUFFIXES[node.output.dtype]}_{count}",
            params_type=f"aboard_add_n_{count}_t",
            params={
                "sum": {"out": result.literal(), "offset": offset, "sum": scaling},
                "in": [view.literal() for view in views],
            },
            arguments=(*(InputArg(index, "const void *") for index in range(count)), OutputArg(0, "void *")),
            rows=result.rows,
        )

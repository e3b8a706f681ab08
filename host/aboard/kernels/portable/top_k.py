"""top_k on any core."""

from __future__ import annotations

import math
from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable.elementwise import SUFFIXES
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.top_k import attributes
from aboard.target import Target


@implements
class TopKPortable(Implementation):
    """A search of each sample for one element after the other."""

    op, name = "top_k", "portable"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        operand, attrs = node.input(0), attributes(node)
        return KernelCall(
            header="portable/top_k.h",
            function=f"aboard_top_k_{SUFFIXES[operand.dtype]}",
            params_type="aboard_top_k_t",
            params={
                "samples": math.prod(operand.shape[:-1]),
                "extent": operand.shape[-1],
                "count": attrs.count,
                "is_largest": int(attrs.largest),
            },
            arguments=(
                InputArg(0, f"const {operand.dtype.c} *"),
                OutputArg(0, f"{operand.dtype.c} *"),
                OutputArg(1, "int32_t *"),
            ),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )

"""scatter_nd on any core."""

from __future__ import annotations

import math
from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable.elementwise import SUFFIXES
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.gather import MAX_INDICES, counts
from aboard.ops.scatter import attributes
from aboard.target import Target


@implements
class ScatterNdPortable(Implementation):
    """A copy, and a run for each tuple of indices."""

    op, name = "scatter_nd", "portable"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        x, indices = node.input(0), node.input(1).shape
        length, ctype = indices[-1], x.dtype.c
        rest = [0] * (MAX_INDICES - length)
        return KernelCall(
            header="portable/scatter.h",
            function=f"aboard_scatter_{attributes(node).reduction.value}_{SUFFIXES[x.dtype]}",
            params_type="aboard_scatter_t",
            params={
                "elements": x.type.elements,
                "tuples": math.prod(indices[:-1]),
                "length": length,
                "extent": [*x.shape[:length], *[1 for _ in rest]],
                "count": [*counts(x.shape, length), *rest],
                "run": math.prod(x.shape[length:]),
            },
            arguments=(
                InputArg(0, f"const {ctype} *"),
                InputArg(1, "const int32_t *"),
                InputArg(2, f"const {ctype} *"),
                OutputArg(0, f"{ctype} *"),
            ),
            rows=outputs[0].rows,
            step_rows=outputs[0].rows,
        )

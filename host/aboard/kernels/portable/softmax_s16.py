"""softmax of int16 on any core."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import ConstantArg, Implementation, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable.elementwise import present
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops import softmax_wide
from aboard.ops.softmax import wide_scaling
from aboard.target import Target


@implements
class SoftmaxS16(Implementation):
    """softmax of int16: exponentials and a reciprocal are interpolated in two tables."""

    op, name = "softmax", "portable_s16"
    in_place = ((0, 0),)
    strided = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types."""
        return None if node.input(0).dtype is DType.INT16 else "is for int16"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        (source,), result = present(inputs), outputs[0]
        multiplier, shift = wide_scaling(node)
        tables = np.concatenate([softmax_wide.exponentials(), softmax_wide.reciprocals()]).astype(np.int16)
        return KernelCall(
            header="portable/softmax_s16.h",
            function="aboard_softmax_s16",
            params_type="aboard_softmax_s16_t",
            params={"in": source.literal(), "out": result.literal(), "multiplier": multiplier, "shift": shift},
            arguments=(
                InputArg(0, "const int16_t *"),
                OutputArg(0, "int16_t *"),
                ConstantArg(PackedConstant("tables", tables)),
            ),
            rows=result.rows,
        )

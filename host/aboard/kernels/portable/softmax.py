"""softmax on any core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import ConstantArg, Implementation, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable.elementwise import present
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.softmax import attributes, exponentials
from aboard.target import Target


@implements
class SoftmaxS8(Implementation):
    """softmax of int8: a table holds the exponentials, which depend only on the difference from the maximum."""

    op, name = "softmax", "portable_s8"
    in_place: ClassVar[tuple[tuple[int, int], ...]] = ((0, 0),)
    strided = True
    result = DType.INT8
    function = "aboard_softmax_s8"

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types."""
        if (node.input(0).dtype, node.output.dtype) == (DType.INT8, self.result):
            return None
        return "is for int8" if self.result is DType.INT8 else "is for int8 with a result of int16"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        (source,), result = present(inputs), outputs[0]
        table = exponentials(node).astype(np.int32)
        return KernelCall(
            header="portable/softmax.h",
            function=self.function,
            params_type="aboard_softmax_s8_t",
            params={"in": source.literal(), "out": result.literal(), "steps": len(table)},
            arguments=(
                InputArg(0, "const int8_t *"),
                OutputArg(0, f"{self.result.value}_t *"),
                ConstantArg(PackedConstant("exponentials", table)),
            ),
            rows=result.rows,
        )


@implements
class SoftmaxS8S16(SoftmaxS8):
    """softmax of int8 with a result of int16."""

    name = "portable_s8_s16"
    in_place = ()
    result = DType.INT16
    function = "aboard_softmax_s8_s16"


@implements
class SoftmaxF32(Implementation):
    """softmax of float32."""

    op, name = "softmax", "portable_f32"
    in_place = ((0, 0),)
    strided = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types."""
        return None if node.output.dtype is DType.FLOAT32 else "is for float32"

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        (source,), result = present(inputs), outputs[0]
        return KernelCall(
            header="portable/softmax.h",
            function="aboard_softmax_f32",
            params_type="aboard_softmax_f32_t",
            params={"in": source.literal(), "out": result.literal(), "beta": attributes(node).beta},
            arguments=(InputArg(0, "const float *"), OutputArg(0, "float *")),
            rows=result.rows,
        )

"""log_softmax and l2_normalization on any core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import ConstantArg, Implementation, InputArg, KernelCall, OutputArg, PackedConstant
from aboard.kernels.portable.elementwise import SUFFIXES, present
from aboard.kernels.registry import implement, implements
from aboard.kernels.view import Literal, View
from aboard.ops import get
from aboard.ops.normalization import LogSoftmax
from aboard.target import Target


class Normalization(Implementation):
    """A kernel of whole pixels.

    Attributes:
        dtype: Element type.
        params_type: Type of the parameters, without `aboard_` and `_t`.
    """

    in_place = ((0, 0),)
    strided = True
    by_rows = True
    dtype: ClassVar[DType] = DType.FLOAT32
    params_type: ClassVar[str] = "elements"

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types."""
        return None if node.output.dtype is self.dtype else f"is for {self.dtype.value}"

    def fields(self, node: Node) -> Mapping[str, Literal]:
        """Returns what the parameters hold behind the views."""
        del node
        return {}

    def constants(self, node: Node) -> list[PackedConstant]:
        """Returns what the kernel is called with behind operand and result."""
        del node
        return []

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        (source,), result = present(inputs), outputs[0]
        return KernelCall(
            header="portable/normalization.h",
            function=f"aboard_{self.op}_{SUFFIXES[self.dtype]}",
            params_type=f"aboard_{self.params_type}_t",
            params={"in": source.literal(), "out": result.literal(), **self.fields(node)},
            arguments=(
                InputArg(0, f"const {self.dtype.c} *"),
                OutputArg(0, f"{self.dtype.c} *"),
                *(ConstantArg(constant) for constant in self.constants(node)),
            ),
            rows=result.rows,
        )


implement(Normalization, [{"op": op, "name": "portable_f32"} for op in ("log_softmax", "l2_normalization")])


@implements
class L2NormalizationS8(Normalization):
    """l2_normalization of int8."""

    op, name, dtype, params_type = "l2_normalization", "portable_s8", DType.INT8, "l2_normalization_s8"

    @override
    def fields(self, node: Node) -> Mapping[str, Literal]:
        return {"zero_point": node.input(0).quant.zero_point}


@implements
class LogSoftmaxS8(Normalization):
    """log_softmax of int8, with a table of exponentials."""

    op, name, dtype, params_type = "log_softmax", "portable_s8", DType.INT8, "log_softmax_s8"

    @override
    def fields(self, node: Node) -> Mapping[str, Literal]:
        op = cast(LogSoftmax, get(node.op))
        scaling, back = op.scaling(node), op.steps_of(node)
        return {
            "steps": len(op.powers(node)),
            "multiplier": scaling.multiplier,
            "shift": scaling.shift,
            "back_multiplier": back[0],
            "back_shift": back[1],
        }

    @override
    def constants(self, node: Node) -> list[PackedConstant]:
        return [PackedConstant("exponentials", cast(LogSoftmax, get(node.op)).powers(node).astype(np.int32))]

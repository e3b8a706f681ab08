"""add, sub and mul of int16 on any core, with broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import InputArg, KernelCall, OutputArg
from aboard.kernels.portable.arithmetic import Arithmetic, scalings
from aboard.kernels.portable.broadcast import over
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.ops.arithmetic import attributes
from aboard.target import Target


class ArithmeticS16(Arithmetic):
    """The reference's roundings, in 32 bits if the ranges of int16 allow it."""

    name = "portable_s16"
    dtype = DType.INT16

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        low, high = attributes(node).activation.range(node.output.quant, DType.INT16)
        return KernelCall(
            header="portable/arithmetic_s16.h",
            function=f"aboard_{'product' if self.op == 'mul' else 'sum'}_s16",
            params_type="aboard_arithmetic_s16_t",
            params={"over": over(node, inputs, outputs[0]), **scalings(node), "low": low, "high": high},
            arguments=(InputArg(0, "const int16_t *"), InputArg(1, "const int16_t *"), OutputArg(0, "int16_t *")),
            rows=outputs[0].rows,
        )


@implements
class AddS16(ArithmeticS16):
    """add of int16."""

    op = "add"


@implements
class SubS16(ArithmeticS16):
    """sub of int16."""

    op = "sub"


@implements
class MulS16(ArithmeticS16):
    """mul of int16."""

    op = "mul"

"""add, sub and mul of int8 with Helium, with broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import override

from aboard.ir import Node, Rounding
from aboard.kernels.arm_mve.arithmetic import AddMve
from aboard.kernels.contract import KernelCall
from aboard.kernels.portable.arithmetic import ArithmeticS8, short_sum, signature
from aboard.kernels.registry import implements
from aboard.kernels.view import View
from aboard.target import Target


class ElementwiseMve(ArithmeticS8):
    """Four elements at once, of a sum by the short form if one is proven equal."""

    name = "mve_broadcast_s8"
    keys = frozenset({"arm_mve"})

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses what the portable kernel refuses, results that are rounded exactly, and what `SumMve` computes."""
        reason = super().refuses(node, target)
        if reason is not None:
            return reason
        if node.attrs.rounding is Rounding.EXACT:
            return "is for results that are rounded as in TFLite"
        if self.op != "mul" and AddMve().refuses(node, target) is None:
            return f"is for operands that {AddMve.name} refuses"
        return None

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        call = super().lower(node, inputs, outputs, target)
        line = None if self.op == "mul" else short_sum(signature(node))
        function = "aboard_product_mve_s8" if self.op == "mul" else "aboard_sum_mve_s8"
        return replace(
            call,
            header="arm_mve/elementwise.h",
            function=function if line is None else "aboard_sum_short_mve_s8",
            slow_epilogue=False,
            # Parameters are immediates in instructions, so layers cannot share code.
            code_key=repr(call.params),
        )


@implements
class AddBroadcastMve(ElementwiseMve):
    """add."""

    op = "add"


@implements
class SubBroadcastMve(ElementwiseMve):
    """sub."""

    op = "sub"


@implements
class MulMve(ElementwiseMve):
    """mul."""

    op = "mul"

"""add and sub of int8 with Helium."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable.arithmetic import short_sum, signature
from aboard.kernels.portable.elementwise import present
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops.arithmetic import attributes
from aboard.target import Target


class SumMve(Implementation):
    """Four elements at once, by a short form that is proven equal."""

    name = "arm_mve_s8"
    exact = True
    keys = frozenset({"arm_mve"})
    in_place = ((0, 0), (0, 1))
    strided = True
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types, broadcasting, and sums without a short form."""
        if node.output.dtype is not DType.INT8 or node.output.type.quant is None:
            return "is for quantised int8"
        if any(operand.shape != node.output.shape for operand in node.operands):
            return "is for operands of the shape of the result"
        line = short_sum(signature(node))
        return "no line equals it" if line is None else None

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        line = short_sum(signature(node))
        if line is None:
            raise ValueError(f"{node.name} was refused")
        low, high = attributes(node).activation.range(node.output.quant)
        views = [*present(inputs), outputs[0]]
        a, b, result = views
        params: dict[str, Literal] = {
            "a": a.literal(),
            "b": b.literal(),
            "out": result.literal(),
            "joined": int(all(view.contiguous for view in views)),
            "a_factor": line.a,
            "b_factor": line.b,
            "constant": line.constant,
            "shift": line.shift,
            "low": low,
            "high": high,
        }
        return KernelCall(
            header="arm_mve/arithmetic.h",
            function="aboard_sum_mve",
            params_type="aboard_sum_mve_t",
            params=params,
            arguments=(InputArg(0, "const int8_t *"), InputArg(1, "const int8_t *"), OutputArg(0, "int8_t *")),
            rows=result.rows,
            # Parameters are immediates in instructions, so layers cannot share code.
            code_key=repr(params),
        )


@implements
class AddMve(SumMve):
    """add."""

    op = "add"


@implements
class SubMve(SumMve):
    """sub."""

    op = "sub"

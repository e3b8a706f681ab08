"""Comparisons, logic of two elements, and select, on any core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable.arithmetic import scaling_fields
from aboard.kernels.portable.binary import PLAIN, Binary
from aboard.kernels.portable.broadcast import over, rank_problem
from aboard.kernels.portable.elementwise import SUFFIXES
from aboard.kernels.registry import implement, implements
from aboard.kernels.view import Literal, View
from aboard.ops import get
from aboard.ops.comparison import Comparison
from aboard.target import Target


def _scalings(node: Node) -> Mapping[str, Literal]:
    op = cast(Comparison, get(node.op))
    return {
        name: scaling_fields(operand.quant.zero_point, *op.scaling(operand))
        for name, operand in zip("ab", node.operands, strict=True)
    }


class RawComparison(Binary):
    """A comparison of int8 as they are."""

    specialised = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses operands of different scales, and scales so small that different values are compared as equal."""
        wrong = super().refuses(node, target)
        if wrong is not None:
            return wrong
        if node.input(0).type.quant != node.input(1).type.quant:
            return "is for operands of one scale"
        if node.input(0).type.quant is None:
            return None
        compared = cast(Comparison, get(node.op)).values(node.input(0), np.arange(-128, 128))
        return None if (np.diff(compared) > 0).all() else "is for scales that keep all values apart"

    @override
    def suffix(self, node: Node) -> str:
        return "raw_s8"


_UNSIGNED = (DType.UINT8, DType.UINT32, DType.UINT64)
_SAME = dict.fromkeys((DType.BOOL, DType.INT16, DType.INT32, DType.INT64, *_UNSIGNED, DType.FLOAT32), PLAIN)
_COMPARISONS = ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")
_BOOL = {DType.BOOL: PLAIN}
_COMPARED = {**_SAME, DType.INT8: ("comparison_s8", _scalings)}

_RAW = {DType.INT8: PLAIN}

implement(RawComparison, [{"op": op, "name": "raw_s8", "header": "comparison.h", "types": _RAW} for op in _COMPARISONS])
implement(Binary, [{"op": op, "header": "comparison.h", "types": _COMPARED} for op in _COMPARISONS])
implement(Binary, [{"op": op, "header": "comparison.h", "types": _BOOL} for op in ("logical_and", "logical_or")])


@implements
class SelectPortable(Implementation):
    """select."""

    op, name = "select", "portable"
    in_place = ((0, 1), (0, 2))
    strided = True
    by_rows = True

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses more axes than the kernels have counters for."""
        return rank_problem(node)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        ctype = node.output.dtype.c
        return KernelCall(
            header="portable/select.h",
            function=f"aboard_select_{SUFFIXES[node.output.dtype]}",
            params_type="aboard_select_t",
            params=over(node, inputs, outputs[0]),
            arguments=(
                InputArg(0, "const bool *"),
                *(InputArg(index, f"const {ctype} *") for index in (1, 2)),
                OutputArg(0, f"{ctype} *"),
            ),
            rows=outputs[0].rows,
        )

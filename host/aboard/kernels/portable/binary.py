"""Functions of two elements on any core: extremes, squared differences, rectifiers, quotients, int32 arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, cast

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable.arithmetic import limits_f32, scaling_fields
from aboard.kernels.portable.broadcast import over, rank_problem
from aboard.kernels.portable.elementwise import SUFFIXES
from aboard.kernels.registry import implement
from aboard.kernels.view import Literal, View
from aboard.ops import get
from aboard.ops.arithmetic import attributes
from aboard.ops.binary import Prelu, SquaredDifference
from aboard.ops.division import Div
from aboard.target import Target

#: Fields of a parameter struct behind `over`.
Fields = Callable[[Node], Mapping[str, Literal]]


class Binary(Implementation):
    """A kernel of two operands, of the form that ABOARD_BINARY_KERNEL describes.

    Attributes:
        header: C header.
        types: For each element type of operand 0: the type of the parameters, without `aboard_` and `_t`, and what
            they hold behind `over`.
    """

    name = "portable"
    in_place = ((0, 0), (0, 1))
    strided = True
    by_rows = True
    header: ClassVar[str]
    types: ClassVar[Mapping[DType, tuple[str, Fields]]]

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types, and more axes than the kernels have counters for."""
        if node.input(0).dtype not in self.types:
            return f"is for {' and '.join(dtype.value for dtype in self.types)}"
        _, fields = self.types[node.input(0).dtype]
        scaled = fields is not _nothing and node.input(0).dtype in (DType.INT8, DType.INT16)
        if scaled and node.input(0).type.quant is None:
            return "is for quantised operands"
        return rank_problem(node)

    def suffix(self, node: Node) -> str:
        """Returns how the name of the C function ends."""
        return SUFFIXES[node.input(0).dtype]

    def function(self, node: Node) -> str:
        """Returns the name of the C function, without `aboard_`."""
        return f"{self.op}_{self.suffix(node)}"

    @override
    def runs_in_place(self, node: Node) -> tuple[tuple[int, int], ...]:
        """Returns that the result may be the memory of an operand of its type."""
        return tuple(pair for pair in self.in_place if node.input(pair[1]).dtype is node.output.dtype)

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        dtype = node.input(0).dtype
        params_type, fields = self.types[dtype]
        return KernelCall(
            header=f"portable/{self.header}",
            function=f"aboard_{self.function(node)}",
            params_type=f"aboard_{params_type}_t",
            params={"over": over(node, inputs, outputs[0]), **fields(node)},
            arguments=(
                *(InputArg(index, f"const {tensor.dtype.c} *") for index, tensor in enumerate(node.operands)),
                OutputArg(0, f"{node.output.dtype.c} *"),
            ),
            rows=outputs[0].rows,
        )


def _nothing(node: Node) -> Mapping[str, Literal]:
    del node
    return {}


def _limits_s32(node: Node) -> Mapping[str, Literal]:
    low, high = attributes(node).activation.whole_range()
    return {"low": low, "high": high}


def _whole_range(node: Node) -> Mapping[str, Literal]:
    info = np.iinfo(node.output.dtype.value)
    return {"low": int(info.min), "high": int(info.max)}


def _squared_difference(node: Node) -> Mapping[str, Literal]:
    op = cast(SquaredDifference, get(node.op))
    tensors = (node.input(0), node.input(1), node.output)
    scales = [scaling_fields(t.quant.zero_point, *s) for t, s in zip(tensors, op.scalings(node), strict=True)]
    return {**dict(zip(("a", "b", "out"), scales, strict=True)), "left": op.left_shift(node), **_whole_range(node)}


def _prelu(node: Node) -> Mapping[str, Literal]:
    above, below = cast(Prelu, get(node.op)).scalings(node)
    return {
        "a": scaling_fields(node.input(0).quant.zero_point, *above),
        "b": scaling_fields(node.input(1).quant.zero_point, *below),
        "out": scaling_fields(node.output.quant.zero_point, 0, 0),
        "left": 0,
        **_whole_range(node),
    }


def _div_s8(node: Node) -> Mapping[str, Literal]:
    low, high = attributes(node).activation.range(node.output.quant)
    return {
        "a_zero_point": node.input(0).quant.zero_point,
        "b_zero_point": node.input(1).quant.zero_point,
        "out": scaling_fields(node.output.quant.zero_point, *cast(Div, get(node.op)).scaling(node)),
        "low": low,
        "high": high,
    }


#: The parameters of kernels that have none of their own.
PLAIN: tuple[str, Fields] = ("binary", _nothing)
_EXTREMES = dict.fromkeys((DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32), PLAIN)
_SQUARES = dict.fromkeys((DType.INT8, DType.INT16), ("binary_scaled", _squared_difference))
_SLOPES = dict.fromkeys((DType.INT8, DType.INT16), ("binary_scaled", _prelu))
_INT32 = {DType.INT32: ("arithmetic_s32", _limits_s32)}
_QUOTIENTS = {
    DType.INT8: ("div_s8", _div_s8),
    DType.INT32: ("div_s32", _limits_s32),
    DType.FLOAT32: ("div_f32", limits_f32),
}
_REAL = {DType.FLOAT32: PLAIN}
_WHOLE = {DType.FLOAT32: ("floor_div_f32", _nothing)}

implement(
    Binary,
    [
        {"op": "maximum", "header": "binary.h", "types": _EXTREMES},
        {"op": "minimum", "header": "binary.h", "types": _EXTREMES},
        {"op": "ieee_maximum", "header": "special.h", "types": _REAL},
        {"op": "ieee_minimum", "header": "special.h", "types": _REAL},
        {
            "op": "squared_difference",
            "header": "binary.h",
            "types": {**_SQUARES, DType.INT32: PLAIN, DType.FLOAT32: PLAIN},
        },
        {"op": "prelu", "header": "binary.h", "types": {**_SLOPES, DType.FLOAT32: PLAIN}},
        {"op": "add", "name": "portable_s32", "header": "arithmetic_s32.h", "types": _INT32},
        {"op": "sub", "name": "portable_s32", "header": "arithmetic_s32.h", "types": _INT32},
        {"op": "mul", "name": "portable_s32", "header": "arithmetic_s32.h", "types": _INT32},
        {"op": "div", "header": "division.h", "types": _QUOTIENTS},
        {"op": "floor_div", "header": "division.h", "types": _WHOLE},
        {"op": "floor_mod", "header": "division.h", "types": _WHOLE},
        {"op": "remainder", "header": "division.h", "types": _WHOLE},
        {"op": "pow", "header": "special.h", "types": dict.fromkeys((DType.FLOAT32, DType.INT32, DType.INT64), PLAIN)},
    ],
)

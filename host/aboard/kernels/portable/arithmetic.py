"""add, sub and mul on any core, with broadcasting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node, Quantization, Rounding, Tensor, TensorType
from aboard.ir.numerics import Int64
from aboard.kernels.contract import Implementation, InputArg, KernelCall, OutputArg
from aboard.kernels.portable import short_form
from aboard.kernels.portable.broadcast import over, rank_problem
from aboard.kernels.portable.short_form import ShortForm
from aboard.kernels.registry import implements
from aboard.kernels.view import Literal, View
from aboard.ops import get
from aboard.ops.activation import Activation
from aboard.ops.arithmetic import ONE_HALF, Add, ArithmeticAttributes, Mul, Sub, attributes
from aboard.target import Target


class Arithmetic(Implementation):
    """The common part of implementations for one element type."""

    in_place = ((0, 0), (0, 1))
    strided = True
    by_rows = True
    dtype: DType

    @override
    def refuses(self, node: Node, target: Target) -> str | None:
        """Refuses other element types and more axes than the kernel has counters for."""
        if node.output.dtype is not self.dtype:
            return f"is for {self.dtype.value}"
        if node.output.type.quant is None and not self.dtype.is_float:
            return "is for quantised operands"
        return rank_problem(node)


class ArithmeticS8(Arithmetic):
    """Int8: a short form if one is proven equal, else the reference's roundings."""

    name = "portable_s8"
    exact = True
    dtype = DType.INT8

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        line = _short_product(signature(node)) if self.op == "mul" else short_sum(signature(node))
        kind = "product" if self.op == "mul" else "sum"
        long = f"{kind}_exact" if node.attrs.rounding is Rounding.EXACT else kind
        low, high = attributes(node).activation.range(node.output.quant)
        short = line or ShortForm(0, 0, 0, 0)
        return KernelCall(
            header="portable/arithmetic.h",
            function=f"aboard_{long}_s8" if line is None else f"aboard_{kind}_short_s8",
            params_type="aboard_arithmetic_s8_t",
            params={
                "over": over(node, inputs, outputs[0]),
                **scalings(node),
                "a_factor": short.a,
                "b_factor": short.b,
                "constant": short.constant,
                "shift": short.shift,
                "low": low,
                "high": high,
            },
            arguments=(InputArg(0, "const int8_t *"), InputArg(1, "const int8_t *"), OutputArg(0, "int8_t *")),
            rows=outputs[0].rows,
            slow_epilogue=line is None,
        )


Signature = tuple[str, ArithmeticAttributes, Quantization, Quantization, Quantization]


def signature(node: Node) -> Signature:
    """Returns all properties of an int8 node that determine its results, apart from its operands."""
    return node.op, attributes(node), node.input(0).quant, node.input(1).quant, node.output.quant


def scalings(node: Node) -> dict[str, Literal]:
    """Returns the fields of the long form."""
    op = get(node.op)
    a, b, result = node.input(0).quant, node.input(1).quant, node.output.quant
    if isinstance(op, Mul):
        return {
            "a": scaling_fields(a.zero_point, 0, 0),
            "b": scaling_fields(b.zero_point, 0, 0),
            "out": scaling_fields(result.zero_point, *op.scaling(node)),
        }
    assert isinstance(op, Add | Sub)  # noqa: S101  an internal invariant that also narrows the type
    if node.attrs.rounding is Rounding.EXACT:
        exact = op.exact_scaling(node)
        return {
            "a": scaling_fields(a.zero_point, exact.first, 0),
            "b": scaling_fields(b.zero_point, exact.second, 0),
            "out": scaling_fields(result.zero_point, ONE_HALF, 1 - exact.shift),
        }
    scaling = op.scaling(node)
    multiplier, shift = scaling.second
    return {
        "a": scaling_fields(a.zero_point, *scaling.first),
        "b": scaling_fields(b.zero_point, -multiplier if isinstance(op, Sub) else multiplier, shift),
        "out": scaling_fields(result.zero_point, *scaling.out),
    }


def scaling_fields(zero_point: int, multiplier: int, shift: int) -> Mapping[str, Literal]:
    """Returns the fields of `aboard_scaling_t`."""
    return {"zero_point": zero_point, "multiplier": multiplier, "shift": shift}


@lru_cache(maxsize=256)
def short_sum(node_signature: Signature) -> ShortForm | None:
    """Returns the short form that equals the add or sub of a `signature` for all pairs of operands, or None."""
    op, attrs, a, b, result = node_signature
    low, high = attrs.activation.range(result)
    sign = -1.0 if op == "sub" else 1.0
    ratios = a.scale / result.scale, sign * b.scale / result.scale
    return short_form.of_sum(ratios, _results(*node_signature), low, high)


@lru_cache(maxsize=256)
def _short_product(node_signature: Signature) -> ShortForm | None:
    """Returns the short form that equals a mul for all pairs of operands, or None."""
    _, attrs, a, b, result = node_signature
    low, high = attrs.activation.range(result)
    x = np.arange(-128, 128, dtype=np.int64)
    products = (x[:, None] - a.zero_point) * (x[None, :] - b.zero_point)
    return short_form.of_product(a.scale * b.scale / result.scale, products, _results(*node_signature), low, high)


def _results(op: str, attrs: ArithmeticAttributes, a: Quantization, b: Quantization, result: Quantization) -> Int64:
    """Returns the results of all pairs of operands, [256, 256], starting at -128."""
    probe = Node(
        op,
        "probe",
        [
            Tensor("a", TensorType((256, 1), DType.INT8, a)),
            Tensor("b", TensorType((1, 256), DType.INT8, b)),
        ],
        [Tensor("result", TensorType((256, 256), DType.INT8, result))],
        attrs,
    )
    x = np.arange(-128, 128, dtype=np.int8)
    expected: Int64 = get(op).evaluate(probe, [x[:, None], x[None, :]])[0].astype(np.int64)
    return expected


def limits_f32(node: Node) -> Mapping[str, Literal]:
    """Returns the fields by which float32 results are kept between the limits of the activation."""
    activation = attributes(node).activation
    low, high = activation.float_range()
    return {"clamped": int(activation is not Activation.NONE), "low": low, "high": high}


class ArithmeticF32(Arithmetic):
    """Float32.

    Attributes:
        function: C function.
    """

    name = "portable_f32"
    dtype = DType.FLOAT32
    function: ClassVar[str]

    @override
    def lower(self, node: Node, inputs: Sequence[View | None], outputs: Sequence[View], target: Target) -> KernelCall:
        return KernelCall(
            header="portable/arithmetic.h",
            function=self.function,
            params_type="aboard_arithmetic_f32_t",
            params={"over": over(node, inputs, outputs[0]), **limits_f32(node)},
            arguments=(InputArg(0, "const float *"), InputArg(1, "const float *"), OutputArg(0, "float *")),
            rows=outputs[0].rows,
        )


@implements
class AddS8(ArithmeticS8):
    """add of int8."""

    op = "add"


@implements
class SubS8(ArithmeticS8):
    """sub of int8."""

    op = "sub"


@implements
class MulS8(ArithmeticS8):
    """mul of int8."""

    op = "mul"


@implements
class AddF32(ArithmeticF32):
    """add of float32."""

    op, function = "add", "aboard_add_f32"


@implements
class SubF32(ArithmeticF32):
    """sub of float32."""

    op, function = "sub", "aboard_sub_f32"


@implements
class MulF32(ArithmeticF32):
    """mul of float32."""

    op, function = "mul", "aboard_mul_f32"

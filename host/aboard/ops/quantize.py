"""quantize and dequantize: conversions between real numbers and integers, and between quantisations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, DType, Node, Rounding, TensorType
from aboard.ir.numerics import Int64, multiply_by_quantized_multiplier, wrap32
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.rescaling import overflow_problem, scaling
from aboard.ops.unary import Float32, nearest, real_values, saturate
from aboard.ops.uniform import quantization_problem

_QUANTIZED = {
    (DType.FLOAT32, DType.INT8),
    (DType.FLOAT32, DType.INT16),
    (DType.INT8, DType.INT16),
    (DType.INT16, DType.INT8),
    (DType.INT16, DType.INT16),
    (DType.INT8, DType.INT8),
    (DType.INT8, DType.UINT8),
    (DType.UINT8, DType.INT8),
    (DType.INT8, DType.INT32),
    (DType.INT16, DType.INT32),
    (DType.INT32, DType.INT8),
    (DType.INT32, DType.INT16),
}


class _Conversion(Op):
    elementwise = True

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        node = source.node(self.name, [source.input(0)])
        wrong = self.problem(node)
        if wrong is not None:
            raise source.unsupported(wrong)
        return node

    @abstractmethod
    def problem(self, node: Node) -> str | None:
        """Returns the error in types or quantisation as text, or None."""

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the operand's shape with the result's type."""
        return [TensorType(node.input(0).shape, node.output.dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        wrong = self.problem(node)
        require(wrong is None, node, wrong or "")


@register
class Quantize(_Conversion):
    """Float32 to int8 or int16, or integers of 8, 16 and 32 bits from one quantisation to another.

    What leaves 32 bits on the way to or from int32 wraps.
    """

    name = "quantize"
    tflite = ("QUANTIZE",)

    @override
    def element_types(self) -> tuple[str, ...]:
        return tuple(sorted(f"{a.value} to {b.value}" for a, b in _QUANTIZED))

    @override
    def problem(self, node: Node) -> str | None:
        operand, result = node.input(0), node.output
        if (operand.dtype, result.dtype) not in _QUANTIZED:
            known = ", ".join(self.element_types())
            return (
                f"element types, got {operand.dtype.value} to {result.dtype.value}, expected one of {known}. "
                "Convert the model to types that tflite-micro converts"
            )
        # A softmax of int8 leaves int16 with the zero point -32768.
        wrong = quantization_problem([operand, result], symmetric_s16=operand.dtype.is_float)
        if wrong is not None or operand.dtype.is_float:
            return wrong
        # An element minus a zero point needs a bit more. A result of int32 is never shifted left.
        shifted = operand.dtype is DType.INT16 and operand.quant.zero_point != 0 and result.dtype is not DType.INT32
        return overflow_problem(operand, result, spare_bits=int(shifted))

    @override
    def is_exact(self, node: Node) -> bool:
        """True from float32, and between quantisations of int8, for which a table has the result of each element."""
        return node.input(0).dtype.is_float or node.input(0).dtype is DType.INT8 is node.output.dtype

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Computes the result; values out of range saturate, and NaN becomes the lowest value."""
        x, result = np.asarray(operands[0]), node.output
        if node.attrs.rounding is Rounding.EXACT:
            real = x if node.input(0).dtype.is_float else real_values(x, node.input(0).quant)
            return [nearest(real.astype(np.float32), result)]
        if node.input(0).dtype is DType.FLOAT32:
            with np.errstate(over="ignore"):
                steps = _round_half_away(x.astype(np.float32) / np.float32(result.quant.scale))
        else:
            centred = x.astype(np.int64) - node.input(0).quant.zero_point
            steps = multiply_by_quantized_multiplier(centred, *scaling(node.input(0), result))
            return [saturate(wrap32(steps + result.quant.zero_point), result.dtype).astype(result.dtype.numpy)]
        return [saturate(steps + result.quant.zero_point, result.dtype).astype(result.dtype.numpy)]


@register
class Dequantize(_Conversion):
    """8-bit and 16-bit integers to float32. A constant operand may have one scale per channel, or be float16."""

    name = "dequantize"
    tflite = ("DEQUANTIZE",)
    types = (DType.INT8, DType.INT16, DType.UINT8)

    @override
    def element_types(self) -> tuple[str, ...]:
        return (*(f"{dtype.value} to float32" for dtype in self.types), "float16 constant to float32")

    @override
    def problem(self, node: Node) -> str | None:
        operand, result = node.input(0), node.output
        allowed = (*self.types, DType.FLOAT16) if operand.is_constant else self.types
        if operand.dtype not in allowed or result.dtype is not DType.FLOAT32:
            known = " or ".join(dtype.value for dtype in self.types)
            return (
                f"element types, got {operand.dtype.value} to {result.dtype.value}, expected {known} to float32, "
                "or a constant of float16. "
                "Convert the model to int8, int16 or float32 throughout"
            )
        if operand.dtype is DType.FLOAT16 or (operand.is_constant and operand.type.quant is not None):
            return None
        return quantization_problem([operand])

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        operand = node.input(0)
        if operand.dtype is DType.FLOAT16:
            return [np.asarray(operands[0]).astype(np.float32)]
        quant = operand.quant
        scales, zero_points = np.asarray(quant.scales, np.float32), np.asarray(quant.zero_points, np.int64)
        if quant.per_channel:
            shape = [-1 if axis == quant.axis else 1 for axis in range(len(operand.shape))]
            scales, zero_points = scales.reshape(shape), zero_points.reshape(shape)
        centred = np.asarray(operands[0]).astype(np.int64) - zero_points
        return [np.asarray(scales * centred.astype(np.float32), np.float32)]


def _round_half_away(x: Float32) -> Int64:
    """Returns the nearest integers, ties away from zero, at most 2^20 in magnitude; NaN gives the lowest."""
    bounded = np.nan_to_num(np.clip(x, -(2.0**20), 2.0**20), nan=-(2.0**20))
    whole = np.trunc(bounded)
    rounded: Int64 = (whole + np.sign(bounded) * (np.abs(bounded - whole) >= 0.5)).astype(np.int64)
    return rounded

"""Saturating functions: logistic and tanh."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node
from aboard.ir.numerics import INT32_MAX, Int64, multiply_by_quantized_multiplier, rounding_divide_by_pot
from aboard.ops import fixed_point, sigmoid_wide
from aboard.ops.registry import register
from aboard.ops.unary import Float32, Unary, saturate
from aboard.ops.uniform import COMPUTED_WIDE

#: The fixed-point operand has four integer bits: [-16, 16).
_INTEGER_BITS = 4


class Sigmoid(Unary):
    """A saturating function; its int8 result has a fixed quantisation.

    Attributes:
        scale: Scale of the int8 result.
        zero_point: Zero point of the int8 result.
        powers: Scales of an int16 operand that count as powers of two, see `sigmoid_wide.argument`.
    """

    types = COMPUTED_WIDE
    scale: ClassVar[float]
    zero_point: ClassVar[int]
    powers: ClassVar[tuple[int, ...]]

    @override
    def problem(self, node: Node) -> str | None:
        wrong = super().problem(node)
        if wrong is not None or node.output.dtype.is_float:
            return wrong
        quant, is_wide = node.output.quant, node.output.dtype is DType.INT16
        scale, zero_point = (2.0**-15, 0) if is_wide else (self.scale, self.zero_point)
        if quant.scale != scale or quant.zero_point != zero_point:
            return (
                f"quantisation of the result, got scale {quant.scale:g} and zero point {quant.zero_point}, expected "
                f"{scale:g} and {zero_point}. Quantise the model again with TFLite's converter"
            )
        if is_wide:
            return sigmoid_wide.problem(node.input(0).quant.scale)
        if not 2.0**-24 < node.input(0).quant.scale < 2.0**20:
            return (
                f"scale of the operand, got {node.input(0).quant.scale:g}, expected one between 2^-24 and 2^20. "
                "Quantise the model again"
            )
        return None

    @override
    def quantized(self, node: Node, x: Int64) -> Int64:
        """Computes quantised elements; operands beyond the fixed-point range saturate."""
        if node.output.dtype is DType.INT16:
            return saturate(self.wide(self.argument(node).of(x)), DType.INT16)
        mantissa, shift = math.frexp(node.input(0).quant.scale * (1 << (31 - _INTEGER_BITS)))
        multiplier = min(math.floor(mantissa * 2**31 + 0.5), INT32_MAX)
        radius = math.floor(((1 << _INTEGER_BITS) - 1) * 2.0 ** (31 - _INTEGER_BITS - shift))
        centred = x - node.input(0).quant.zero_point
        inside = np.abs(centred) < radius
        scaled = multiply_by_quantized_multiplier(np.where(inside, centred, 0), multiplier, min(shift, 30))
        result = saturate(self.fixed(scaled))
        return np.where(inside, result, np.where(centred <= -radius, -128, 127))

    def argument(self, node: Node) -> sigmoid_wide.Argument:
        """Returns the map from an int16 operand to the argument of the table."""
        return sigmoid_wide.argument(node.input(0).quant.scale, self.powers)

    @abstractmethod
    def wide(self, x: Int64) -> Int64:
        """Computes the int16 result from arguments of the table."""

    @abstractmethod
    def fixed(self, x: Int64) -> Int64:
        """Computes the result, not yet saturated, from the operand in fixed point with four integer bits."""


@register
class Logistic(Sigmoid):
    """1 / (1 + e**-x)."""

    name = "logistic"
    tflite = ("LOGISTIC",)
    scale, zero_point, powers = 1 / 256, -128, (0,)

    @override
    def wide(self, x: Int64) -> Int64:
        return sigmoid_wide.logistic(x)

    @override
    def fixed(self, x: Int64) -> Int64:
        return rounding_divide_by_pot(fixed_point.logistic(x, _INTEGER_BITS), 31 - 8) + self.zero_point

    @override
    def real(self, node: Node, x: Float32) -> Float32:
        """Computes float32 elements, with TFLite's shortcuts for large arguments."""
        one = np.float32(1)
        result = np.where(x < np.float32(-9), np.exp(x), one / (one + np.exp(-x)))
        return np.where(x > np.float32(16.619047164916992188), one, result)


@register
class Tanh(Sigmoid):
    """Hyperbolic tangent."""

    name = "tanh"
    tflite = ("TANH",)
    scale, zero_point, powers = 1 / 128, 0, (0, 1)

    @override
    def wide(self, x: Int64) -> Int64:
        return sigmoid_wide.tanh(x)

    @override
    def fixed(self, x: Int64) -> Int64:
        return rounding_divide_by_pot(fixed_point.tanh(x, _INTEGER_BITS), 31 - 7)

    @override
    def real(self, node: Node, x: Float32) -> Float32:
        return np.tanh(x)

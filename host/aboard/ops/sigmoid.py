"""Saturating functions: logistic and tanh."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np

from aboard.ir import Node
from aboard.ir.numerics import INT32_MAX, Int64, multiply_by_quantized_multiplier, rounding_divide_by_pot
from aboard.ops import fixed_point
from aboard.ops.registry import register
from aboard.ops.unary import Float32, Unary, saturate

#: Integer bits of the operand in fixed point: [-16, 16).
_INTEGER_BITS = 4


class _Sigmoid(Unary):
    """A function whose result has one quantisation that is right.

    Attributes:
        scale: Of the result.
        zero_point: Of the result.
    """

    scale: ClassVar[float]
    zero_point: ClassVar[int]

    def problem(self, node: Node) -> str | None:
        """Returns what is wrong, or None."""
        wrong = super().problem(node)
        if wrong is not None or node.output.dtype.is_float:
            return wrong
        quant = node.output.quant
        if quant.scale != self.scale or quant.zero_point != self.zero_point:
            return (
                f"quantisation of the result, got scale {quant.scale:g} and zero point {quant.zero_point}, expected "
                f"{self.scale:g} and {self.zero_point}. Quantise the model again with TFLite's converter"
            )
        if not 2.0**-24 < node.input(0).quant.scale < 2.0**20:
            return (
                f"scale of the operand, got {node.input(0).quant.scale:g}, expected one between 2^-24 and 2^20. "
                "Quantise the model again"
            )
        return None

    def quantized(self, node: Node, x: Int64) -> Int64:
        """Computes quantised elements; beyond the range of the fixed point they saturate."""
        mantissa, shift = math.frexp(node.input(0).quant.scale * (1 << (31 - _INTEGER_BITS)))
        multiplier = min(math.floor(mantissa * 2**31 + 0.5), INT32_MAX)
        radius = math.floor(((1 << _INTEGER_BITS) - 1) * 2.0 ** (31 - _INTEGER_BITS - shift))
        centred = x - node.input(0).quant.zero_point
        inside = np.abs(centred) < radius
        scaled = multiply_by_quantized_multiplier(np.where(inside, centred, 0), multiplier, min(shift, 30))
        result = saturate(self.fixed(scaled))
        return np.where(inside, result, np.where(centred <= -radius, -128, 127))

    @abstractmethod
    def fixed(self, x: Int64) -> Int64:
        """Computes the result, not yet saturated, from the operand in fixed point with four integer bits."""


@register
class Logistic(_Sigmoid):
    """1 / (1 + e**-x)."""

    name = "logistic"
    tflite = ("LOGISTIC",)
    scale, zero_point = 1 / 256, -128

    def fixed(self, x: Int64) -> Int64:
        """Computes quantised elements."""
        return rounding_divide_by_pot(fixed_point.logistic(x, _INTEGER_BITS), 31 - 8) + self.zero_point

    def real(self, node: Node, x: Float32) -> Float32:
        """Computes float32 elements with TFLite's shortcuts for large arguments."""
        del node
        one = np.float32(1)
        result = np.where(x < np.float32(-9), np.exp(x), one / (one + np.exp(-x)))
        return np.where(x > np.float32(16.619047164916992188), one, result)


@register
class Tanh(_Sigmoid):
    """Hyperbolic tangent."""

    name = "tanh"
    tflite = ("TANH",)
    scale, zero_point = 1 / 128, 0

    def fixed(self, x: Int64) -> Int64:
        """Computes quantised elements."""
        return rounding_divide_by_pot(fixed_point.tanh(x, _INTEGER_BITS), 31 - 7)

    def real(self, node: Node, x: Float32) -> Float32:
        """Computes float32 elements."""
        del node
        return np.tanh(x)

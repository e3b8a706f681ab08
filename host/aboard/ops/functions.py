"""Functions of one real number: abs, neg, square, roots, exponentials, circular functions, roundings, elu."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node
from aboard.ir.numerics import Int64, multiply_by_quantized_multiplier, quantize_multiplier
from aboard.ops import fixed_point
from aboard.ops.broadcasting import Broadcasting, Numbers
from aboard.ops.registry import register, register_family
from aboard.ops.rescaling import overflow_problem, scaling
from aboard.ops.unary import Float32, Unary, saturate
from aboard.ops.uniform import COMPUTED, COMPUTED_WIDE

#: Bits that an int8 rsqrt has to spare before it is rescaled.
_SPARE_BITS = 20

#: Least and most bits by which it is then moved up; beyond, 32 bits would hold nothing of it, or overflow.
_LEAST_SHIFT, _MOST_SHIFT = -11, 20


class RealFunction(Unary):
    """A function that is defined for float32 alone.

    Attributes:
        function: The function, of numpy arrays.
    """

    types = (DType.FLOAT32,)
    function: ClassVar[Callable[[Any], Any]]

    @override
    def real(self, node: Node, x: Float32) -> Float32:
        with np.errstate(all="ignore"):
            return np.asarray(type(self).function(x), np.float32)


register_family(
    RealFunction,
    [
        {"name": "neg", "tflite": ("NEG",), "function": np.negative},
        {"name": "square", "tflite": ("SQUARE",), "function": np.square},
        {"name": "sqrt", "tflite": ("SQRT",), "function": np.sqrt},
        {"name": "exp", "tflite": ("EXP",), "function": np.exp},
        {"name": "log", "tflite": ("LOG",), "function": np.log},
        {"name": "sin", "tflite": ("SIN",), "function": np.sin},
        {"name": "cos", "tflite": ("COS",), "function": np.cos},
        {"name": "ceil", "tflite": ("CEIL",), "function": np.ceil},
        {"name": "floor", "tflite": ("FLOOR",), "function": np.floor},
        # To even where two integers are as near.
        {"name": "round", "tflite": ("ROUND",), "function": np.rint},
    ],
)


def _erf(x: Float32) -> Any:
    return np.vectorize(math.erf, otypes=[np.float64])(x.astype(np.float64))


def _softplus(x: Float32) -> Any:
    return np.logaddexp(x.astype(np.float64), 0.0)


def _gelu(x: Float32) -> Any:
    return 0.5 * x.astype(np.float64) * (1 + _erf(x / np.float32(math.sqrt(2))))


def _gelu_tanh(x: Float32) -> Any:
    wide = x.astype(np.float64)
    return 0.5 * wide * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))


# Functions that TFLite has not: of the standard of ONNX.
register_family(
    RealFunction,
    [
        {"name": "acos", "function": np.arccos},
        {"name": "acosh", "function": np.arccosh},
        {"name": "asin", "function": np.arcsin},
        {"name": "asinh", "function": np.arcsinh},
        {"name": "atan", "function": np.arctan},
        {"name": "atanh", "function": np.arctanh},
        {"name": "cosh", "function": np.cosh},
        {"name": "erf", "function": _erf},
        # x times the probability that a normal variable is smaller; and an approximation of it.
        {"name": "gelu", "function": _gelu},
        {"name": "gelu_tanh", "function": _gelu_tanh},
        {"name": "mish", "function": lambda x: x * np.tanh(_softplus(x))},
        {"name": "sign", "function": np.sign},
        {"name": "sinh", "function": np.sinh},
        # ln(1 + e^x)
        {"name": "softplus", "function": _softplus},
        {"name": "tan", "function": np.tan},
    ],
)


@register
class BitCast(Broadcasting):
    """The same 32 bits as a float32, or as an integer."""

    name = "bit_cast"
    signatures = tuple(
        signature
        for whole in (DType.INT32, DType.UINT32)
        for signature in (((DType.FLOAT32,), whole), ((whole,), DType.FLOAT32))
    )

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        return np.asarray(operands[0], node.input(0).dtype.numpy).view(node.output.dtype.numpy)


@register
class IsNan(Broadcasting):
    """True for what is no number."""

    name = "is_nan"
    signatures = (((DType.FLOAT32,), DType.BOOL),)

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        return np.isnan(operands[0])


@register
class Abs(Unary):
    """|x|. Int16 may be without quantisation: |-32768| wraps then."""

    name = "abs"
    tflite = ("ABS",)
    types = COMPUTED_WIDE

    @override
    def problem(self, node: Node) -> str | None:
        operand, result = node.input(0), node.output
        if is_plain(node) and result.dtype is DType.INT16:
            return None
        wrong = super().problem(node)
        return wrong if wrong is not None or operand.dtype.is_float else overflow_problem(operand, result)

    @override
    def real(self, node: Node, x: Float32) -> Float32:
        return np.abs(x)

    @override
    def quantized(self, node: Node, x: Int64) -> Int64:
        """Rescales magnitudes."""
        if is_plain(node):
            return np.abs(x).astype(np.int16).astype(np.int64)
        operand, result = node.input(0), node.output
        scaled = multiply_by_quantized_multiplier(np.abs(x - operand.quant.zero_point), *scaling(operand, result))
        return saturate(scaled + result.quant.zero_point, result.dtype)


def is_plain(node: Node) -> bool:
    """True for an abs of int16 without quantisation."""
    return node.input(0).dtype is DType.INT16 and node.input(0).type.quant is None


@register
class Rsqrt(Unary):
    """1 / sqrt(x). Of int8, what is not above 0 gives 127; the reference refuses what is below."""

    name = "rsqrt"
    tflite = ("RSQRT",)
    types = COMPUTED

    def scaling(self, node: Node) -> tuple[int, int]:
        """Returns multiplier and shift of an int8 result."""
        operand, result = node.input(0).quant.scale, node.output.quant.scale
        return quantize_multiplier(1.0 / (math.sqrt(operand) * result))

    @override
    def problem(self, node: Node) -> str | None:
        wrong = super().problem(node)
        if wrong is not None or node.output.dtype.is_float:
            return wrong
        operand, result = node.input(0).quant.scale, node.output.quant.scale
        if _LEAST_SHIFT <= self.scaling(node)[1] <= _MOST_SHIFT:
            return None
        low, high = (1 / math.sqrt(operand) / 2**shift for shift in (_MOST_SHIFT, _LEAST_SHIFT - 1))
        return (
            f"scale of the result, got {result:g} for an operand of scale {operand:g}, expected one between {low:g} "
            f"and {high:g}. Quantise the model again"
        )

    @override
    def real(self, node: Node, x: Float32) -> Float32:
        with np.errstate(divide="ignore"):
            return np.asarray(np.float32(1) / np.sqrt(x), np.float32)

    @override
    def quantized(self, node: Node, x: Int64) -> Int64:
        """Rescales a reciprocal root in fixed point."""
        centred = x - node.input(0).quant.zero_point
        multiplier, shift = fixed_point.inverse_sqrt(np.maximum(centred, 1))
        root = multiply_by_quantized_multiplier(1, multiplier, shift + _SPARE_BITS)
        own, own_shift = self.scaling(node)
        result = multiply_by_quantized_multiplier(root, own, own_shift - _SPARE_BITS)
        return np.where(centred > 0, saturate(result + node.output.quant.zero_point), 127)


@register
class Elu(Unary):
    """X where x >= 0, else e^x - 1. Of int8 it is computed in float32 and rounded, ties away from 0."""

    name = "elu"
    tflite = ("ELU",)
    types = COMPUTED

    @override
    def real(self, node: Node, x: Float32) -> Float32:
        return np.where(x < 0, np.expm1(np.minimum(x, 0)), x)

    @override
    def quantized(self, node: Node, x: Int64) -> Int64:
        """Computes quantised elements."""
        operand, result = node.input(0).quant, node.output.quant
        real = np.float32(operand.scale) * (x - operand.zero_point).astype(np.float32)
        power = np.exp(np.minimum(real, 0).astype(np.float64)).astype(np.float32) - np.float32(1)
        steps = np.where(real < 0, power, real) * (np.float32(1) / np.float32(result.scale))
        away = np.clip(np.trunc(steps.astype(np.float64) + np.copysign(0.5, steps)), -1024, 1024)
        return saturate(away.astype(np.int64) + result.zero_point)

"""Arithmetic of two operands with numpy's broadcasting: add, sub, mul."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ir.numerics import Int64, multiply_by_quantized_multiplier, quantize_multiplier
from aboard.ops.activation import Activation
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.unary import Float32
from aboard.ops.uniform import COMPUTED_WIDE, types_problem

#: Left shift of the operands of add and sub before they are rescaled to one scale, in bits.
_LEFT_SHIFT = {DType.INT8: 20, DType.INT16: 15}

#: Largest left shift of a product in bits: a larger one would overflow 32 bits.
_MOST_PRODUCT_SHIFT = {DType.INT8: 14, DType.INT16: 0}

#: Mantissa and exponent of a scale.
Scaling = tuple[int, int]


@dataclass(frozen=True)
class ArithmeticAttributes(Attributes):
    """Attributes of add, sub and mul.

    Attributes:
        activation: The activation of the result.
    """

    activation: Activation = Activation.NONE


def attributes(node: Node) -> ArithmeticAttributes:
    """Returns the attributes of an add, sub or mul."""
    return cast(ArithmeticAttributes, node.attrs)


class Arithmetic(Op):
    """An element-wise op with two operands."""

    elementwise = True
    attributes = ArithmeticAttributes

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        attrs = ArithmeticAttributes(Activation.from_tflite(source))
        node = source.node(self.name, [source.input(0), source.input(1)], attrs)
        wrong = self.problem(node)
        if wrong is not None:
            raise source.unsupported(wrong)
        return node

    def problem(self, node: Node) -> str | None:
        """Returns the error in types, shapes or quantisation as text, or None."""
        a, b = node.input(0), node.input(1)
        wrong = types_problem([a, b, node.output], COMPUTED_WIDE)
        if wrong is not None:
            return wrong
        if broadcast_shape(a.shape, b.shape) is None:
            return (
                f"shapes, got {a.shape} and {b.shape}, expected extents that are equal or 1, counted from the last. "
                "Export the model again"
            )
        if not node.output.dtype.is_float:
            return self.scaling_problem(node)
        return None

    def scaling_problem(self, node: Node) -> str | None:
        """Returns the error in the ratio of the scales as text, or None."""
        del node
        return None

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the broadcast shape with the result's quantisation."""
        a, b = node.input(0), node.input(1)
        shape = broadcast_shape(a.shape, b.shape)
        require(shape is not None, node, f"shapes, got {a.shape} and {b.shape}, expected extents that are equal or 1")
        return [TensorType(shape or (), a.dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        wrong = self.problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        a, b = np.asarray(operands[0]), np.asarray(operands[1])
        if node.output.dtype is DType.FLOAT32:
            low, high = attributes(node).activation.limits
            with np.errstate(over="ignore", invalid="ignore"):
                result = self.real(a.astype(np.float32), b.astype(np.float32))
            if low is not None:
                result = np.where(result < np.float32(low), np.float32(low), result)
            if high is not None:
                result = np.where(result > np.float32(high), np.float32(high), result)
            return [np.asarray(result, np.float32)]
        quant = node.output.quant
        result_int = self.quantized(node, a.astype(np.int64), b.astype(np.int64)) + quant.zero_point
        limits = attributes(node).activation.range(quant, node.output.dtype)
        return [np.asarray(np.clip(result_int, *limits), node.output.dtype.numpy)]

    @abstractmethod
    def real(self, a: Float32, b: Float32) -> Float32:
        """Computes float32 elements, before the activation."""

    @abstractmethod
    def quantized(self, node: Node, a: Int64, b: Int64) -> Int64:
        """Computes quantised elements, before the result's zero point and clamp."""


@dataclass(frozen=True)
class SumScaling:
    """The rescaling of an int8 or int16 add or sub: result = out((first(a) + second(b)).

    Attributes:
        first: Multiplier and shift of the first operand, which is shifted left by 20 bits, or by 15 in int16.
        second: The same for the second operand.
        out: Multiplier and shift of the sum.
    """

    first: Scaling
    second: Scaling
    out: Scaling


class _Sum(Arithmetic):
    """Add and sub: operands are rescaled to twice the larger scale, shifted left by 20 bits, or by 15 in int16.

    Ratios of scales are formed in double precision.
    """

    def scaling(self, node: Node) -> SumScaling:
        """Returns the rescaling of an int8 or int16 node."""
        a, b, result = (tensor.quant.scale for tensor in (node.input(0), node.input(1), node.output))
        twice, left = 2 * max(a, b), _LEFT_SHIFT[node.output.dtype]
        ratios = a / twice, b / twice, twice / ((1 << left) * result)
        first, second, out = (quantize_multiplier(ratio) for ratio in ratios)
        return SumScaling(first, second, out)

    @override
    def scaling_problem(self, node: Node) -> str | None:
        """Returns the error in the ratio of the scales as text, or None."""
        if self.scaling(node).out[1] > 0:
            a, b, out = (t.quant.scale for t in (node.input(0), node.input(1), node.output))
            return (
                f"scale of the result, got {out:g} for operands of {a:g} and {b:g}, expected more than "
                f"{max(a, b) / 2 ** (_LEFT_SHIFT[node.output.dtype] - 1):g}. Quantise the model again"
            )
        return None

    def operand(self, node: Node, index: int, x: Int64) -> Int64:
        """Returns an operand in the common scale; the second operand of sub is negated."""
        scaling = self.scaling(node)
        multiplier, shift = (scaling.first, scaling.second)[index]
        centred = (x - node.input(index).quant.zero_point) << _LEFT_SHIFT[node.output.dtype]
        scaled = multiply_by_quantized_multiplier(centred, multiplier, shift)
        return -scaled if index == 1 and self.name == "sub" else scaled

    @override
    def quantized(self, node: Node, a: Int64, b: Int64) -> Int64:
        total = self.operand(node, 0, a) + self.operand(node, 1, b)
        return multiply_by_quantized_multiplier(total, *self.scaling(node).out)


@register
class Add(_Sum):
    """a + b."""

    name = "add"
    tflite = ("ADD",)

    @override
    def real(self, a: Float32, b: Float32) -> Float32:
        return a + b


@register
class Sub(_Sum):
    """a - b."""

    name = "sub"
    tflite = ("SUB",)

    @override
    def real(self, a: Float32, b: Float32) -> Float32:
        return a - b


@register
class Mul(Arithmetic):
    """a * b."""

    name = "mul"
    tflite = ("MUL",)

    def scaling(self, node: Node) -> Scaling:
        """Returns the rescaling of the product of an int8 or int16 node."""
        a, b, out = (tensor.quant.scale for tensor in (node.input(0), node.input(1), node.output))
        return quantize_multiplier(a * b / out)

    @override
    def scaling_problem(self, node: Node) -> str | None:
        """Returns the error in the ratio of the scales as text, or None: a product must not overflow 32 bits."""
        most = _MOST_PRODUCT_SHIFT[node.output.dtype]
        if self.scaling(node)[1] > most:
            a, b, out = (t.quant.scale for t in (node.input(0), node.input(1), node.output))
            return (
                f"scale of the result, got {out:g} for operands of {a:g} and {b:g}, expected more than "
                f"{a * b / 2**most:g}. Quantise the model again"
            )
        return None

    @override
    def real(self, a: Float32, b: Float32) -> Float32:
        return a * b

    @override
    def quantized(self, node: Node, a: Int64, b: Int64) -> Int64:
        product = (a - node.input(0).quant.zero_point) * (b - node.input(1).quant.zero_point)
        return multiply_by_quantized_multiplier(product, *self.scaling(node))


def broadcast_shape(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...] | None:
    """Returns the common shape of two operands by numpy's broadcasting, or None if they do not fit."""
    try:
        return tuple(np.broadcast_shapes(tuple(a), tuple(b)))
    except ValueError:
        return None

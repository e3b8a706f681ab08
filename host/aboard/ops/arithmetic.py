"""Arithmetic of two operands with numpy's broadcasting: add, sub, mul."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from typing_extensions import override

from aboard.ir import Attributes, DType, Node, Rounding
from aboard.ir.numerics import (
    MOST_EXACT_SHIFT,
    Int64,
    multiply_by_quantized_multiplier,
    multiply_exactly,
    quantize_multiplier,
    wrap32,
)
from aboard.ops.activation import Activation
from aboard.ops.broadcasting import WHOLE, Broadcasting, Numbers, alike
from aboard.ops.registry import SourceNode, register

#: Left shift of the operands of add and sub before they are rescaled to one scale, in bits.
_LEFT_SHIFT = {DType.INT8: 20, DType.INT16: 15}

#: Largest left shift of a product in bits: a larger one would overflow 32 bits.
_MOST_PRODUCT_SHIFT = {DType.INT8: 14, DType.INT16: 0}

#: Mantissa and exponent of a scale.
Scaling = tuple[int, int]


@dataclass(frozen=True)
class ArithmeticAttributes(Attributes):
    """Attributes of add, sub, mul and div.

    Attributes:
        activation: The activation of the result.
    """

    activation: Activation = Activation.NONE


def attributes(node: Node) -> ArithmeticAttributes:
    """Returns the attributes of an add, sub, mul or div."""
    return cast(ArithmeticAttributes, node.attrs)


class Arithmetic(Broadcasting):
    """An element-wise op with two operands. Sums and products of int32 wrap, before the activation."""

    attributes = ArithmeticAttributes
    signatures = alike(2, DType.INT8, DType.INT16, DType.INT32, DType.FLOAT32)
    plain_signatures = tuple(each for each in alike(2, *WHOLE) if each not in alike(2, DType.INT32))
    scaled = (DType.INT8, DType.INT16)

    @override
    def read(self, source: SourceNode) -> Attributes:
        """Returns the activation."""
        return ArithmeticAttributes(Activation.from_tflite(source))

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        a, b = operands
        activation, dtype = attributes(node).activation, node.output.dtype
        if dtype is DType.FLOAT32:
            return activation.clamp(np.asarray(self.plain(a, b), np.float32))
        wide = a.astype(np.int64), b.astype(np.int64)
        if dtype is DType.INT32:
            return np.clip(wrap32(self.plain(*wide)), *activation.whole_range())
        computed = self.exact if node.attrs.rounding is Rounding.EXACT else self.quantized
        result = computed(node, *wide) + node.output.quant.zero_point
        return np.clip(result, *activation.range(node.output.quant, dtype))

    @override
    def is_exact(self, node: Node) -> bool:
        """True for int8, if the limits of the activation are no ties."""
        if node.output.dtype is not DType.INT8 or node.output.type.quant is None:
            return False
        return not attributes(node).activation.is_tie(node.output.quant.scale)

    @abstractmethod
    def plain(self, a: Numbers, b: Numbers) -> Numbers:
        """Computes elements without quantisation, float32 or int64, before the activation."""

    @abstractmethod
    def quantized(self, node: Node, a: Int64, b: Int64) -> Int64:
        """Computes quantised elements as TensorFlow Lite does, before the result's zero point and clamp."""

    @abstractmethod
    def exact(self, node: Node, a: Int64, b: Int64) -> Int64:
        """Computes quantised elements of int8, rounded once, before the result's zero point and clamp."""


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


#: Bits of the larger factor of an exact sum, the most that its shift may have, and the multiplier that leaves it as it
#: is but for a shift.
_FACTOR_BITS, _MOST_SUM_SHIFT, ONE_HALF = 30, 32, 1 << 30


@dataclass(frozen=True)
class ExactSum:
    """The rescaling of an int8 add or sub that rounds once: (first * a + second * b) / 2^shift, of centred operands."""

    first: int
    second: int
    shift: int


class _Sum(Arithmetic):
    """Add and sub: operands are rescaled to twice the larger scale, shifted left by 20 bits, or by 15 in int16.

    Ratios of scales are formed in double precision. The reference refuses int32 with a quantisation.
    """

    unscaled: ClassVar[tuple[DType, ...]] = (DType.INT32,)

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

    def exact_scaling(self, node: Node) -> ExactSum:
        """Returns the rescaling of an int8 node that rounds exactly."""
        a, b, result = (tensor.quant.scale for tensor in (node.input(0), node.input(1), node.output))
        shift = min(_FACTOR_BITS - math.frexp(max(a, b) / result)[1], _MOST_SUM_SHIFT)
        first, second = (round(math.ldexp(scale / result, shift)) for scale in (a, b))
        return ExactSum(first, -second if self.name == "sub" else second, shift)

    @override
    def is_exact(self, node: Node) -> bool:
        return super().is_exact(node) and 1 - self.exact_scaling(node).shift <= MOST_EXACT_SHIFT

    @override
    def exact(self, node: Node, a: Int64, b: Int64) -> Int64:
        scaling = self.exact_scaling(node)
        total = scaling.first * (a - node.input(0).quant.zero_point)
        total = total + scaling.second * (b - node.input(1).quant.zero_point)
        return multiply_exactly(total, ONE_HALF, 1 - scaling.shift)

    @override
    def quantized(self, node: Node, a: Int64, b: Int64) -> Int64:
        total = self.operand(node, 0, a) + self.operand(node, 1, b)
        return multiply_by_quantized_multiplier(total, *self.scaling(node).out)


@register
class Add(_Sum):
    """a + b."""

    name = "add"
    tflite = ("ADD",)
    plain_function = np.add

    @override
    def quantisation_problem(self, node: Node) -> str | None:
        """Returns what is wrong, or None; the reference would ignore an activation of int32, others would not."""
        activation = attributes(node).activation
        if node.output.dtype is DType.INT32 and activation is not Activation.NONE:
            return (
                f"fused activation of int32, got {activation.name}, expected NONE. tflite-micro ignores it; export the "
                "activation as an operator of its own"
            )
        return super().quantisation_problem(node)

    @override
    def plain(self, a: Numbers, b: Numbers) -> Numbers:
        return a + b


@register
class Sub(_Sum):
    """a - b."""

    name = "sub"
    tflite = ("SUB",)
    plain_function = np.subtract

    @override
    def plain(self, a: Numbers, b: Numbers) -> Numbers:
        return a - b


@register
class Mul(Arithmetic):
    """a * b."""

    name = "mul"
    tflite = ("MUL",)
    plain_function = np.multiply

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
    def plain(self, a: Numbers, b: Numbers) -> Numbers:
        return a * b

    @override
    def exact(self, node: Node, a: Int64, b: Int64) -> Int64:
        return multiply_exactly(_product(node, a, b), *self.scaling(node))

    @override
    def quantized(self, node: Node, a: Int64, b: Int64) -> Int64:
        return multiply_by_quantized_multiplier(_product(node, a, b), *self.scaling(node))


def _product(node: Node, a: Int64, b: Int64) -> Int64:
    """Returns the product of the centred operands."""
    product: Int64 = (a - node.input(0).quant.zero_point) * (b - node.input(1).quant.zero_point)
    return product

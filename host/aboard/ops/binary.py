"""Functions of two elements that are not sums or products: maximum, minimum, squared_difference, prelu."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from aboard.ir import DType, Node
from aboard.ir.numerics import Int64, multiply_by_quantized_multiplier, quantize_multiplier
from aboard.ops.broadcasting import Broadcasting, Numbers, alike
from aboard.ops.registry import register
from aboard.ops.rescaling import overflow_problem, product_problem, scaling
from aboard.ops.unary import saturate

#: Bits by which operands of a squared difference are moved up before they are brought to one scale.
_LEFT_SHIFT = {DType.INT8: 7, DType.INT16: 0}

#: Most bits by which the product of an operand below 0 and its slope may be moved up.
_MOST_SLOPE_SHIFT = {DType.INT8: 14, DType.INT16: 7}

_EXTREMES = alike(2, DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32)
_OTHERS = alike(2, DType.UINT8, DType.UINT32, DType.UINT64)


@register
class Maximum(Broadcasting):
    """The larger element, b where neither is. Integers are compared as they are, whatever they stand for."""

    name = "maximum"
    selects = True
    tflite = ("MAXIMUM",)
    signatures = _EXTREMES
    plain_signatures = _OTHERS
    plain_function = np.maximum

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        a, b = operands
        return np.where(a > b, a, b)


@register
class Minimum(Broadcasting):
    """The smaller element, b where neither is. Integers are compared as they are, whatever they stand for."""

    name = "minimum"
    selects = True
    tflite = ("MINIMUM",)
    signatures = _EXTREMES
    plain_signatures = _OTHERS
    plain_function = np.minimum

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        a, b = operands
        return np.where(a < b, a, b)


@register
class IeeeMaximum(Broadcasting):
    """The larger element, NaN where either is (`maximum` of IEEE 754-2019, but for the signs of zeros)."""

    name = "ieee_maximum"
    signatures = alike(2, DType.FLOAT32)

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        return np.asarray(np.maximum(*operands))


@register
class IeeeMinimum(Broadcasting):
    """The smaller element, NaN where either is (`minimum` of IEEE 754-2019, but for the signs of zeros)."""

    name = "ieee_minimum"
    signatures = alike(2, DType.FLOAT32)

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        return np.asarray(np.minimum(*operands))


def _whole_power(a: Numbers, b: Numbers) -> Numbers:
    """Powers of integers by squaring, which wrap; of exponents below 0 the quotient of 1, cut off toward 0."""
    base, left = np.broadcast_arrays(a, np.abs(b))
    result = np.ones_like(base)
    while left.any():
        result = np.where(left & 1, result * base, result)
        base, left = base * base, left >> 1
    inverse = np.where(np.abs(a) == 1, result, a.dtype.type(0))
    return np.where(b < 0, inverse, result)


@register
class Pow(Broadcasting):
    """A to the power of b, as IEEE 754 defines it: NaN where a is below 0 and b no integer; powers of integers wrap."""

    name = "pow"
    signatures = alike(2, DType.FLOAT32)
    plain_signatures = alike(2, DType.INT32, DType.INT64)
    plain_function = staticmethod(_whole_power)

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        a, b = operands
        return np.power(a.astype(np.float64), b)


@register
class SquaredDifference(Broadcasting):
    """(a - b)^2. Int32 wraps; of int8 and int16 the operands are brought to one scale, twice the larger."""

    name = "squared_difference"
    tflite = ("SQUARED_DIFFERENCE",)
    signatures = alike(2, DType.INT8, DType.INT16, DType.INT32, DType.FLOAT32)
    scaled = (DType.INT8, DType.INT16)

    def scalings(self, node: Node) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Returns multiplier and shift of both operands, moved up by `left_shift`, and of the square."""
        a, b, result = (tensor.quant.scale for tensor in (node.input(0), node.input(1), node.output))
        twice, left = 2 * max(a, b), self.left_shift(node)
        square = twice * twice / ((1 << 2 * left) * result)
        return quantize_multiplier(a / twice), quantize_multiplier(b / twice), quantize_multiplier(square)

    def left_shift(self, node: Node) -> int:
        """Returns by how many bits quantised operands are moved up."""
        return _LEFT_SHIFT[node.output.dtype]

    @override
    def scaling_problem(self, node: Node) -> str | None:
        a, b, result = node.input(0), node.input(1), node.output
        most = max(a.quant.scale, b.quant.scale) ** 2 / 2 ** (2 * self.left_shift(node) - 2)
        return product_problem([a, b], result, most) if self.scalings(node)[2][1] > 0 else None

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        a, b = operands
        if node.output.dtype is DType.FLOAT32:
            return np.asarray(np.square(a - b))
        if node.output.dtype is DType.INT32:
            difference = (a.astype(np.int64) - b).astype(np.int32)
            return difference * difference
        first, second, square = self.scalings(node)
        difference = self._operand(node, 0, a, first) - self._operand(node, 1, b, second)
        result = multiply_by_quantized_multiplier(difference * difference, *square)
        return saturate(result + node.output.quant.zero_point, node.output.dtype)

    def _operand(self, node: Node, index: int, x: Numbers, scale: tuple[int, int]) -> Int64:
        centred: Int64 = (x.astype(np.int64) - node.input(index).quant.zero_point) << self.left_shift(node)
        return multiply_by_quantized_multiplier(centred, *scale)


@register
class Prelu(Broadcasting):
    """X where x >= 0, else the slope times x. The slope of int16 is int8."""

    name = "prelu"
    tflite = ("PRELU",)
    signatures = (*alike(2, DType.INT8, DType.FLOAT32), ((DType.INT16, DType.INT8), DType.INT16))
    scaled = (DType.INT8, DType.INT16)

    def scalings(self, node: Node) -> tuple[tuple[int, int], tuple[int, int]]:
        """Returns multiplier and shift for operands from 0 on, and for products with slopes."""
        operand, slope, result = node.input(0), node.input(1), node.output
        return scaling(operand, result), scaling(operand, result, slope.quant.scale)

    @override
    def scaling_problem(self, node: Node) -> str | None:
        operand, slope, result = node.input(0), node.input(1), node.output
        wrong = overflow_problem(operand, result)
        shift = _MOST_SLOPE_SHIFT[operand.dtype]
        if wrong is not None or self.scalings(node)[1][1] <= shift:
            return wrong
        return product_problem([operand, slope], result, operand.quant.scale * slope.quant.scale / 2**shift)

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        x, slope = operands
        if node.output.dtype is DType.FLOAT32:
            return np.where(x >= 0, x, x * slope)
        centred = x.astype(np.int64) - node.input(0).quant.zero_point
        product = centred * (slope.astype(np.int64) - node.input(1).quant.zero_point)
        above, below = self.scalings(node)
        scaled = np.where(
            centred >= 0,
            multiply_by_quantized_multiplier(centred, *above),
            multiply_by_quantized_multiplier(product, *below),
        )
        return saturate(scaled + node.output.quant.zero_point, node.output.dtype)

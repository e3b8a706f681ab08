"""Quotients and remainders: div, floor_div, floor_mod."""

from __future__ import annotations

from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Attributes, DType, Node
from aboard.ir.numerics import Int64, quantize_multiplier, rounding_divide_by_pot, wrap32
from aboard.ir.numerics import saturating_doubling_high_mul as multiply
from aboard.ops import fixed_point
from aboard.ops.activation import Activation
from aboard.ops.arithmetic import ArithmeticAttributes, attributes
from aboard.ops.broadcasting import WHOLE, Broadcasting, Numbers, alike
from aboard.ops.registry import SourceNode, register
from aboard.ops.rescaling import product_problem

#: Least and most bits by which a quotient may be moved up: beyond, 32 bits would overflow, or keep nothing of it.
_LEAST_SHIFT, _MOST_SHIFT = -25, 22


def _quotient(a: Numbers, b: Numbers) -> Numbers:
    """Divides integers toward 0; what is divided by 0 is 0."""
    divisor = np.where(b == 0, b.dtype.type(1), b)
    remainder = np.fmod(a, divisor)
    quotient = (a - remainder) // divisor
    return np.where(b == 0, a.dtype.type(0), quotient)


def _floor_mod(a: Numbers, b: Numbers) -> Numbers:
    return np.where(b == 0, a.dtype.type(0), np.mod(a, np.where(b == 0, b.dtype.type(1), b)))


def _remainder(a: Numbers, b: Numbers) -> Numbers:
    return np.where(b == 0, a.dtype.type(0), np.fmod(a, np.where(b == 0, b.dtype.type(1), b)))


@register
class Div(Broadcasting):
    """a / b. Quotients of int32 are cut off to the next integer toward 0; INT32_MIN / -1 wraps.

    Integers divided by 0 give 0, which the reference leaves undefined. Small quotients of int8 are those of
    tflite-micro on x86, with which results are compared: its shifts of more than 31 bits, which C does not define.
    """

    name = "div"
    tflite = ("DIV",)
    attributes = ArithmeticAttributes
    signatures = alike(2, DType.INT8, DType.INT32, DType.FLOAT32)
    plain_signatures = tuple(each for each in alike(2, *WHOLE) if each not in alike(2, DType.INT32))
    plain_function = staticmethod(_quotient)
    scaled = (DType.INT8,)
    unscaled = (DType.INT32,)

    @override
    def read(self, source: SourceNode) -> Attributes:
        """Returns the activation."""
        return ArithmeticAttributes(Activation.from_tflite(source))

    def scaling(self, node: Node) -> tuple[int, int]:
        """Returns multiplier and shift of the quotient of an int8 node; the ratio is formed in double precision."""
        a, b, result = (tensor.quant.scale for tensor in (node.input(0), node.input(1), node.output))
        return quantize_multiplier(a / (b * result))

    @override
    def scaling_problem(self, node: Node) -> str | None:
        a, b, result = node.input(0), node.input(1), node.output
        ratio, shift = a.quant.scale / b.quant.scale, self.scaling(node)[1]
        if shift < _LEAST_SHIFT:
            return (
                f"scale of the result, got {result.quant.scale:g} for operands of {a.quant.scale:g} and "
                f"{b.quant.scale:g}, expected less than {ratio / 2**_LEAST_SHIFT:g}. Quantise the model again"
            )
        return product_problem([a, b], result, ratio / 2**_MOST_SHIFT) if shift > _MOST_SHIFT else None

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        a, b = operands
        activation = attributes(node).activation
        if node.output.dtype is DType.FLOAT32:
            return activation.clamp(np.asarray(a / b, np.float32))
        wide, divisor = a.astype(np.int64), b.astype(np.int64)
        if node.output.dtype is DType.INT32:
            return np.clip(wrap32(_cut_off(wide, divisor)), *activation.whole_range())
        wide, divisor = wide - node.input(0).quant.zero_point, divisor - node.input(1).quant.zero_point
        result = self._quotient(node, wide, divisor) + node.output.quant.zero_point
        return np.clip(result, *activation.range(node.output.quant))

    def _quotient(self, node: Node, a: Int64, b: Int64) -> Int64:
        """Returns quotients in the result's scale: 31 bits of 1 / |b| times as many of a, then rescaled."""
        multiplier, shift = self.scaling(node)
        numerator, divisor = np.broadcast_arrays(np.where(b < 0, -a, a), np.maximum(np.abs(b), 1))
        reciprocal, right = fixed_point.reciprocal(divisor, 31)
        headroom = 31 - fixed_point.bit_length(np.where(numerator < 0, ~numerator, numerator))
        quotient = multiply(multiply(numerator << headroom, reciprocal), multiplier)
        exponent = right + headroom - shift
        # Beyond 31 bits the reference moves by 32 less, and rounds what is not negative up.
        far = (quotient >> (exponent & 31)) + (quotient >= 0)
        scaled = np.where(exponent > 31, far, rounding_divide_by_pot(quotient, np.minimum(exponent, 31)))
        return np.where(b == 0, 0, scaled)


@register
class FloorDiv(Broadcasting):
    """The largest integer that is not larger than a / b."""

    name = "floor_div"
    tflite = ("FLOOR_DIV",)
    signatures = alike(2, DType.FLOAT32)

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        a, b = operands
        return np.floor(a.astype(np.float64) / b)


@register
class FloorMod(Broadcasting):
    """The remainder of a / b with the sign of b."""

    name = "floor_mod"
    tflite = ("FLOOR_MOD",)
    signatures = alike(2, DType.FLOAT32)
    plain_signatures = alike(2, *WHOLE)
    plain_function = staticmethod(_floor_mod)

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        a, b = operands
        remainder = np.fmod(a, b)
        return np.where((remainder != 0) & ((b < 0) != (remainder < 0)), remainder + b, remainder)


@register
class Remainder(Broadcasting):
    """The remainder of a / b with the sign of a; of integers 0 where b is 0."""

    name = "remainder"
    signatures = alike(2, DType.FLOAT32)
    plain_signatures = alike(2, *WHOLE)
    plain_function = staticmethod(_remainder)

    @override
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        a, b = operands
        return np.fmod(a, b)


def _cut_off(a: Int64, b: Int64) -> Int64:
    divisor = np.where(b == 0, 1, b)
    quotient = np.sign(a) * np.sign(divisor) * (np.abs(a) // np.abs(divisor))
    return cast(Int64, np.where(b == 0, 0, quotient))

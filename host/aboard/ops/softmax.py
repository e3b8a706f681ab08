"""softmax: exponentials of the last axis, divided by their sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ir.numerics import INT32_MAX, Int64, quantize_multiplier, rounding_divide_by_pot, wrap32
from aboard.ir.numerics import saturating_doubling_high_mul as multiply
from aboard.ops import axes, fixed_point, softmax_wide
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.uniform import COMPUTED_WIDE, quantization_problem, types_problem

#: Integer bits of the scaled difference from the maximum, and of the sum of exponentials.
_DIFFERENCE_BITS, SUM_BITS = 5, 12

#: int16: largest left shift of a difference, in bits, and largest number of exponentials in a sum, without overflow.
_WIDE_MOST_SHIFT, _WIDE_MOST_ELEMENTS = 15, 65536


@dataclass(frozen=True)
class SoftmaxAttributes(Attributes):
    """Attributes of `softmax`.

    Attributes:
        beta: Factor of the exponent; above 0, a float32.
    """

    beta: float = 1.0


def attributes(node: Node) -> SoftmaxAttributes:
    """Returns the attributes of a softmax."""
    return cast(SoftmaxAttributes, node.attrs)


@dataclass(frozen=True)
class StepScaling:
    """Scaling of int8 differences from the maximum to exponents with 5 integer bits, in 32 bits.

    Attributes:
        multiplier: Multiplier of a difference that is shifted left by `shift` bits: 31 bits, 2^31 represents 1.
        shift: Left shift; at least 0.
        radius: Largest difference, in steps of the operand, whose power is not 0.
    """

    multiplier: int
    shift: int
    radius: int


def scaling(node: Node) -> StepScaling:
    """Returns how an int8 softmax scales steps below the maximum."""
    return step_scaling(attributes(node).beta * node.input(0).quant.scale)


def step_scaling(exponent: float) -> StepScaling:
    """Returns how steps below the maximum are scaled, each of which is an exponent."""
    real = exponent * (1 << (31 - _DIFFERENCE_BITS))
    multiplier, shift = quantize_multiplier(min(real, float(INT32_MAX)))
    radius = math.floor(((1 << _DIFFERENCE_BITS) - 1) * 2.0 ** (31 - _DIFFERENCE_BITS - shift))
    return StepScaling(multiplier, shift, radius)


def exponentials(node: Node) -> Int64:
    """Returns e**(-beta * scale * d) in 32 bits without integer bits, for d = 0, 1 ... 255 steps below the maximum.

    The table ends at the first entry that changes neither a sum nor a result; missing entries count as 0.
    """
    of_steps = scaling(node)
    steps = np.arange(min(of_steps.radius, 255) + 1, dtype=np.int64)
    scaled = multiply(wrap32(-steps << of_steps.shift), of_steps.multiplier)
    table = fixed_point.exp_on_negative_values(scaled, _DIFFERENCE_BITS)
    felt = np.flatnonzero(table >= 1 << (SUM_BITS - 1))
    return table[: int(felt[-1]) + 1]


@register
class Softmax(Op):
    """Softmax over the last axis."""

    name = "softmax"
    tflite = ("SOFTMAX",)
    attributes = SoftmaxAttributes
    types = COMPUTED_WIDE

    @override
    def element_types(self) -> tuple[str, ...]:
        return (*super().element_types(), "int8 to int16")

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        node = source.node(self.name, [source.input(0)], SoftmaxAttributes(float(source.options["Beta"])))
        wrong = self.problem(node)
        if wrong is not None:
            raise source.unsupported(wrong)
        return node

    def problem(self, node: Node) -> str | None:
        """Returns the error in rank, types, quantisation or beta as text, or None."""
        operand, beta = node.input(0), attributes(node).beta
        if not operand.shape:
            return "rank of the operand, got 0, expected at least 1. Export the model with a fixed input shape"
        if not (beta > 0 and math.isfinite(beta)):
            return f"beta, got {beta}, expected a positive number. Export the model again"
        if (operand.dtype, node.output.dtype) == (DType.INT8, DType.INT16):
            return quantization_problem([operand]) or _widened_problem(node) or _step_problem(node)
        wrong = types_problem([operand, node.output], self.types)
        if wrong is not None or operand.dtype.is_float:
            return wrong
        quant = node.output.quant
        if operand.dtype is DType.INT16:
            return _wide_problem(node)
        if quant.scale != 1 / 256 or quant.zero_point != -128:
            return (
                f"quantisation of the result, got scale {quant.scale:g} and zero point {quant.zero_point}, expected "
                "1/256 and -128. Quantise the model again with TFLite's converter"
            )
        return _step_problem(node)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the operand's shape with the result's element type and quantisation."""
        return [TensorType(node.input(0).shape, node.output.dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        wrong = self.problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        x = np.asarray(operands[0])
        if node.output.dtype is DType.FLOAT32:
            x = x.astype(np.float32)
            with np.errstate(invalid="ignore"):
                powers = np.exp((x - x.max(axis=-1, keepdims=True)) * np.float32(attributes(node).beta))
                total = np.cumsum(powers, axis=-1, dtype=np.float32)[..., -1:]
                return [np.asarray(powers / total, np.float32)]
        if node.input(0).dtype is DType.INT16:
            return [softmax_wide.softmax(x.astype(np.int64), *wide_scaling(node)).astype(np.int16)]
        return [_quantized(x.astype(np.int64), exponentials(node), node.output.dtype)]

    @override
    def permuted(self, node: Node, order: axes.Order) -> tuple[Attributes, axes.Order] | None:
        return (node.attrs, order) if order[-1] == len(order) - 1 else None


def wide_scaling(node: Node) -> tuple[int, int]:
    """Returns multiplier and shift from differences of an int16 softmax to steps of its table."""
    step = softmax_wide.EXPONENT / 65535.0
    return quantize_multiplier(node.input(0).quant.scale * attributes(node).beta / step)


def _wide_problem(node: Node) -> str | None:
    """Returns the error in the quantisation of an int16 softmax as text, or None."""
    scale = node.output.quant.scale
    if abs(scale - 2.0**-15) > 1e-3 * 2.0**-15:
        return (
            f"quantisation of the result, got scale {scale:g}, expected 2^-15. "
            "Quantise the model again with TFLite's converter"
        )
    if wide_scaling(node)[1] > _WIDE_MOST_SHIFT:
        return (
            f"scale of the operand, got {node.input(0).quant.scale:g} with beta {attributes(node).beta:g}, expected "
            "products of less than 5. Quantise the model again"
        )
    if node.input(0).shape[-1] > _WIDE_MOST_ELEMENTS:
        return f"last axis, got {node.input(0).shape[-1]} elements, expected at most {_WIDE_MOST_ELEMENTS}"
    return None


def _step_problem(node: Node) -> str | None:
    """Returns why the steps of an int8 operand are too small, or None."""
    scale = node.input(0).quant.scale
    if attributes(node).beta * scale * (1 << (31 - _DIFFERENCE_BITS)) > 1.0:
        return None
    return f"scale of the operand, got {scale:g}, expected more than 2^-26. Quantise the model again"


def _widened_problem(node: Node) -> str | None:
    """Returns what is wrong with the quantisation of the int16 result of an int8 operand, or None."""
    quant = node.output.type.quant
    if quant is not None and quant.zero_points == (-32768,) and abs(quant.scale - 2.0**-16) <= 1e-3 * 2.0**-16:
        return None
    return (
        f"type of the result, got {node.output.type}, expected a scale of 2^-16 and a zero point of -32768. "
        "Quantise the model again with TFLite's converter"
    )


def _quantized(x: Int64, table: Int64, dtype: DType) -> Array:
    steps = x.max(axis=-1, keepdims=True) - x
    power = np.where(steps < len(table), table[np.minimum(steps, len(table) - 1)], 0)
    total = rounding_divide_by_pot(power, SUM_BITS).sum(axis=-1, keepdims=True)
    scale, shift = fixed_point.reciprocal(total, SUM_BITS)
    info = np.iinfo(dtype.value)
    result = rounding_divide_by_pot(multiply(scale, power), shift + 31 - 8 * dtype.bytes) + info.min
    return np.asarray(np.clip(result, info.min, info.max), dtype.numpy)

"""Rectifiers: relu, relu6, relu_n1_to_1 and leaky_relu as separate operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from typing_extensions import override

from aboard.ir import Attributes, DType, Node
from aboard.ir.numerics import Int64, multiply_by_quantized_multiplier, quantize_multiplier, quotient32
from aboard.ops.activation import Activation
from aboard.ops.registry import SourceNode, register
from aboard.ops.rescaling import overflow_problem, scaling
from aboard.ops.unary import Float32, Unary, saturate
from aboard.ops.uniform import COMPUTED, COMPUTED_WIDE


class _Clamp(Unary):
    types: ClassVar[tuple[DType, ...]] = COMPUTED_WIDE
    activation: ClassVar[Activation]

    @override
    def problem(self, node: Node) -> str | None:
        wrong = super().problem(node)
        if wrong is not None or node.output.dtype.is_float:
            return wrong
        overflow = overflow_problem(node.input(0), node.output)
        return overflow or self.activation.overflow_problem(node.output.quant.scale)

    def scaling(self, node: Node) -> tuple[int, int]:
        """Returns multiplier and shift from the operand's scale to the result's."""
        return scaling(node.input(0), node.output)

    @override
    def real(self, node: Node, x: Float32) -> Float32:
        """Returns the operand clamped to the activation's limits; NaN stays NaN."""
        low, high = self.activation.limits
        if high is not None:
            x = np.where(x > np.float32(high), np.float32(high), x)
        return np.where(x < np.float32(cast(float, low)), np.float32(cast(float, low)), x)

    @override
    def quantized(self, node: Node, x: Int64) -> Int64:
        """Rescales the operand to the result's quantisation and clamps it."""
        operand, result = node.input(0).quant, node.output.quant
        scaled = multiply_by_quantized_multiplier(x - operand.zero_point, *self.scaling(node))
        low, high = self.activation.range(result, node.output.dtype)
        return np.clip(scaled + result.zero_point, low, high)


@register
class Relu(_Clamp):
    """max(x, 0)."""

    name = "relu"
    tflite = ("RELU",)
    activation = Activation.RELU


@register
class ReluN1To1(_Clamp):
    """min(max(x, -1), 1). The reference has no such kernel; results equal LiteRT's."""

    name = "relu_n1_to_1"
    types = COMPUTED
    tflite = ("RELU_N1_TO_1",)
    activation = Activation.RELU_N1_TO_1

    @override
    def scaling(self, node: Node) -> tuple[int, int]:
        """Returns multiplier and shift from a ratio in float32, as in LiteRT."""
        return quantize_multiplier(quotient32(node.input(0).quant.scale, node.output.quant.scale))


@register
class Relu6(_Clamp):
    """min(max(x, 0), 6). Quantised operand and result share scale and zero point, because the reference only clamps."""

    name = "relu6"
    tflite = ("RELU6",)
    activation = Activation.RELU6

    @override
    def problem(self, node: Node) -> str | None:
        """Returns the error as text, or None; the reference would ignore a change of quantisation."""
        operand, result = node.input(0), node.output
        wrong = super().problem(node)
        if wrong is None and not result.dtype.is_float and operand.quant != result.quant:
            return (
                f"quantisation of operand and result, got {operand.type} and {result.type}, expected the same. "
                "tflite-micro ignores the difference and would compute something else; insert a QUANTIZE"
            )
        return wrong

    @override
    def quantized(self, node: Node, x: Int64) -> Int64:
        low, high = self.activation.range(node.output.quant, node.output.dtype)
        return np.clip(x, low, high)


@dataclass(frozen=True)
class LeakyReluAttributes(Attributes):
    """Attributes of `leaky_relu`.

    Attributes:
        alpha: Slope for negative operands, a float32; may be negative or above 1.
    """

    alpha: float


@register
class LeakyRelu(Unary):
    """X where x > 0, else alpha * x."""

    name = "leaky_relu"
    types = COMPUTED_WIDE
    tflite = ("LEAKY_RELU",)
    attributes = LeakyReluAttributes

    @override
    def read(self, source: SourceNode) -> Attributes:
        return LeakyReluAttributes(float(source.options["Alpha"]))

    @override
    def problem(self, node: Node) -> str | None:
        alpha = attributes(node).alpha
        if not np.isfinite(alpha):
            return f"alpha, got {alpha}, expected a finite number. Export the model again"
        wrong = super().problem(node)
        if wrong is not None or node.output.dtype.is_float:
            return wrong
        operand, result = node.input(0), node.output
        return overflow_problem(operand, result) or overflow_problem(operand, result, abs(alpha))

    @override
    def real(self, node: Node, x: Float32) -> Float32:
        """Multiplies elements that are not positive by alpha."""
        return np.where(x > 0, x, x * np.float32(attributes(node).alpha))

    def scalings(self, node: Node) -> tuple[tuple[int, int], tuple[int, int]]:
        """Returns multiplier and shift for operands of at least 0, and for negative operands without alpha's sign."""
        operand, result = node.input(0), node.output
        return scaling(operand, result), scaling(operand, result, abs(attributes(node).alpha))

    @override
    def quantized(self, node: Node, x: Int64) -> Int64:
        """Rescales with one multiplier on each side of 0."""
        centred = x - node.input(0).quant.zero_point
        above, below = (multiply_by_quantized_multiplier(centred, *each) for each in self.scalings(node))
        scaled = np.where(centred >= 0, above, -below if attributes(node).alpha < 0 else below)
        return saturate(scaled + node.output.quant.zero_point, node.output.dtype)


def attributes(node: Node) -> LeakyReluAttributes:
    """Returns the attributes of a leaky_relu."""
    return cast(LeakyReluAttributes, node.attrs)

"""log_softmax and l2_normalization: functions of all elements on the last axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node
from aboard.ir.numerics import (
    INT32_MIN,
    Int64,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_pot,
    wrap32,
)
from aboard.ir.numerics import saturating_doubling_high_mul as multiply
from aboard.ops import axes, fixed_point
from aboard.ops.box import Box
from aboard.ops.registry import SourceNode, register
from aboard.ops.softmax import StepScaling, step_scaling
from aboard.ops.unary import Unary, saturate

#: Most elements on the last axis of int8, so that a sum of exponentials or squares fits 32 bits.
_MOST_EXPONENTIALS, _MOST_SQUARES = 4095, 33025

#: Smallest norm that elements are divided by.
_EPSILON = np.float32(1e-6)

#: Integer bits of differences to the maximum, and of results of log_softmax.
_DIFFERENCE_BITS, _RESULT_BITS = 5, 4


class _LastAxis(Unary):
    elementwise = False

    @override
    def problem(self, node: Node) -> str | None:
        if not node.input(0).shape:
            return "rank of the operand, got 0, expected at least 1. Export the model with a fixed input shape"
        return super().problem(node) or (None if node.output.dtype.is_float else self.integer_problem(node))

    def integer_problem(self, node: Node) -> str | None:
        """Returns what is wrong with an int8 node, or None."""
        raise NotImplementedError

    @override
    def operand_boxes(self, node: Node, box: Box) -> list[Box | None] | None:
        return [box.on(len(box.start) - 1, 0, node.input(0).shape[-1])]

    @override
    def permuted(self, node: Node, order: axes.Order) -> tuple[Attributes, axes.Order] | None:
        return (node.attrs, order) if order[-1] == len(order) - 1 else None


def _result_problem(node: Node, scale: float, zero_point: int, most: int) -> str | None:
    quant = node.output.quant
    if quant.scale != scale or quant.zero_point != zero_point:
        return (
            f"quantisation of the result, got scale {quant.scale:g} and zero point {quant.zero_point}, expected "
            f"{scale:g} and {zero_point}. Quantise the model again with TFLite's converter"
        )
    count = node.input(0).shape[-1]
    return None if count <= most else f"last axis, got {count} elements of int8, expected at most {most}. Split it"


@register
class LogSoftmax(_LastAxis):
    """x - max - ln(sum(e^(x - max)))."""

    name = "log_softmax"
    tflite = ("LOG_SOFTMAX",)

    def scaling(self, node: Node) -> StepScaling:
        """Returns how steps below the maximum become exponents."""
        return step_scaling(node.input(0).quant.scale)

    def steps_of(self, node: Node) -> tuple[int, int]:
        """Returns multiplier and shift from exponents back to steps."""
        steps = self.scaling(node)
        return quantize_multiplier(2.0 ** (31 - steps.shift) / steps.multiplier)

    @override
    def integer_problem(self, node: Node) -> str | None:
        operand = node.input(0).quant
        if not 2.0**-26 < operand.scale <= 32 or self.steps_of(node)[1] > 0:
            return (
                f"scale of the operand, got {operand.scale:g}, expected one above 2^-26 and at most 32. "
                "Quantise the model again"
            )
        return _result_problem(node, 1 / 16, 127, _MOST_EXPONENTIALS)

    def exponents(self, node: Node) -> Int64:
        """Returns exponents, with five integer bits, of 0, 1 ... steps below the maximum that are counted."""
        scaling = self.scaling(node)
        steps = np.arange(min(scaling.radius, 255) + 1, dtype=np.int64)
        return multiply(wrap32(-steps << scaling.shift), scaling.multiplier)

    def powers(self, node: Node) -> Int64:
        """Returns e to these exponents, with twelve integer bits."""
        return rounding_divide_by_pot(fixed_point.exp_on_negative_values(self.exponents(node), _DIFFERENCE_BITS), 12)

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        x = np.asarray(operands[0])
        if node.output.dtype is DType.FLOAT32:
            with np.errstate(invalid="ignore"):
                below = x.astype(np.float32) - x.max(axis=-1, keepdims=True)
                total = np.cumsum(np.exp(below), axis=-1, dtype=np.float32)[..., -1:]
                return [np.asarray(below - np.log(total), np.float32)]
        exponents, powers = self.exponents(node), self.powers(node)
        steps = x.max(axis=-1, keepdims=True).astype(np.int64) - x
        counted = np.minimum(steps, len(powers) - 1)
        total = np.where(steps < len(powers), powers[counted], 0).sum(axis=-1, keepdims=True)
        log = fixed_point.log_of_sum(total)
        last = -multiply_by_quantized_multiplier(log + INT32_MIN, *self.steps_of(node))
        bits = 31 - _DIFFERENCE_BITS - _RESULT_BITS
        result = saturate(rounding_divide_by_pot(exponents[counted] - log, bits) + 127)
        return [np.where(steps < np.minimum(last, self.scaling(node).radius + 1), result, -128).astype(np.int8)]


@register
class L2Normalization(_LastAxis):
    """X / sqrt(sum(x^2)), the root at least 1e-6. Int8 results are in steps of 1/128."""

    name = "l2_normalization"
    tflite = ("L2_NORMALIZATION",)

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Returns the node.

        Raises:
            ModelError: Types, quantisation or a fused activation are not supported.
        """
        activation = int(source.options["FusedActivationFunction"])
        if activation != 0:
            raise source.unsupported(
                f"fused activation, got number {activation}, expected NONE. Export the activation as an operator of "
                "its own"
            )
        return super().from_tflite(source)

    @override
    def integer_problem(self, node: Node) -> str | None:
        return _result_problem(node, 1 / 128, 0, _MOST_SQUARES)

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        x = np.asarray(operands[0])
        if node.output.dtype is DType.FLOAT32:
            with np.errstate(over="ignore", invalid="ignore"):
                total = np.cumsum(np.square(x.astype(np.float32)), axis=-1, dtype=np.float32)[..., -1:]
                return [np.asarray(x / np.maximum(np.sqrt(total), _EPSILON), np.float32)]
        centred = x.astype(np.int64) - node.input(0).quant.zero_point
        multiplier, shift = fixed_point.inverse_sqrt(np.square(centred).sum(axis=-1, keepdims=True))
        return [saturate(multiply_by_quantized_multiplier(centred, multiplier, shift + 7)).astype(np.int8)]

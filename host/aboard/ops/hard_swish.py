"""hard_swish: x * min(max(x + 3, 0), 6) / 6."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from aboard.ir import Node
from aboard.ir.numerics import Int64, quantize_multiplier
from aboard.ops.registry import register
from aboard.ops.unary import Float32, Unary, saturate

_INT16_MIN, _INT16_MAX = -(2**15), 2**15 - 1

#: Scale at which the interval [-3, 3] uses all 16 bits.
_GATE_SCALE = 3 / 32768

#: Largest left shift of the gate's operand in the reference, in bits.
_MOST_GATE_SHIFT = 31


@register
class HardSwish(Unary):
    """Hard swish; quantised elements are computed in 16-bit fixed point, as in the reference."""

    name = "hard_swish"
    tflite = ("HARD_SWISH",)

    @override
    def problem(self, node: Node) -> str | None:
        wrong = super().problem(node)
        if wrong is not None or node.output.dtype.is_float:
            return wrong
        before, after = node.input(0).quant.scale, node.output.quant.scale
        if _output_scaling(node)[1] > 0:
            return (
                f"scale of the result, got {after:g} for an operand of scale {before:g}, expected at least 1/128 of "
                "it. Quantise the model again"
            )
        if _gate_scaling(node)[1] > _MOST_GATE_SHIFT:
            return f"scale of the operand, got {before:g}, expected less than 2.5e+07. Quantise the model again"
        return None

    @override
    def real(self, node: Node, x: Float32) -> Float32:
        three, six = np.float32(3), np.float32(6)
        result: Float32 = x * np.minimum(six, np.maximum(np.float32(0), x + three)) / six
        return result

    @override
    def quantized(self, node: Node, x: Int64) -> Int64:
        hires = (x - node.input(0).quant.zero_point) * 128
        multiplier, exponent = _output_scaling(node)
        scaled = _rounding_high_mul(_wrap16(hires), multiplier)
        gate = (_gate(node, _wrap16(hires)) + (1 << 15)) >> 1
        product = _truncating_high_mul(gate, scaled)
        return saturate(_divide_by_pot16(product, -exponent) + node.output.quant.zero_point)


def _scaling(real: float) -> tuple[int, int]:
    """Returns a 16-bit multiplier and its exponent."""
    multiplier, exponent = quantize_multiplier(real)
    if multiplier >= 2**31 - 1 - (1 << 15):
        return _INT16_MAX, exponent
    return (multiplier + (1 << 15)) >> 16, exponent


def _hires_scale(node: Node) -> float:
    """Returns the scale of the operand with seven more bits, as float32; ratios of it are in double precision."""
    return float(np.float32(1.0 / 128.0) * np.float32(node.input(0).quant.scale))


def _output_scaling(node: Node) -> tuple[int, int]:
    return _scaling(_hires_scale(node) / node.output.quant.scale)


def _gate_scaling(node: Node) -> tuple[int, int]:
    return _scaling(_hires_scale(node) / _GATE_SCALE)


def _gate(node: Node, hires: Int64) -> Int64:
    """Returns the operand with [-3, 3] mapped to [-1, 1] and saturated, in 16 bits without integer bits."""
    multiplier, exponent = _gate_scaling(node)
    value = hires
    if exponent > 0:
        value = _shift_left16(value, exponent - 1)
    value = _rounding_high_mul(value, multiplier)
    if exponent > 0:
        return _shift_left16(value, 1)
    return _divide_by_pot16(value, -exponent) if exponent < 0 else value


def _wrap16(x: Int64) -> Int64:
    wrapped: Int64 = ((x + 2**15) & 0xFFFF) - 2**15
    return wrapped


def _shift_left16(x: Int64, amount: int) -> Int64:
    shifted: Int64 = np.clip(x << amount, _INT16_MIN, _INT16_MAX)
    return shifted


def _rounding_high_mul(a: Int64, b: int) -> Int64:
    product: Int64 = np.minimum((a * b + (1 << 14)) >> 15, _INT16_MAX)
    return product


def _truncating_high_mul(a: Int64, b: Int64) -> Int64:
    product = a * b
    return np.minimum(np.where(product < 0, -(-product >> 15), product >> 15), _INT16_MAX)


def _divide_by_pot16(x: Int64, exponent: int) -> Int64:
    """Returns x / 2**exponent, rounded, ties away from zero; the mask is 16 bits wide, as in the reference."""
    mask = int(_wrap16(np.asarray((1 << exponent) - 1, np.int64)))
    threshold = (mask >> 1) + (x < 0)
    quotient: Int64 = (x >> exponent) + ((x & mask) > threshold)
    return quotient

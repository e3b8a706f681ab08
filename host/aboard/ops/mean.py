"""Averages and sums over any axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, DType, Node, Rounding
from aboard.ir.numerics import (
    MOST_EXACT_SHIFT,
    multiply_by_quantized_multiplier,
    multiply_exactly,
    quantize_multiplier,
    wrap32,
)
from aboard.ops import rescaling
from aboard.ops.broadcasting import WHOLE
from aboard.ops.reduction import Reduction, columns, count
from aboard.ops.registry import register
from aboard.ops.unary import saturate
from aboard.ops.uniform import COMPUTED_WIDE


def divisor(node: Node) -> int:
    """Returns what a sum is divided by: the number of its elements for a mean, 1 for a sum."""
    return count(node) if node.op == "mean" else 1


def scaling(node: Node) -> tuple[int, int]:
    """Returns multiplier and shift from the centred sum of an integer node to the result's scale.

    The multiplier includes the division by the number of elements; truncated as in the reference, or rounded in a node
    that rounds exactly.
    """
    if node.attrs.rounding is Rounding.EXACT:
        return quantize_multiplier(node.input(0).quant.scale / (divisor(node) * node.output.quant.scale))
    multiplier, shift = rescaling.scaling(node.input(0), node.output)
    extra = min(divisor(node).bit_length() - 1, 32, 31 + shift)
    return (multiplier << extra) // divisor(node), shift - extra


@register
class Mean(Reduction):
    """Average over axes."""

    name = "mean"
    tflite = ("MEAN",)
    types = COMPUTED_WIDE

    @override
    def quantisation_problem(self, node: Node) -> str | None:
        # A sum is moved up by less than the bits of its count less than an element is: it may be twice as large.
        return rescaling.overflow_problem(node.input(0), node.output, spare_bits=1)

    @override
    def is_exact(self, node: Node) -> bool:
        """True for int8 without sums that wrap."""
        if node.output.dtype is not DType.INT8 or node.output.type.quant is None or count(node) >= 1 << 23:
            return False
        return scaling(node)[1] <= MOST_EXACT_SHIFT

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Computes the result; float sums are formed in the order of memory."""
        if self.is_plain(node):
            return self.plain(node, operands[0])
        elements = columns(node, operands[0])
        if node.output.dtype is DType.FLOAT32:
            total = np.cumsum(elements, axis=-1, dtype=np.float32)[..., -1]
            return [np.asarray(total / np.float32(divisor(node)), np.float32)]
        centred = elements.sum(axis=-1, dtype=np.int64) - node.input(0).quant.zero_point * count(node)
        if node.attrs.rounding is Rounding.EXACT:
            scaled = multiply_exactly(centred, *scaling(node))
        else:
            scaled = multiply_by_quantized_multiplier(wrap32(centred), *scaling(node))
        dtype = node.output.dtype
        return [saturate(scaled + node.output.quant.zero_point, dtype).astype(dtype.numpy)]


@register
class Sum(Mean):
    """Sum over axes: the mean without its division."""

    name = "sum"
    tflite = ("SUM",)
    plain_types = WHOLE
    plain_function = np.add

    @override
    def quantisation_problem(self, node: Node) -> str | None:
        return rescaling.overflow_problem(node.input(0), node.output, spare_bits=(count(node) - 1).bit_length())

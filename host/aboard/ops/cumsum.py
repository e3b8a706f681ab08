"""Running sums along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, Node, TensorType
from aboard.ir.numerics import multiply_by_quantized_multiplier, quantize_multiplier, wrap32
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.unary import saturate
from aboard.ops.uniform import COMPUTED, types_problem

#: Bits by which the reference moves int8 elements up before it rescales them to half of their scale.
_LEFT_SHIFT = 20


@dataclass(frozen=True)
class CumsumAttributes(Attributes):
    """Attributes of `cumsum`.

    Attributes:
        axis: Axis along which elements are added; not negative.
        exclusive: True when an element is not part of its own sum.
        reverse: True when sums run from the end of the axis.
    """

    axis: int
    exclusive: bool
    reverse: bool


@register
class Cumsum(Op):
    """result[i] = the sum of operand[j] for all j up to i along an axis.

    Sums of int8 begin with minus the operand's zero point, as in the reference.
    """

    name = "cumsum"
    attributes = CumsumAttributes
    tflite = ("CUMSUM",)
    types = COMPUTED

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Reads axis and options.

        Raises:
            ModelError: The axis is computed at run time or does not exist, or a type is not supported.
        """
        operand, axes = source.input(0), source.integers(1)
        rank = len(operand.shape)
        if len(axes) != 1 or not -rank <= axes[0] < rank:
            raise source.unsupported(
                f"axis, got {axes}, expected one number in [{-rank}, {rank - 1}]. Export the model again"
            )
        exclusive, backwards = bool(source.options["Exclusive"]), bool(source.options["Reverse"])
        node = source.node(self.name, [operand], CumsumAttributes(axes[0] % rank, exclusive, backwards))
        wrong = self.problem(node)
        if wrong is not None:
            raise source.unsupported(wrong)
        return node

    def problem(self, node: Node) -> str | None:
        """Returns what is wrong with axis, types or quantisation, or None."""
        axis, rank = attributes(node).axis, len(node.input(0).shape)
        if not 0 <= axis < rank:
            return f"axis, got {axis}, expected less than {rank}"
        wrong = types_problem([node.input(0), node.output], self.types)
        if wrong is not None or node.output.dtype.is_float:
            return wrong
        before, after = node.input(0).quant.scale, node.output.quant.scale
        if not _ratio(node) < 1:
            return (
                f"scale of the result, got {after:g} for an operand of scale {before:g}, expected more than "
                f"{before / 2 ** (_LEFT_SHIFT - 1):g}. Quantise the model again"
            )
        return None

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the operand's type with the result's quantisation."""
        return [TensorType(node.input(0).shape, node.input(0).dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks what `problem` finds.

        Raises:
            VerifyError: Axis, types or quantisation are wrong.
        """
        wrong = self.problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        attrs, x = attributes(node), np.moveaxis(np.asarray(operands[0]), attributes(node).axis, 0)
        x = x[::-1] if attrs.reverse else x
        if node.output.dtype.is_float:
            sums = np.cumsum(x, axis=0, dtype=np.float32)
            zero = np.float32(0)
        else:
            zero = np.int64(-node.input(0).quant.zero_point)
            sums = np.cumsum(x.astype(np.int64) + zero, axis=0) + zero
        if attrs.exclusive:
            sums = np.concatenate([np.full_like(sums[:1], zero), sums[:-1]])
        result = sums if node.output.dtype.is_float else self._requantised(node, sums)
        result = np.moveaxis(result[::-1] if attrs.reverse else result, 0, attrs.axis)
        return [np.ascontiguousarray(result)]

    def _requantised(self, node: Node, sums: Array) -> Array:
        scaled = multiply_by_quantized_multiplier(wrap32(sums.astype(np.int64) << (_LEFT_SHIFT - 1)), *scaling(node))
        return saturate(scaled + node.output.quant.zero_point).astype(np.int8)


def attributes(node: Node) -> CumsumAttributes:
    """Returns the attributes of a `cumsum` node."""
    return cast(CumsumAttributes, node.attrs)


def scaling(node: Node) -> tuple[int, int]:
    """Returns multiplier and shift from sums, moved up by 19 bits, to the result's scale."""
    return quantize_multiplier(_ratio(node))


def _ratio(node: Node) -> float:
    """Returns the ratio of twice the operand's scale and the result's, moved up by 20 bits; the order is TFLite's."""
    return 2 * node.input(0).quant.scale / ((1 << _LEFT_SHIFT) * node.output.quant.scale)

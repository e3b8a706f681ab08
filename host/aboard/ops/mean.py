"""mean: the average over any axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ir.numerics import multiply_by_quantized_multiplier, wrap32
from aboard.ops import rescaling
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.unary import saturate
from aboard.ops.uniform import COMPUTED_WIDE, types_problem


@dataclass(frozen=True)
class MeanAttributes(Attributes):
    """Attributes of `mean`.

    Attributes:
        axes: Axes to average over, ascending, not negative, each once.
        keep_dims: True if the result keeps these axes with one element each.
    """

    axes: tuple[int, ...]
    keep_dims: bool = False


def attributes(node: Node) -> MeanAttributes:
    """Returns the attributes of a mean."""
    return cast(MeanAttributes, node.attrs)


def count(node: Node) -> int:
    """Returns the number of operand elements per result element."""
    return math.prod(node.input(0).shape[axis] for axis in attributes(node).axes)


def scaling(node: Node) -> tuple[int, int]:
    """Returns multiplier and shift from the centred sum of an integer node to the result's scale.

    The multiplier includes the division by the number of elements, truncated as in the reference.
    """
    multiplier, shift = rescaling.scaling(node.input(0), node.output)
    extra = min(count(node).bit_length() - 1, 32, 31 + shift)
    return (multiplier << extra) // count(node), shift - extra


@register
class Mean(Op):
    """Average over axes."""

    name = "mean"
    tflite = ("MEAN",)
    attributes = MeanAttributes

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Reads the axes.

        Raises:
            ModelError: The axes are computed at run time or do not exist, or a type is not supported.
        """
        operand, rank = source.input(0), len(source.input(0).shape)
        given = source.integers(1)
        if any(not -rank <= axis < rank for axis in given):
            raise source.unsupported(
                f"axes, got {given}, expected numbers in [{-rank}, {rank - 1}]. Export the model again"
            )
        axes = tuple(sorted({axis % rank for axis in given}))
        node = source.node(self.name, [operand], MeanAttributes(axes, bool(source.options["KeepDims"])))
        wrong = self.problem(node)
        if wrong is not None:
            raise source.unsupported(wrong)
        return node

    def problem(self, node: Node) -> str | None:
        """Returns the error in axes, types or quantisation as text, or None."""
        axes, shape = attributes(node).axes, node.input(0).shape
        if list(axes) != sorted(set(axes)) or any(not 0 <= axis < len(shape) for axis in axes):
            return f"axes, got {axes}, expected ascending numbers below {len(shape)}"
        wrong = types_problem([node.input(0), node.output], COMPUTED_WIDE)
        if wrong is not None or node.output.dtype.is_float:
            return wrong
        # The left shift of a sum is smaller by the bits of the count; the sum may still be twice as large as an
        # element.
        return rescaling.overflow_problem(node.input(0), node.output, spare_bits=1)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the operand's type without the axes, or with one element on each."""
        attrs, operand = attributes(node), node.input(0)
        kept = [1 if axis in attrs.axes else size for axis, size in enumerate(operand.shape)]
        left = [size for axis, size in enumerate(operand.shape) if axis not in attrs.axes]
        return [TensorType(tuple(kept if attrs.keep_dims else left), operand.dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        wrong = self.problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Computes the result; float sums are added in memory order."""
        x, axes = np.asarray(operands[0]), attributes(node).axes
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        columns = x.transpose(*kept, *axes).reshape((*node.output.shape, count(node)))
        if node.output.dtype is DType.FLOAT32:
            total = np.cumsum(columns, axis=-1, dtype=np.float32)[..., -1]
            return [np.asarray(total / np.float32(count(node)), np.float32)]
        centred = columns.sum(axis=-1, dtype=np.int64) - node.input(0).quant.zero_point * count(node)
        scaled = multiply_by_quantized_multiplier(wrap32(centred), *scaling(node))
        dtype = node.output.dtype
        return [saturate(scaled + node.output.quant.zero_point, dtype).astype(dtype.numpy)]

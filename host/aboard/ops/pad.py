"""Padding with a constant on any side of any axis. PAD and PADV2 become this op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ops import axes
from aboard.ops.registry import Op, SourceNode, register, require


@dataclass(frozen=True)
class PadAttributes(Attributes):
    """Attributes of `pad`.

    Attributes:
        padding: (before, after) for each axis; none negative.
        value: The stored value of the padding: for a quantised tensor an integer.
    """

    padding: tuple[tuple[int, int], ...]
    value: int | float


@register
class Pad(Op):
    """The operand in the middle of a larger tensor whose other elements are one value."""

    name = "pad"
    attributes = PadAttributes
    tflite = ("PAD", "PADV2")
    moves_data = True
    types = (DType.INT8, DType.INT16, DType.INT32, DType.FLOAT32)

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Reads the paddings and the value: PADV2's third operand, else the zero point.

        Raises:
            ModelError: The paddings are not constant, negative or not one pair per axis; or the value has another type
                or quantisation than the result.
        """
        operand = source.input(0)
        if operand.dtype not in self.types:
            known = ", ".join(dtype.value for dtype in self.types)
            raise source.unsupported(f"element type, got {operand.dtype.value}, expected one of {known}")
        values = source.integers(1)
        if source.constant(1).shape != (len(operand.shape), 2) or min(values, default=0) < 0:
            raise source.unsupported(
                f"paddings, got {values} for shape {operand.shape}, "
                "expected a pair of numbers from 0 for each axis. Export the model again"
            )
        padding = tuple(zip(values[::2], values[1::2], strict=True))
        return source.node(self.name, [operand], PadAttributes(padding, _value(source)))

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the operand's type, larger by the padding."""
        shape = tuple(
            before + extent + after
            for extent, (before, after) in zip(node.input(0).shape, attributes(node).padding, strict=True)
        )
        return [TensorType(shape, node.input(0).dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks the paddings.

        Raises:
            VerifyError: The number of paddings is not the number of axes, or a padding is negative.
        """
        padding, rank = attributes(node).padding, len(node.input(0).shape)
        require(len(padding) == rank, node, f"paddings, got {len(padding)}, expected {rank}, one for each axis")
        require(all(min(pair) >= 0 for pair in padding), node, f"paddings, got {padding}, expected none below 0")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        attrs = attributes(node)
        value = np.asarray(attrs.value).astype(node.output.dtype.numpy)
        return [np.pad(np.asarray(operands[0]), attrs.padding, constant_values=value)]

    @override
    def permuted(self, node: Node, order: axes.Order) -> tuple[Attributes, axes.Order] | None:
        attrs = attributes(node)
        return PadAttributes(axes.before(attrs.padding, order), attrs.value), order


def attributes(node: Node) -> PadAttributes:
    """Returns the attributes of a `pad` node."""
    return cast(PadAttributes, node.attrs)


def _value(source: SourceNode) -> int | float:
    operand, result = source.input(0), source.outputs[0]
    given = source.inputs[2] if len(source.inputs) > 2 else None
    if given is None:
        return result.quant.zero_point if operand.dtype is DType.INT8 and result.type.quant is not None else 0
    values = source.constant(2)
    if values.size != 1 or given.dtype is not operand.dtype:
        raise source.unsupported(
            f"padding value, got {given.type}, expected one {operand.dtype.value}. Export the model again"
        )
    if operand.dtype is DType.INT8 and given.type.quant != result.type.quant:
        raise source.unsupported(
            f"quantisation of the padding value, got {given.type}, expected that of the result {result.type}. "
            "Quantise the model again with one scale for both"
        )
    value = values.reshape(-1)[0].item()
    return float(value) if operand.dtype.is_float else int(value)

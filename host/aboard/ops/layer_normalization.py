"""layer_normalization: the last axis of float32, scaled to a variance of 1, with a factor and a summand per element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ops.axes import Order
from aboard.ops.box import Box
from aboard.ops.registry import Op, register, require


@dataclass(frozen=True)
class LayerNormalizationAttributes(Attributes):
    """Attributes of `layer_normalization`.

    Attributes:
        epsilon: Summand of the variance.
        is_centred: True if the mean is subtracted first; False for the division by the root of the mean square alone.
    """

    epsilon: float = 1e-5
    is_centred: bool = True


@register
class LayerNormalization(Op):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias, over the last axis.

    Operands: x, scale [channels], bias [channels].
    """

    name = "layer_normalization"
    attributes = LayerNormalizationAttributes
    types = (DType.FLOAT32,)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        return [TensorType(node.input(0).shape, node.input(0).dtype)]

    @override
    def verify(self, node: Node) -> None:
        """Checks types and shapes.

        Raises:
            VerifyError: A type is not float32, or scale or bias have another shape than the last axis.
        """
        shape = node.input(0).shape
        require(len(shape) > 0, node, "rank of the operand, got 0, expected at least 1")
        require(len(node.operands) == 3, node, f"operands, got {len(node.operands)}, expected 3")
        for operand in node.operands:
            require(operand.dtype is DType.FLOAT32, node, f"element type, got {operand.dtype.value}, expected float32")
        for operand in node.operands[1:]:
            require(operand.shape == shape[-1:], node, f"shape, got {operand.shape}, expected {shape[-1:]}")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        attrs, x = attributes(node), np.asarray(operands[0]).astype(np.float64)
        scale, bias = np.asarray(operands[1]), np.asarray(operands[2])
        centred = x - x.mean(axis=-1, keepdims=True) if attrs.is_centred else x
        with np.errstate(all="ignore"):
            result = centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + attrs.epsilon)
        return [np.asarray(result * scale + bias, np.float32)]

    @override
    def operand_boxes(self, node: Node, box: Box) -> list[Box | None] | None:
        """Returns whole pixels, and all of scale and bias."""
        whole = [Box.whole(operand.shape) for operand in node.operands[1:]]
        return [box.on(len(box.start) - 1, 0, node.input(0).shape[-1]), *whole]

    @override
    def permuted(self, node: Node, order: Order) -> tuple[Attributes, Order] | None:
        return (node.attrs, order) if order[-1] == len(order) - 1 and len(order) > 1 else None


def attributes(node: Node) -> LayerNormalizationAttributes:
    """Returns the attributes of a `layer_normalization` node."""
    return cast(LayerNormalizationAttributes, node.attrs)

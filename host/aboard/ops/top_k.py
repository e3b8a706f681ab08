"""top_k: the largest or smallest elements of the last axis, in order, and their indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ops.broadcasting import WHOLE
from aboard.ops.registry import Op, register, require


@dataclass(frozen=True)
class TopKAttributes(Attributes):
    """Attributes of `top_k`.

    Attributes:
        count: Number of elements; at least 1.
        largest: True for the largest, the largest first; False for the smallest, the smallest first.
    """

    count: int = 1
    largest: bool = True


@register
class TopK(Op):
    """Results: the elements [..., count], and their indices on the last axis as int32.

    Among equal elements the lower index comes first. A NaN counts as less than all others of the largest, and as more
    than all others of the smallest.
    """

    name = "top_k"
    attributes = TopKAttributes
    types = (*WHOLE, DType.FLOAT32)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        operand = node.input(0)
        shape = (*operand.shape[:-1], attributes(node).count)
        return [TensorType(shape, operand.dtype, operand.type.quant), TensorType(shape, DType.INT32)]

    @override
    def verify(self, node: Node) -> None:
        """Checks count and element type.

        Raises:
            VerifyError: There are fewer elements, or no kernel compares elements of the type.
        """
        operand, count = node.input(0), attributes(node).count
        extent = operand.shape[-1] if operand.shape else 0
        require(1 <= count <= extent, node, f"count, got {count}, expected a number in [1, {extent}]")
        known = operand.dtype in self.types
        require(known, node, f"element type, got {operand.dtype.value}, expected float32 or integers")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        x, attrs = np.asarray(operands[0]), attributes(node)
        if attrs.largest:
            # Reversed, so that a stable sort puts the lower index last among equals.
            order = np.argsort(_ranks(x, least=True)[..., ::-1], axis=-1, kind="stable")[..., ::-1]
            indices = x.shape[-1] - 1 - order[..., : attrs.count]
        else:
            indices = np.argsort(_ranks(x, least=False), axis=-1, kind="stable")[..., : attrs.count]
        return [np.take_along_axis(x, indices, axis=-1), indices.astype(np.int32)]


def _ranks(x: Array, *, least: bool) -> Array:
    if x.dtype.kind != "f":
        return x
    return np.asarray(np.where(np.isnan(x), -np.inf if least else np.inf, x))


def attributes(node: Node) -> TopKAttributes:
    """Returns the attributes of a `top_k` node."""
    return cast(TopKAttributes, node.attrs)

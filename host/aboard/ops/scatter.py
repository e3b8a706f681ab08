"""scatter_nd: a copy of a tensor in which slices are replaced by others, or combined with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ops.gather import MAX_INDICES
from aboard.ops.registry import Op, register, require
from aboard.ops.uniform import EVERY


class Reduction(Enum):
    """How an update and the element at its place become one; the value is ONNX's name."""

    NONE = "none"
    ADD = "add"
    MUL = "mul"
    MAX = "max"
    MIN = "min"


@dataclass(frozen=True)
class ScatterAttributes(Attributes):
    """Attributes of `scatter_nd`.

    Attributes:
        reduction: How an update and the element at its place become one.
    """

    reduction: Reduction = Reduction.NONE


_FUNCTIONS = {
    Reduction.ADD: np.add,
    Reduction.MUL: np.multiply,
    Reduction.MAX: np.maximum,
    Reduction.MIN: np.minimum,
}


@register
class ScatterNd(Op):
    """result = operand 0; result[indices[i]] = updates[i] in the order of i.

    Operands: x, int32 indices [..., tuple], updates [..., axes of x behind the tuple]. An index out of range stands for
    the nearest one in range.
    """

    name = "scatter_nd"
    attributes = ScatterAttributes
    types = EVERY

    @override
    def infer(self, node: Node) -> list[TensorType]:
        return [node.input(0).type]

    @override
    def verify(self, node: Node) -> None:
        """Checks shapes and types.

        Raises:
            VerifyError: Tuples are longer than the operand has axes or not int32, or updates do not fit.
        """
        x, indices, updates = node.input(0), node.input(1), node.input(2)
        count = indices.shape[-1] if indices.shape else 0
        most = min(len(x.shape), MAX_INDICES)
        require(1 <= count <= most, node, f"indices, got shape {indices.shape}, expected tuples of 1 to {most}")
        require(indices.dtype is DType.INT32, node, f"type of indices, got {indices.dtype.value}, expected int32")
        wanted = (*indices.shape[:-1], *x.shape[count:])
        fits = updates.shape == wanted and updates.dtype is x.dtype
        require(fits, node, f"updates, got {updates.type}, expected {TensorType(wanted, x.dtype)}")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Returns the copy with the updates."""
        x, indices, updates = (np.asarray(operand) for operand in operands)
        result, count = x.copy(), indices.shape[-1]
        flat = indices.reshape(-1, count).astype(np.int64)
        parts = updates.reshape(len(flat), *x.shape[count:])
        function = _FUNCTIONS.get(attributes(node).reduction)
        with np.errstate(all="ignore"):
            for index, part in zip(np.clip(flat, 0, np.array(x.shape[:count]) - 1), parts, strict=True):
                place = tuple(index)
                result[place] = part if function is None else function(result[place], part)
        return [result]


def attributes(node: Node) -> ScatterAttributes:
    """Returns the attributes of a `scatter_nd` node."""
    return cast(ScatterAttributes, node.attrs)

"""resample: weighted sums of neighbours along one axis, such as any interpolation and its filters need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ops.axes import Order
from aboard.ops.registry import Op, register, require

#: Places of the operands.
X, STARTS, WEIGHTS = range(3)


@dataclass(frozen=True)
class ResampleAttributes(Attributes):
    """Attributes of `resample`.

    Attributes:
        axis: Axis whose elements are added; not negative.
    """

    axis: int


@register
class Resample(Op):
    """result[o, i, n] = the sum over t of weights[i, t] * x[o, starts[i] + t, n], where i counts the axis.

    Operands: x of float32, constant int32 starts [size], constant float32 weights [size, taps]. All taps lie in x.
    """

    name = "resample"
    attributes = ResampleAttributes
    types = (DType.FLOAT32,)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        shape, axis = node.input(X).shape, attributes(node).axis
        return [TensorType((*shape[:axis], *node.input(STARTS).shape, *shape[axis + 1 :]), DType.FLOAT32)]

    @override
    def verify(self, node: Node) -> None:
        """Checks types, shapes and starts.

        Raises:
            VerifyError: A tensor has another type or shape than described, or a tap lies outside of the operand.
        """
        x, starts, weights, axis = node.input(X), node.input(STARTS), node.input(WEIGHTS), attributes(node).axis
        require(0 <= axis < len(x.shape), node, f"axis, got {axis}, expected less than {len(x.shape)}")
        types = (x.dtype, starts.dtype, weights.dtype)
        wanted = (DType.FLOAT32, DType.INT32, DType.FLOAT32)
        require(types == wanted, node, f"element types, got {_names(types)}, expected {_names(wanted)}")
        fits = len(starts.shape) == 1 and len(weights.shape) == 2 and weights.shape[:1] == starts.shape
        require(
            fits, node, f"starts and weights, got {starts.shape} and {weights.shape}, expected [size] and [size, taps]"
        )
        first = [] if starts.data is None else starts.data.reshape(-1).tolist()
        last = x.shape[axis] - weights.shape[1]
        within = len(first) > 0 and min(first) >= 0 and max(first) <= last
        require(within, node, f"starts, got {first[:8]}, expected constants in [0, {last}]")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Adds the products in the order of taps."""
        x, starts, weights = (np.asarray(operand) for operand in operands)
        axis = attributes(node).axis
        shape = [-1 if other == axis else 1 for other in range(x.ndim)]
        total = np.zeros(node.output.shape, np.float32)
        with np.errstate(all="ignore"):
            for tap in range(weights.shape[1]):
                total += np.take(x, starts.astype(np.int64) + tap, axis) * weights[:, tap].reshape(shape)
        return [total]

    @override
    def permuted(self, node: Node, order: Order) -> tuple[Attributes, Order] | None:
        """Starts and weights keep their axes, so that the operand must have more."""
        rank = len(node.input(X).shape)
        return (ResampleAttributes(order[attributes(node).axis]), order) if len(order) == rank > 2 else None

    @override
    def macs(self, node: Node) -> int:
        return node.output.type.elements * node.input(WEIGHTS).shape[1]


def attributes(node: Node) -> ResampleAttributes:
    """Returns the attributes of a `resample` node."""
    return cast(ResampleAttributes, node.attrs)


def _names(types: Sequence[DType]) -> str:
    return ", ".join(dtype.value for dtype in types)

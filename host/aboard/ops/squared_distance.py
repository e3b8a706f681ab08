"""squared_distance: squares of the distances of samples from points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Array, DType, Node, TensorType
from aboard.ops.registry import Op, register, require


@register
class SquaredDistance(Op):
    """From samples [..., features] and points [points, features] of float32 to [..., points].

    Squares of differences are added in the order of the features, in float32: what is near has an exact distance.
    """

    name = "squared_distance"
    types = (DType.FLOAT32,)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        return [TensorType((*node.input(0).shape[:-1], node.input(1).shape[0]), DType.FLOAT32)]

    @override
    def verify(self, node: Node) -> None:
        """Checks types and shapes.

        Raises:
            VerifyError: An operand is not float32, or samples and points have different features.
        """
        samples, points = node.input(0), node.input(1)
        real = samples.dtype is DType.FLOAT32 and points.dtype is DType.FLOAT32
        require(real, node, f"element types, got {samples.dtype.value} and {points.dtype.value}, expected float32")
        fits = len(points.shape) == 2 and bool(samples.shape) and samples.shape[-1] == points.shape[1]
        require(fits, node, f"shapes, got {samples.shape} and {points.shape}, expected as many features")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        samples, points = (np.asarray(operand, np.float32) for operand in operands)
        total = np.zeros((*samples.shape[:-1], len(points)), np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            for feature in range(samples.shape[-1]):
                total += np.square(samples[..., None, feature] - points[:, feature])
        return [total]

    @override
    def macs(self, node: Node) -> int:
        return node.output.type.elements * node.input(0).shape[-1]

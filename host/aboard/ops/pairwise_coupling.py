"""pairwise_coupling: probabilities of classes from those of pairs of classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ops.registry import Op, register, require

Float32 = npt.NDArray[np.float32]

#: Iterations at most, and the error at which they end, which the number of classes divides.
MOST_ITERATIONS, ERROR = 100, 0.005


@dataclass(frozen=True)
class CouplingAttributes(Attributes):
    """Attributes of `pairwise_coupling`.

    Attributes:
        classes: At least 2.
    """

    classes: int = 2


@register
class PairwiseCoupling(Op):
    """From probabilities [..., pairs] of float32, each in (0, 1), to [..., classes].

    Pair (i, j), with i < j in lexical order, has the probability of class i where the class is i or j. The result is
    that of the second method of Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise
    coupling" (2004), in float32 and in the order of steps of onnxruntime, as the iteration ends before it converges.
    """

    name = "pairwise_coupling"
    attributes = CouplingAttributes
    types = (DType.FLOAT32,)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        return [TensorType((*node.input(0).shape[:-1], attributes(node).classes), DType.FLOAT32)]

    @override
    def verify(self, node: Node) -> None:
        """Checks type and shape.

        Raises:
            VerifyError: The operand is not float32, or has not one element for each pair of classes.
        """
        operand, count = node.input(0), attributes(node).classes
        pairs = count * (count - 1) // 2
        fits = operand.dtype is DType.FLOAT32 and count >= 2 and operand.shape[-1:] == (pairs,)
        require(fits, node, f"operand, got {operand.type}, expected float32 with {pairs} pairs of {count} classes")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        pairs, count = np.asarray(operands[0], np.float32), attributes(node).classes
        rows = [_coupled(row, count) for row in pairs.reshape(-1, pairs.shape[-1])]
        return [np.stack(rows).reshape(*pairs.shape[:-1], count)]


def attributes(node: Node) -> CouplingAttributes:
    """Returns the attributes of a `pairwise_coupling` node."""
    return cast(CouplingAttributes, node.attrs)


def _coupled(pairs: Float32, count: int) -> Float32:
    one = np.float32(1)
    r = np.zeros((count, count), np.float32)
    upper = np.triu_indices(count, 1)
    r[upper] = pairs
    r.T[upper] = one - pairs
    q = -r.T * r
    for i in range(count):
        q[i, i] = _sum(r[j, i] * r[j, i] for j in range(count) if j != i)
    p = np.full(count, one / np.float32(count), np.float32)
    for _ in range(MOST_ITERATIONS):
        products = np.array([_sum(q[i] * p) for i in range(count)], np.float32)
        total = _sum(p * products)
        if np.abs(products - total).max() < np.float32(ERROR) / np.float32(count):
            break
        for i in range(count):
            step = np.float32((total - products[i]) / q[i, i])
            p[i] += step
            grown = one + step
            total = (total + step * (step * q[i, i] + 2 * products[i])) / grown / grown
            products = (products + step * q[i]) / grown
            p /= grown
    return p


def _sum(values: Iterable[np.float32]) -> np.float32:
    """Returns the sum of numbers in their order, each step rounded."""
    total = np.zeros((), np.float32)
    for value in values:
        total = np.asarray(total + value, np.float32)
    rounded: np.float32 = np.float32(total)
    return rounded

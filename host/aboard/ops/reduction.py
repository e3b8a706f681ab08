"""Reductions: operators whose result has some axes of the operand no more, or with one element."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ops.axes import Order
from aboard.ops.registry import Op, SourceNode, require
from aboard.ops.uniform import types_problem


@dataclass(frozen=True)
class ReductionAttributes(Attributes):
    """Attributes of a reduction.

    Attributes:
        axes: Axes that go, ascending, not negative, each once.
        keep_dims: True when these axes stay in the result with an extent of 1.
    """

    axes: tuple[int, ...]
    keep_dims: bool = False


def attributes(node: Node) -> ReductionAttributes:
    """Returns the attributes of a reduction."""
    return cast(ReductionAttributes, node.attrs)


def count(node: Node) -> int:
    """Returns how many elements of the operand go into one of the result."""
    return math.prod(node.input(0).shape[axis] for axis in attributes(node).axes)


def columns(node: Node, operand: Array | None) -> Array:
    """Returns the operand with the elements that go into one of the result on the last axis, in the order of memory."""
    x, axes = np.asarray(operand), attributes(node).axes
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    ordered: Array = x.transpose(*kept, *axes)
    return ordered.reshape((*node.output.shape, count(node)))


def axes_problem(node: Node) -> str | None:
    """Returns what is wrong with the axes of a reduction, or None."""
    axes, rank = attributes(node).axes, len(node.input(0).shape)
    if list(axes) != sorted(set(axes)) or any(not 0 <= axis < rank for axis in axes):
        return f"axes, got {axes}, expected ascending numbers below {rank}"
    return None


class Reduction(Op):
    """What reductions share.

    Attributes:
        types: Element types of operand and result.
        plain_types: Integers without quantisation that TensorFlow Lite Micro does not reduce, and others do.
        plain_function: Reduces the last axis of numpy arrays of these types; integers wrap.
    """

    attributes = ReductionAttributes
    types: ClassVar[tuple[DType, ...]]
    plain_types: ClassVar[tuple[DType, ...]] = ()
    plain_function: ClassVar[np.ufunc | None] = None

    def is_plain(self, node: Node) -> bool:
        """True for integers of `plain_types` without quantisation."""
        tensors = (node.input(0), node.output)
        same = node.input(0).dtype is node.output.dtype and node.output.dtype in self.plain_types
        return same and all(tensor.type.quant is None for tensor in tensors)

    def plain(self, node: Node, operand: Array | None) -> list[Array]:
        """Computes a node for which `is_plain` is true."""
        if self.plain_function is None:
            raise NotImplementedError(f"{self.name}: has no plain integers")
        return [np.asarray(self.plain_function.reduce(columns(node, operand), axis=-1, dtype=node.output.dtype.numpy))]

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Reads the axes.

        Raises:
            ModelError: They are computed at run time or do not exist, or a type is not supported.
        """
        operand, rank = source.input(0), len(source.input(0).shape)
        given = source.integers(1)
        if any(not -rank <= axis < rank for axis in given):
            raise source.unsupported(
                f"axes, got {given}, expected numbers in [{-rank}, {rank - 1}]. Export the model again"
            )
        axes = tuple(sorted({axis % rank for axis in given}))
        node = source.node(self.name, [operand], ReductionAttributes(axes, bool(source.options["KeepDims"])))
        wrong = types_problem([operand, node.output], self.types) if self.is_plain(node) else self.problem(node)
        if wrong is not None:
            raise source.unsupported(wrong)
        return node

    def problem(self, node: Node) -> str | None:
        """Returns what is wrong with axes, types or quantisation, or None."""
        if self.is_plain(node):
            return axes_problem(node)
        wrong = axes_problem(node) or types_problem([node.input(0), node.output], self.types)
        if wrong is not None or node.output.type.quant is None:
            return wrong
        return self.quantisation_problem(node)

    @abstractmethod
    def quantisation_problem(self, node: Node) -> str | None:
        """Returns what is wrong with the two quantisations, or None."""

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the operand's type without the axes, or with an extent of 1."""
        attrs, operand = attributes(node), node.input(0)
        kept = [1 if axis in attrs.axes else size for axis, size in enumerate(operand.shape)]
        left = [size for axis, size in enumerate(operand.shape) if axis not in attrs.axes]
        return [TensorType(tuple(kept if attrs.keep_dims else left), operand.dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks what `problem` finds.

        Raises:
            VerifyError: Axes, types or quantisation are wrong.
        """
        wrong = self.problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def permuted(self, node: Node, order: Order) -> tuple[Attributes, Order] | None:
        attrs = attributes(node)
        reduced = tuple(sorted(order[axis] for axis in attrs.axes))
        moved = replace(attrs, axes=reduced)
        if attrs.keep_dims:
            return moved, order
        left = [axis for axis in range(len(order)) if axis not in reduced]
        return moved, tuple(left.index(axis) for axis in order if axis in left)

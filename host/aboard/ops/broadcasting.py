"""Base of the ops whose operands are broadcast together: an element of the result from one element of each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ops.registry import Op, SourceNode, require
from aboard.ops.uniform import quantization_problem

#: Elements of any type, with which numpy computes.
Numbers = npt.NDArray[Any]

#: Element types of the operands, and of the result.
Signature = tuple[tuple[DType, ...], DType]

#: Integers of all sizes.
WHOLE = (DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.UINT32, DType.INT64, DType.UINT64)


def alike(count: int, *types: DType) -> tuple[Signature, ...]:
    """Returns the signatures of an op with a number of operands whose result has their type."""
    return tuple(((dtype,) * count, dtype) for dtype in types)


class Broadcasting(Op):
    """An element-wise op whose operands are broadcast together.

    Attributes:
        signatures: Element types that the op is defined for.
        scaled: Types among them whose values are computed with scales: every tensor of such a type needs one scale.
        unscaled: Types that must have no quantisation: the reference refuses it or ignores it.
        plain_signatures: Element types without quantisation that TensorFlow Lite Micro does not compute, and others do.
        plain_function: The function of numpy arrays of these types; integers wrap.
    """

    elementwise = True
    signatures: ClassVar[tuple[Signature, ...]]
    scaled: ClassVar[tuple[DType, ...]] = ()
    unscaled: ClassVar[tuple[DType, ...]] = ()
    plain_signatures: ClassVar[tuple[Signature, ...]] = ()
    plain_function: ClassVar[Callable[..., Any] | None] = None

    @override
    def element_types(self) -> tuple[str, ...]:
        return tuple(_in_words(signature) for signature in self.signatures)

    def read(self, source: SourceNode) -> Attributes:
        """Returns the attributes that the operator's options stand for."""
        del source
        return Attributes()

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Returns the node.

        Raises:
            ModelError: Types, shapes, quantisation or options are not supported.
        """
        count = len(self.signatures[0][0])
        node = source.node(self.name, [source.input(index) for index in range(count)], self.read(source))
        wrong = self._types_problem(node) or self._shapes_problem(node) or self.quantisation_problem(node)
        if wrong is not None:
            raise source.unsupported(wrong)
        return node

    def problem(self, node: Node) -> str | None:
        """Returns what is wrong with types, shapes or quantisation, or None."""
        if self.is_plain(node):
            return self._shapes_problem(node)
        return self._types_problem(node) or self._shapes_problem(node) or self.quantisation_problem(node)

    def is_plain(self, node: Node) -> bool:
        """True for types of `plain_signatures`, without quantisation."""
        tensors = [*node.operands, node.output]
        return _signature(node) in self.plain_signatures and all(tensor.type.quant is None for tensor in tensors)

    def _shapes_problem(self, node: Node) -> str | None:
        shapes = [tensor.shape for tensor in node.operands]
        if broadcast_shape(*shapes) is not None:
            return None
        return (
            f"shapes, got {' and '.join(map(str, shapes))}, expected extents that are equal or 1, counted from the "
            "last. Export the model again"
        )

    def _types_problem(self, node: Node) -> str | None:
        signature = _signature(node)
        if signature in self.signatures:
            return None
        got = ", ".join(dtype.value for dtype in (*signature[0], signature[1]))
        return (
            f"element types, got {got}, expected {known_types(self.signatures)}. "
            "Convert the model to types that tflite-micro computes"
        )

    def quantisation_problem(self, node: Node) -> str | None:
        """Returns what is wrong with the quantisation of tensors of types that are known, or None."""
        tensors = [*node.operands, node.output]
        wrong = quantization_problem(tensor for tensor in tensors if tensor.dtype in self.scaled)
        if wrong is not None:
            return wrong
        quantised = next((t for t in tensors if t.dtype in self.unscaled and t.type.quant is not None), None)
        if quantised is not None:
            return (
                f"quantisation of {quantised.name}, got {quantised.type}, expected none for {quantised.dtype.value}. "
                "Export the model with plain integers"
            )
        return self.scaling_problem(node) if node.operands[0].dtype in self.scaled else None

    def scaling_problem(self, node: Node) -> str | None:
        """Returns what is wrong with the ratio of scales, or None."""
        del node
        return None

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the broadcast shape with the result's type."""
        shapes = [tensor.shape for tensor in node.operands]
        shape = broadcast_shape(*shapes)
        got = " and ".join(map(str, shapes))
        require(shape is not None, node, f"shapes, got {got}, expected extents that are equal or 1")
        return [TensorType(shape or (), node.output.dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks what `problem` finds.

        Raises:
            VerifyError: Types, shapes or quantisation are wrong.
        """
        wrong = self.problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        arrays = [np.asarray(operand) for operand in operands]
        with np.errstate(all="ignore"):
            plain = type(self).plain_function
            result = plain(*arrays) if plain is not None and self.is_plain(node) else self.compute(node, *arrays)
            return [np.asarray(result).astype(node.output.dtype.numpy, copy=False)]

    @abstractmethod
    def compute(self, node: Node, *operands: Numbers) -> Numbers:
        """Computes the result; integers of more bits than its type has wrap."""


def known_types(signatures: Sequence[Signature]) -> str:
    """Returns the element types of operands and results in words: one type where all have it."""
    return " or ".join(map(_in_words, signatures))


def _signature(node: Node) -> Signature:
    return tuple(tensor.dtype for tensor in node.operands), node.output.dtype


def _in_words(signature: Signature) -> str:
    operands, result = signature
    names = " and ".join(dtype.value for dtype in operands)
    return result.value if len({*operands, result}) == 1 else f"{names} to {result.value}"


def broadcast_shape(*shapes: Sequence[int]) -> tuple[int, ...] | None:
    """Returns the shape that operands have together by numpy's rules, or None where they do not fit."""
    try:
        return tuple(np.broadcast_shapes(*(tuple(shape) for shape in shapes)))
    except ValueError:
        return None

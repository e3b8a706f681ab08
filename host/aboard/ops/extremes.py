"""Reductions to one of the elements, or to its place: REDUCE_MAX, REDUCE_MIN, REDUCE_ALL, ARG_MAX, ARG_MIN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ops.axes import Order
from aboard.ops.broadcasting import WHOLE
from aboard.ops.reduction import Reduction, ReductionAttributes, axes_problem, columns
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.uniform import COMPUTED


@dataclass(frozen=True)
class ExtremeAttributes(ReductionAttributes):
    """Attributes of `reduce_max` and `reduce_min`.

    Attributes:
        knows_infinity: True if the extreme of infinite elements is infinite, as in ONNX; False for the type's largest
            finite number, as in TFLite.
    """

    knows_infinity: bool = False


def knows_infinity(node: Node) -> bool:
    """Returns `ExtremeAttributes.knows_infinity` of a node."""
    return isinstance(node.attrs, ExtremeAttributes) and node.attrs.knows_infinity


class _Extreme(Reduction):
    """The largest or smallest element. Operand and result have one quantisation; a NaN counts as no element.

    Attributes:
        sign: 1 for the largest, -1 for the smallest.
    """

    types = COMPUTED
    plain_types = WHOLE
    sign: ClassVar[int]

    @override
    def quantisation_problem(self, node: Node) -> str | None:
        before, after = node.input(0).type, node.output.type
        if before.quant != after.quant:
            return (
                f"quantisation of the result, got {after}, expected that of the operand {before}. TensorFlow Lite "
                "Micro does not rescale here; quantise the model again with one scale for both"
            )
        return None

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Computes the result, which begins as the type's end: so it is for elements that are all NaN or infinite."""
        if self.is_plain(node):
            return self.plain(node, operands[0])
        elements = columns(node, operands[0])
        dtype = node.output.dtype.numpy
        signed = elements.astype(np.float32 if node.output.dtype.is_float else np.int64) * self.sign
        finite = -np.inf if knows_infinity(node) else -np.finfo(np.float32).max
        least = finite if node.output.dtype.is_float else -np.iinfo(np.int32).max
        largest = np.max(np.where(np.isnan(signed), least, signed), axis=-1, initial=least)
        return [np.asarray(largest * self.sign).astype(dtype)]


@register
class ReduceMax(_Extreme):
    """The largest element over axes."""

    name = "reduce_max"
    selects = True
    tflite = ("REDUCE_MAX",)
    plain_function = np.maximum
    sign = 1


@register
class ReduceMin(_Extreme):
    """The smallest element over axes."""

    name = "reduce_min"
    selects = True
    tflite = ("REDUCE_MIN",)
    plain_function = np.minimum
    sign = -1


@register
class ReduceProd(Reduction):
    """The product over axes; float products are formed in the order of memory."""

    name = "reduce_prod"
    types = (DType.FLOAT32,)
    plain_types = WHOLE
    plain_function = np.multiply

    @override
    def quantisation_problem(self, node: Node) -> str | None:
        return None

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        if self.is_plain(node):
            return self.plain(node, operands[0])
        with np.errstate(over="ignore", invalid="ignore"):
            return [np.cumprod(columns(node, operands[0]).astype(np.float32), axis=-1)[..., -1]]


@register
class ReduceAll(Reduction):
    """True where all elements over axes are."""

    name = "reduce_all"
    tflite = ("REDUCE_ALL",)
    types = (DType.BOOL,)

    @override
    def problem(self, node: Node) -> str | None:
        """Returns what is wrong with axes or types, or None."""
        types = [node.input(0).dtype, node.output.dtype]
        if types != [DType.BOOL, DType.BOOL]:
            got = ", ".join(dtype.value for dtype in types)
            return f"element types, got {got}, expected bool for both. Compare in the model first"
        return axes_problem(node)

    @override
    def quantisation_problem(self, node: Node) -> str | None:
        return None

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        return [np.asarray(columns(node, operands[0]).all(axis=-1))]


@dataclass(frozen=True)
class PlaceAttributes(Attributes):
    """Attributes of `arg_max` and `arg_min`.

    Attributes:
        axis: Axis along which places are counted; not negative.
    """

    axis: int


class _ArgExtreme(Op):
    """The index of the first of the largest or smallest elements along an axis, as int32.

    A NaN is never larger or smaller: it is the result only where it is the first element.
    """

    attributes = PlaceAttributes
    types = COMPUTED
    sign: ClassVar[int]

    @override
    def element_types(self) -> tuple[str, ...]:
        return tuple(f"{dtype.value} to int32" for dtype in self.types)

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Reads the axis.

        Raises:
            ModelError: It is computed at run time or does not exist, or a type is not supported.
        """
        operand, axes = source.input(0), source.integers(1)
        rank = len(operand.shape)
        if len(axes) != 1 or not -rank <= axes[0] < rank:
            raise source.unsupported(
                f"axis, got {axes}, expected one number in [{-rank}, {rank - 1}]. Export the model again"
            )
        source.check_type(operand, self.types)
        result = source.outputs[0]
        if result.dtype is not DType.INT32:
            raise source.unsupported(
                f"element type of the result, got {result.dtype.value}, expected int32. TensorFlow Lite Micro computes "
                "no other; export the model with `output_type=tf.int32`"
            )
        return source.node(self.name, [operand], PlaceAttributes(axes[0] % rank))

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns int32 in the operand's shape without the axis."""
        axis, shape = place_attributes(node).axis, node.input(0).shape
        return [TensorType((*shape[:axis], *shape[axis + 1 :]), DType.INT32, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks axis and type.

        Raises:
            VerifyError: The axis does not exist, or no kernel compares elements of the type.
        """
        axis, operand = place_attributes(node).axis, node.input(0)
        require(0 <= axis < len(operand.shape), node, f"axis, got {axis}, expected less than {len(operand.shape)}")
        known = operand.dtype in self.types or operand.is_constant
        require(known, node, f"element type, got {operand.dtype.value}, expected int8 or float32")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        x, axis = np.asarray(operands[0]), place_attributes(node).axis
        signed = x.astype(np.float32 if node.input(0).dtype.is_float else np.int64) * self.sign
        numbers = np.where(np.isnan(signed), -np.inf, signed)
        place = np.where(np.isnan(np.take(signed, 0, axis)), 0, np.argmax(numbers, axis))
        return [np.asarray(place).astype(np.int32)]

    @override
    def permuted(self, node: Node, order: Order) -> tuple[Attributes, Order] | None:
        axis = place_attributes(node).axis
        kept = [other for place, other in enumerate(order) if place != axis]
        return PlaceAttributes(order[axis]), tuple(sorted(kept).index(other) for other in kept)


@register
class ArgMax(_ArgExtreme):
    """Where the largest element is."""

    name = "arg_max"
    tflite = ("ARG_MAX",)
    sign = 1


@register
class ArgMin(_ArgExtreme):
    """Where the smallest element is."""

    name = "arg_min"
    tflite = ("ARG_MIN",)
    sign = -1


def place_attributes(node: Node) -> PlaceAttributes:
    """Returns the attributes of an `arg_max` or `arg_min` node."""
    return cast(PlaceAttributes, node.attrs)

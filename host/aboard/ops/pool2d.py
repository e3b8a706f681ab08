"""Pooling over a window that slides over an image: average_pool2d, l2_pool2d and max_pool2d.

Operand and result are [batch, height, width, channels]. Padding is left out.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, cast

import numpy as np
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ir.numerics import Int64
from aboard.ops.activation import Activation
from aboard.ops.box import Box
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.unary import Float32
from aboard.ops.uniform import COMPUTED_WIDE, types_problem
from aboard.ops.window import Padding, output_size, padding_from_tflite, seen

#: Largest difference between scales of operand and result that count as equal, as in the reference.
_SCALE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class PoolAttributes(Attributes):
    """Attributes of the poolings.

    Attributes:
        window: Height and width of the window, in pixels.
        strides: Pixels from one window to the next (down, right).
        padding: Pixels around the operand, which are left out.
        activation: The activation of the result.
    """

    window: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    padding: Padding = field(default_factory=Padding)
    activation: Activation = Activation.NONE


def attributes(node: Node) -> PoolAttributes:
    """Returns the attributes of a pooling."""
    return cast(PoolAttributes, node.attrs)


def spans(node: Node, axis: int) -> list[tuple[int, int]]:
    """Returns the lines (axis 0) or columns (axis 1) [first, end) of the operand in each window."""
    attrs = attributes(node)
    before = attrs.padding.top if axis == 0 else attrs.padding.left
    size, outputs = node.input(0).shape[1 + axis], node.output.shape[1 + axis]
    starts = (index * attrs.strides[axis] - before for index in range(outputs))
    return [(max(start, 0), min(start + attrs.window[axis], size)) for start in starts]


class _Pool(Op):
    """The common part of all poolings.

    Attributes:
        types: Element types that the reference takes.
    """

    attributes = PoolAttributes
    types: ClassVar[tuple[DType, ...]] = COMPUTED_WIDE

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        shape = source.input(0).shape
        if len(shape) != 4:
            raise source.unsupported(
                f"rank of the operand, got {len(shape)}, expected 4. Export the model with a fixed input shape"
            )
        window = int(source.options["FilterHeight"]), int(source.options["FilterWidth"])
        strides = int(source.options["StrideH"]), int(source.options["StrideW"])
        padding = padding_from_tflite(source, (shape[1], shape[2]), window, strides)
        attrs = PoolAttributes(window, strides, padding, Activation.from_tflite(source))
        node = source.node(self.name, [source.input(0)], attrs)
        wrong = self.problem(node)
        if wrong is not None:
            raise source.unsupported(wrong)
        return node

    def problem(self, node: Node) -> str | None:
        """Returns the error in types, quantisation or window as text, or None."""
        operand, attrs = node.input(0), attributes(node)
        if len(operand.shape) != 4:
            return f"rank of the operand, got {len(operand.shape)}, expected 4"
        if min(*attrs.window, *attrs.strides) < 1:
            return f"window and strides, got {attrs.window} and {attrs.strides}, expected at least 1"
        if any(not 0 <= pad < size for pad, size in _pads(attrs)):
            return f"padding, got {attrs.padding}, expected less than the window of {attrs.window}"
        if min(self._size(node)) < 1:
            return f"window {attrs.window}, got an image of {operand.shape[1:3]}, expected a larger image"
        wrong = types_problem([operand, node.output], self.types)
        if wrong is not None or node.output.dtype.is_float:
            return wrong
        before, after = operand.quant, node.output.quant
        if before.zero_point != after.zero_point or abs(before.scale - after.scale) > _SCALE_TOLERANCE:
            return (
                f"quantisation of operand and result, got {operand.type} and {node.output.type}, expected the same. "
                "Insert a QUANTIZE"
            )
        return None

    def _size(self, node: Node) -> tuple[int, int]:
        attrs, (_, height, width, _) = attributes(node), node.input(0).shape
        return output_size((height, width), attrs.window, attrs.strides, attrs.padding)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        operand = node.input(0)
        require(len(operand.shape) == 4, node, f"rank of the operand, got {len(operand.shape)}, expected 4")
        shape = (operand.shape[0], *self._size(node), operand.shape[3])
        return [TensorType(shape, operand.dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        wrong = self.problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        x, result = np.asarray(operands[0]), np.empty(node.output.shape, node.output.dtype.numpy)
        for row, (top, bottom) in enumerate(spans(node, 0)):
            for col, (left, right) in enumerate(spans(node, 1)):
                pixels = x[:, top:bottom, left:right].reshape(x.shape[0], -1, x.shape[3])
                result[:, row, col] = self._window(node, pixels)
        return [result]

    @override
    def operand_boxes(self, node: Node, box: Box) -> list[Box | None] | None:
        """Returns the pixels in the windows, with the same channels."""
        found = self._seen(node, box)
        return None if found is None else [found[0]]

    @override
    def box_padding(self, node: Node, box: Box) -> tuple[int, int, int, int] | None:
        """Returns the padding of a part of the result; averages and maxima leave it out."""
        found = self._seen(node, box)
        return None if found is None else found[1].sides

    def _seen(self, node: Node, box: Box) -> tuple[Box, Padding] | None:
        attrs, (_, height, width, _) = attributes(node), node.input(0).shape
        return seen(box, (height, width), attrs.window, attrs.strides, attrs.padding)

    def _window(self, node: Node, pixels: Array) -> Array:
        activation = attributes(node).activation
        if node.output.dtype is DType.FLOAT32:
            low, high = activation.limits
            value = self.real(pixels.astype(np.float32))
            return np.clip(value, None if low is None else np.float32(low), None if high is None else np.float32(high))
        return np.clip(self.quantized(pixels.astype(np.int64)), *activation.range(node.output.quant, node.output.dtype))

    @abstractmethod
    def real(self, pixels: Float32) -> Float32:
        """Reduces float32 [batch, pixels, channels] over the pixels, before the activation."""

    def quantized(self, pixels: Int64) -> Int64:
        """Reduces integers [batch, pixels, channels] over the pixels; for ops whose `types` have integers."""
        raise NotImplementedError(f"{self.name}: has no integers")


@register
class AveragePool2d(_Pool):
    """Mean of the pixels of a window; integers are rounded to nearest, ties away from zero."""

    name = "average_pool2d"
    tflite = ("AVERAGE_POOL_2D",)

    @override
    def real(self, pixels: Float32) -> Float32:
        """Sums in order and divides."""
        total: Float32 = np.cumsum(pixels, axis=1, dtype=np.float32)[:, -1]
        average: Float32 = total / np.float32(pixels.shape[1])
        return average

    @override
    def quantized(self, pixels: Int64) -> Int64:
        """Sums, and divides with rounding."""
        count, total = pixels.shape[1], pixels.sum(axis=1)
        magnitude: Int64 = (np.abs(total) + count // 2) // count
        return np.where(total > 0, magnitude, -magnitude)


@register
class L2Pool2d(_Pool):
    """Square root of the mean of the squares of the pixels of a window."""

    name = "l2_pool2d"
    tflite = ("L2_POOL_2D",)
    types = (DType.FLOAT32,)

    @override
    def real(self, pixels: Float32) -> Float32:
        """Sums squares in order and divides."""
        with np.errstate(over="ignore"):
            total: Float32 = np.cumsum(pixels * pixels, axis=1, dtype=np.float32)[:, -1]
        root: Float32 = np.sqrt(total / np.float32(pixels.shape[1]))
        return root


@register
class MaxPool2d(_Pool):
    """Largest of the pixels of a window."""

    name = "max_pool2d"
    selects = True
    tflite = ("MAX_POOL_2D",)

    @override
    def real(self, pixels: Float32) -> Float32:
        """Takes the maximum of finite elements, as the reference does."""
        largest: Float32 = np.fmax.reduce(pixels, axis=1, initial=np.finfo(np.float32).min)
        return largest

    @override
    def quantized(self, pixels: Int64) -> Int64:
        largest: Int64 = pixels.max(axis=1)
        return largest


def _pads(attrs: PoolAttributes) -> list[tuple[int, int]]:
    pad, (height, width) = attrs.padding, attrs.window
    return [(pad.top, height), (pad.bottom, height), (pad.left, width), (pad.right, width)]

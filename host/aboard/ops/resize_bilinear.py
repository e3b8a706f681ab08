"""Resize by bilinear interpolation: every pixel of the result from the four pixels of the image around its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, TensorType
from aboard.ops.box import Box
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.uniform import COMPUTED

#: Bits of the fraction of a place in int8.
FRACTION_BITS = 10


@dataclass(frozen=True)
class ResizeBilinearAttributes(Attributes):
    """Attributes of `resize_bilinear`.

    Attributes:
        size: Rows and pixels of a row of the result.
        align_corners: The corner pixels of image and result lie on one another; else their corners do.
        half_pixel_centers: Pixels are taken at their centres, not at their upper left corners.
    """

    size: tuple[int, int]
    align_corners: bool
    half_pixel_centers: bool


@dataclass(frozen=True)
class Places:
    """Where the pixels of the result lie along one axis of the image.

    Attributes:
        low: Index before the place.
        high: Index after it, or `low`.
        fraction: How far the place is from `low`: float32, or integers of `FRACTION_BITS` bits; below 0 at the edge.
    """

    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]
    fraction: npt.NDArray[Any]


@register
class ResizeBilinear(Op):
    """A weighted mean of four pixels. In int8, places have 10 bits of fraction, and results are rounded away from 0."""

    name = "resize_bilinear"
    attributes = ResizeBilinearAttributes
    tflite = ("RESIZE_BILINEAR",)
    types = COMPUTED

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Reads size and options.

        Raises:
            ModelError: The size is computed at run time or below 1, the operand is not a batch of images of a supported
                type, or both options are set.
        """
        operand, size = source.input(0), source.integers(1)
        source.check_type(operand, self.types)
        if len(operand.shape) != 4 or len(size) != 2 or min(size) < 1:
            raise source.unsupported(
                f"operand and size, got {operand.shape} and {size}, expected an operand with four axes and two "
                "numbers from 1. Export the model again"
            )
        corners, centers = bool(source.options["AlignCorners"]), bool(source.options["HalfPixelCenters"])
        if corners and centers:
            raise source.unsupported(
                "options, got AlignCorners and HalfPixelCenters, expected one of them. Export the model again"
            )
        node = source.node(self.name, [operand], ResizeBilinearAttributes((size[0], size[1]), corners, centers))
        wrong = _places_problem(node)
        if wrong is not None:
            raise source.unsupported(wrong)
        return node

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the operand's type with the new size."""
        operand = node.input(0)
        shape = (*operand.shape[:1], *attributes(node).size, *operand.shape[3:])
        return [TensorType(shape, operand.dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks rank, type and size.

        Raises:
            VerifyError: The operand is no batch of images of a supported type, or a place is outside of it.
        """
        operand, size = node.input(0), attributes(node).size
        require(len(operand.shape) == 4, node, f"operand, got {len(operand.shape)} axes, expected 4")
        known = operand.dtype in self.types
        require(known, node, f"element type, got {operand.dtype.value}, expected int8 or float32")
        require(min(size) >= 1, node, f"size, got {size}, expected at least 1")
        wrong = _places_problem(node)
        require(wrong is None, node, wrong or "")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Computes the result, in the order of TFLite's `ResizeBilinear` and `ResizeBilinearInteger`."""
        rows, cols = places(node)
        is_float = node.output.dtype.is_float
        x: npt.NDArray[Any] = np.asarray(operands[0]).astype(np.float32 if is_float else np.int64)
        one: Any = np.float32(1) if is_float else np.int64(1 << FRACTION_BITS)
        dy, dx = rows.fraction[:, None, None], cols.fraction[:, None]
        upper, lower = x[:, rows.low], x[:, rows.high]
        total = upper[:, :, cols.low] * (one - dy) * (one - dx)
        total = total + lower[:, :, cols.low] * dy * (one - dx)
        total = total + upper[:, :, cols.high] * (one - dy) * dx
        total = total + lower[:, :, cols.high] * dy * dx
        if is_float:
            return [np.asarray(total, np.float32)]
        half = 1 << 2 * FRACTION_BITS - 1
        away = np.where(total > 0, (total + half) >> 2 * FRACTION_BITS, -((half - total) >> 2 * FRACTION_BITS))
        return [away.astype(np.int8)]

    @override
    def operand_boxes(self, node: Node, box: Box) -> list[Box | None] | None:
        """Returns the pixels around the places of a part of the result."""
        found = Box(box.start, box.stop)
        for axis, along in enumerate(places(node), start=1):
            part = slice(box.start[axis], box.stop[axis])
            found = found.on(axis, int(along.low[part].min()), int(along.high[part].max()) + 1)
        return [found]


def attributes(node: Node) -> ResizeBilinearAttributes:
    """Returns the attributes of a `resize_bilinear` node."""
    return cast(ResizeBilinearAttributes, node.attrs)


def places(node: Node) -> tuple[Places, Places]:
    """Returns where rows, and pixels of a row, of the result lie in the image."""
    attrs, (_, height, width, _) = attributes(node), node.input(0).shape
    along = _real_places if node.input(0).dtype is DType.FLOAT32 else _integer_places
    return along(height, attrs.size[0], attrs), along(width, attrs.size[1], attrs)


def _real_places(before: int, after: int, attrs: ResizeBilinearAttributes) -> Places:
    corners = attrs.align_corners and after > 1
    scale = np.float32(before - 1) / np.float32(after - 1) if corners else np.float32(before) / np.float32(after)
    index, half = np.arange(after, dtype=np.float32), np.float32(0.5)
    place = (index + half) * scale - half if attrs.half_pixel_centers else index * scale
    low = np.maximum(np.floor(place).astype(np.int64), 0)
    high = np.minimum(np.ceil(place).astype(np.int64), before - 1)
    return Places(low, high, (place - low.astype(np.float32)).astype(np.float32))


def _integer_places(before: int, after: int, attrs: ResizeBilinearAttributes) -> Places:
    one = 1 << FRACTION_BITS
    corners = attrs.align_corners and after > 1
    spans, steps = (before - 1, after - 1) if corners else (before, after)
    scale = (one * spans + steps // 2) // steps
    place = np.arange(after, dtype=np.int64) * scale
    if attrs.half_pixel_centers:
        place = place + scale // 2 - one // 2
    low = np.maximum(np.trunc(place / one).astype(np.int64), 0)
    high = np.minimum(np.trunc((place + one - 1) / one).astype(np.int64), before - 1)
    return Places(low, high, place - one * low)


def _places_problem(node: Node) -> str | None:
    """Returns why the reference would read beside the image, whose rounded scale goes beyond it, or None."""
    for axis, along in enumerate(places(node), start=1):
        extent = node.input(0).shape[axis]
        if int(along.low.max()) >= extent:
            return (
                f"size, got {attributes(node).size} for an image of {node.input(0).shape[1:3]}, expected places inside "
                "of it in steps of 1/1024 pixel. Use a smaller size"
            )
    return None

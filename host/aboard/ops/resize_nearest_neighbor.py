"""Resize by nearest neighbour: every pixel of the result is a pixel of the image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from aboard.ir import Array, Attributes, Node, TensorType
from aboard.ops.registry import Op, SourceNode, register, require
from aboard.ops.uniform import EVERY


@dataclass(frozen=True)
class ResizeNearestNeighborAttributes(Attributes):
    """Attributes of `resize_nearest_neighbor`.

    Attributes:
        size: Rows of the result, and pixels per row.
        align_corners: True to align the centres of corner pixels of image and result; False to align their outer
            corners.
        half_pixel_centers: True to sample pixels at their centres; False to sample at their upper left corners.
    """

    size: tuple[int, int]
    align_corners: bool
    half_pixel_centers: bool


@register
class ResizeNearestNeighbor(Op):
    """result[b, y, x] = operand[b, rows[y], cols[x]] with the indices of `nearest`."""

    name = "resize_nearest_neighbor"
    attributes = ResizeNearestNeighborAttributes
    tflite = ("RESIZE_NEAREST_NEIGHBOR",)
    moves_data = True
    types = EVERY

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Reads size and options.

        Raises:
            ModelError: The size is computed at run time or below 1, or the operand is not a batch of images.
        """
        operand = source.input(0)
        size = source.integers(1)
        if len(operand.shape) != 4 or len(size) != 2 or min(size) < 1:
            raise source.unsupported(
                f"operand and size, got {operand.shape} and {size}, expected an operand with four axes and two "
                "numbers from 1. Export the model again"
            )
        attrs = ResizeNearestNeighborAttributes(
            (size[0], size[1]), bool(source.options["AlignCorners"]), bool(source.options["HalfPixelCenters"])
        )
        return source.node(self.name, [operand], attrs)

    @override
    def infer(self, node: Node) -> list[TensorType]:
        operand = node.input(0)
        shape = (*operand.shape[:1], *attributes(node).size, *operand.shape[3:])
        return [TensorType(shape, operand.dtype, node.output.type.quant)]

    @override
    def verify(self, node: Node) -> None:
        """Checks rank and size.

        Raises:
            VerifyError: The operand has not four axes, or the size is below 1.
        """
        rank, size = len(node.input(0).shape), attributes(node).size
        require(rank == 4, node, f"operand, got {rank} axes, expected 4")
        require(min(size) >= 1, node, f"size, got {size}, expected at least 1")

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        rows, cols = indices(node)
        return [np.ascontiguousarray(np.asarray(operands[0])[:, rows][:, :, cols])]


def attributes(node: Node) -> ResizeNearestNeighborAttributes:
    """Returns the attributes of a `resize_nearest_neighbor` node."""
    return cast(ResizeNearestNeighborAttributes, node.attrs)


def indices(node: Node) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns for each row, and for each pixel of a row, of the result its index in the image."""
    attrs, (_, height, width, _) = attributes(node), node.input(0).shape
    return (
        nearest(height, attrs.size[0], attrs.align_corners, attrs.half_pixel_centers),
        nearest(width, attrs.size[1], attrs.align_corners, attrs.half_pixel_centers),
    )


def nearest(before: int, after: int, align_corners: bool, half_pixel_centers: bool) -> npt.NDArray[np.int64]:
    """Returns the index in the image for each index in the result, along one axis.

    Computed in float32, in the order of TFLite's `GetNearestNeighbor`, so that ties and rounding errors are equal.

    Args:
        before: Pixels of the image along the axis.
        after: Pixels of the result along the axis.
        align_corners: As in `ResizeNearestNeighborAttributes`.
        half_pixel_centers: As in `ResizeNearestNeighborAttributes`.
    """
    corners = align_corners and after > 1
    scale = np.float32(before - 1) / np.float32(after - 1) if corners else np.float32(before) / np.float32(after)
    offset = np.float32(0.5 if half_pixel_centers else 0.0)
    position = (np.arange(after, dtype=np.float32) + offset) * scale
    whole = np.floor(position.astype(np.float64) + 0.5) if align_corners else np.floor(position)
    index: npt.NDArray[np.int64] = np.clip(whole.astype(np.int64), 0, before - 1)
    return index

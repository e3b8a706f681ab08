"""Conditions of the layers that move, compare or convert elements; each returns why the NPU does not take a node."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from aboard.ir import DType, Node
from aboard.ops.extremes import PlaceAttributes
from aboard.ops.resize_bilinear import ResizeBilinearAttributes
from aboard.ops.strided_slice import StridedSliceAttributes
from aboard.ops.transpose import TransposeAttributes
from aboard_ethos_u import conditions, elements

#: Most channels of which the NPU finds the largest.
_CHANNELS = 127
#: Factors by which an image may grow.
_FACTORS = (2, 4, 8)


def extremes(node: Node) -> str | None:
    """Takes operands of the result's scale and zero point."""
    if any(tensor.type.quant != node.output.type.quant for tensor in node.operands):
        return "operands and result differ in scale or zero point"
    return elements.arithmetic(node)


def conversion(node: Node) -> str | None:
    """Takes conversions within and between int8 and int16."""
    return conditions.common(node, elements.WORDS)


def piece(node: Node) -> str | None:
    """Takes slices of images, with gaps between rows and columns."""
    strides = tuple(part.stride for part in cast(StridedSliceAttributes, node.attrs).slices)
    if min(strides) < 1 or len(strides) != 4 or strides[3] != 1:
        return f"strides, got {strides}, expected positive ones, and 1 for channels"
    return _four(node) or conditions.common(node)


def place(node: Node) -> str | None:
    """Takes the number of the largest channel of each pixel."""
    attrs, shape = cast(PlaceAttributes, node.attrs), node.input(0).shape
    if attrs.axis != len(shape) - 1 or shape[-1] > _CHANNELS:
        return f"axis {attrs.axis} of {shape}, expected the last one, of at most {_CHANNELS} channels"
    if len(shape) != 4 or shape[0] != 1 or node.output.dtype is not DType.INT32:
        return f"{node.output.dtype.value} for {shape}, expected int32 for an image of one sample"
    return conditions.common(replace(node, outputs=[]))


def parts(node: Node) -> str | None:
    """Takes images that are cut along one axis."""
    return _four(node) or conditions.common(node)


def turn(node: Node) -> str | None:
    """Takes images whose first axis stays."""
    if cast(TransposeAttributes, node.attrs).order[0] != 0:
        return "moves the axis of samples"
    return _four(node) or conditions.common(node)


def resize(node: Node) -> str | None:
    """Takes images that grow by the same power of two along both axes."""
    attrs = cast(ResizeBilinearAttributes, node.attrs)
    before, after = node.input(0).shape[1:3], node.output.shape[1:3]
    if attrs.align_corners:
        before, after = tuple(n - 1 for n in before), tuple(n - 1 for n in after)
    factors = {result / image for image, result in zip(before, after, strict=True) if image}
    if len(factors) != 1 or 0 in before or not factors <= set(_FACTORS):
        return f"grows {before} to {after}, expected both axes by one of {_FACTORS}"
    if attrs.half_pixel_centers and factors != {2}:
        return f"grows by {factors.pop():g} between the centres of pixels, expected 2"
    return conditions.common(node)


def image(node: Node) -> str | None:
    """Takes a reshape from or to an image of one sample."""
    shapes = node.input(0).shape, node.output.shape
    if not any(len(shape) == 4 and shape[0] == 1 for shape in shapes):
        return f"shapes, got {shapes[0]} and {shapes[1]}, expected an image of one sample"
    return None


def _four(node: Node) -> str | None:
    ranks = {len(tensor.shape) for tensor in (node.input(0), *node.outputs)}
    return None if ranks == {4} else f"axes, got {sorted(ranks)}, expected 4"

"""Conditions of the layers that the NPU computes bit for bit like the reference: Vela's own, and narrower ones.

Each function returns why the NPU does not take a node, or None. What Vela accepts and the reference computes otherwise
is not taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aboard.ir import DType, Node, Tensor
from aboard.ops import conv2d, fully_connected, pool2d
from aboard.ops.window import Padding, reach, same

#: Largest extents: of a tensor, of a window with its dilation, of its area.
EXTENT, WINDOW, _AREA = 65536, 64, 64 * 64
_STRIDE = 3
#: Largest sum of the magnitudes of an output's weights.
WEIGHTS = 127 * 65536
#: Largest windows of poolings, with padding and without.
_PADDED_POOL, _POOL = 8, 256


def common(node: Node, types: Sequence[DType] = (DType.INT8,)) -> str | None:
    """Returns why the tensors of a node are none that the NPU reads and writes, or None."""
    for tensor in (*node.operands, *node.outputs):
        if tensor.is_constant:
            continue
        if tensor.dtype not in types:
            return f"{tensor.dtype.value} of {tensor.name}, expected {' or '.join(t.value for t in types)}"
        if tensor.type.quant is None or tensor.quant.per_channel:
            return f"quantisation of {tensor.name}, expected one scale and zero point"
        if not tensor.shape or max(tensor.shape) > EXTENT or len(tensor.shape) > 4:
            return f"shape of {tensor.name}, got {tensor.shape}, expected 1 to 4 extents of at most {EXTENT}"
        if len(tensor.shape) == 4 and tensor.shape[0] != 1:
            return f"batch of {tensor.name}, got {tensor.shape[0]}, expected 1"
    return None


def convolution(node: Node) -> str | None:
    """Takes convolutions without groups."""
    channels, of_weights = node.input(0).shape[3], node.input(1).shape[3]
    if channels != of_weights:
        return f"groups, got {channels // of_weights}, expected 1"
    return _windowed(node) or _weights(node.input(1), 0) or common(node)


def depthwise(node: Node) -> str | None:
    """Takes one input channel, or as many inputs as outputs."""
    channels, outputs = node.input(0).shape[3], node.output.shape[3]
    if channels not in (1, outputs):
        return f"channels, got {channels} to {outputs}, expected one input, or as many as outputs"
    return _windowed(node) or _weights(node.input(1), 3) or common(node)


def _windowed(node: Node) -> str | None:
    attrs = conv2d.attributes(node)
    size = conv2d.window(node)
    extents = tuple(reach(length, step) for length, step in zip(size, attrs.dilations, strict=True))
    if max(attrs.strides) > _STRIDE:
        return f"strides, got {attrs.strides}, expected at most {_STRIDE}"
    if max(extents) > WINDOW or math.prod(extents) > _AREA:
        return f"window with its dilation, got {extents}, expected at most {WINDOW}x{WINDOW}"
    return None


def _weights(weights: Tensor, axis: int) -> str | None:
    if weights.data is None:
        return "weights are computed, expected constants"
    if weights.quant.zero_points and any(weights.quant.zero_points):
        return "zero point of the weights, expected 0"
    sums = np.abs(np.moveaxis(weights.data, axis, 0).astype(np.int64)).reshape(weights.shape[axis], -1).sum(axis=1)
    largest = int(sums.max(initial=0))
    return f"sum of weights, got {largest}, expected at most {WEIGHTS}" if largest > WEIGHTS else None


def product(node: Node) -> str | None:
    """Takes constant weights, and samples in one dimension."""
    rows = node.output.type.elements // node.output.shape[-1]
    if rows > 1 and fully_connected.attributes(node).keep_dims and len(node.input(0).shape) > 2:
        return f"samples in several dimensions, got {node.input(0).shape}, expected two dimensions"
    return _weights(node.input(1), 0) or common(node)


def pooling(node: Node) -> str | None:
    """Takes poolings that keep scale and zero point."""
    attrs = pool2d.attributes(node)
    padding: Padding = attrs.padding
    largest = _PADDED_POOL if padding.any else _POOL
    if max(attrs.strides) > _STRIDE and (attrs.window != node.input(0).shape[1:3]):
        return f"strides, got {attrs.strides}, expected at most {_STRIDE}"
    if max(attrs.window) > largest:
        return f"window, got {attrs.window}, expected at most {largest}x{largest}"
    size = node.input(0).shape[1], node.input(0).shape[2]
    if padding.any and padding != same(size, attrs.window, attrs.strides, (1, 1)):
        return f"padding, got {padding.sides}, expected that of SAME"
    if node.input(0).quant != node.output.quant:
        return "the pooling changes scale or zero point"
    return common(node)


def concatenation(node: Node) -> str | None:
    """Takes computed operands of the result's scale and zero point."""
    if any(tensor.type.quant != node.output.type.quant for tensor in node.operands):
        return "the operands differ in scale or zero point"
    if any(tensor.is_constant for tensor in node.operands):
        return "a constant operand"
    return common(node)

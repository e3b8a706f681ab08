"""Layers that CMSIS-NN computes bit for bit like the reference: int8, one call each."""

from __future__ import annotations

import math

import numpy as np

from aboard.backends.cmsis_nn.geometry import of_convolution
from aboard.ir import DType, Node
from aboard.ops import conv2d, depthwise_conv2d, fully_connected, weighted
from aboard.ops.window import reach
from aboard.partition.pattern import (
    DevicePattern,
    NodePredicate,
    OpPattern,
    any_tensor,
    constant,
    constant_or_absent,
    op,
)
from aboard.target import Target

#: Largest number of channels for which arm_softmax_s8 shifts by less than 32 bits, which depends on the sum of powers.
_SOFTMAX_CHANNELS = 511

#: Largest extent of a tensor, and of products per output: the library counts some in 16 bits.
_EXTENT = 32767


def patterns(_target: Target) -> tuple[DevicePattern, ...]:
    """Returns the patterns; they are the same for every target."""
    return (
        DevicePattern("convolve_s8", _layer("conv2d", _conv_problem)),
        DevicePattern("depthwise_conv_s8", _layer("depthwise_conv2d", _depthwise_problem)),
        DevicePattern("fully_connected_s8", _layer("fully_connected", _product_problem)),
        DevicePattern("avgpool_s8", op("average_pool2d", dtype=DType.INT8, where=_int8_problem, name="layer")),
        DevicePattern("max_pool_s8", op("max_pool2d", dtype=DType.INT8, where=_int8_problem, name="layer")),
        DevicePattern("softmax_s8", op("softmax", dtype=DType.INT8, where=_softmax_problem, name="layer")),
        DevicePattern("elementwise_add_s8", op("add", dtype=DType.INT8, where=_elementwise_problem, name="layer")),
        DevicePattern("elementwise_mul_s8", op("mul", dtype=DType.INT8, where=_elementwise_problem, name="layer")),
    )


def _layer(name: str, where: NodePredicate) -> OpPattern:
    operands = (any_tensor(), constant(DType.INT8), constant_or_absent(DType.INT32))
    return op(name, *operands, dtype=DType.INT8, where=where, name="layer")


def _int8_problem(node: Node) -> str | None:
    got = node.input(0).dtype
    if got is not DType.INT8:
        return f"input, got {got.value}, expected int8"
    largest = max(extent for tensor in (node.input(0), node.output) for extent in tensor.shape)
    return f"sizes, got {largest}, expected at most {_EXTENT}" if largest > _EXTENT else None


def _conv_problem(node: Node) -> str | None:
    window = of_convolution(node)
    if not window.is_dense and (window.is_1x1 or window.is_1xn):
        # The library's wrapper and its buffer size function disagree on the path of these layers.
        got = window.channels // window.depth
        return f"groups with a window of {window.taps.h}x{window.taps.w}, got {got}, expected 1"
    return _window_problem(node, conv2d.AXIS)


def _depthwise_problem(node: Node) -> str | None:
    return _window_problem(node, depthwise_conv2d.AXIS)


def _window_problem(node: Node, axis: int) -> str | None:
    """Returns why the library's rules for windows do not hold: it derives padding below and on the right from sizes."""
    attrs = conv2d.attributes(node)
    size = conv2d.window(node)
    before = attrs.padding.top, attrs.padding.left
    if any(pad >= reach(length, step) for pad, length, step in zip(before, size, attrs.dilations, strict=True)):
        return f"padding, got {before}, expected less than the window {size}"
    products = math.prod(node.input(1).shape[1:]) if axis == conv2d.AXIS else math.prod(size)
    if products > _EXTENT:
        return f"products of an output, got {products}, expected at most {_EXTENT}"
    return _int8_problem(node) or _sums_problem(node, axis)


def _product_problem(node: Node) -> str | None:
    inputs = node.input(1).shape[1]
    if inputs > _EXTENT:
        return f"products of an output, got {inputs}, expected at most {_EXTENT}"
    return _int8_problem(node) or _sums_problem(node, fully_connected.AXIS)


def _sums_problem(node: Node, axis: int) -> str | None:
    """Returns why sums may exceed 32 bits, before or after a shift: the reference wraps, the library is undefined."""
    weights, bias = node.input(weighted.WEIGHTS).data, node.optional_input(weighted.BIAS)
    if weights is None:
        return "weights are computed, expected constants"
    of_channel = np.abs(np.moveaxis(weights, axis, 0).astype(np.int64)).reshape(weights.shape[axis], -1).sum(axis=1)
    zero_point = node.input(0).quant.zero_point
    most = of_channel * max(127 - zero_point, zero_point + 128)
    if bias is not None and bias.data is not None:
        most = most + np.abs(bias.data.astype(np.int64)).reshape(-1)
    _, shift = weighted.multipliers(node, axis)
    largest = int((most << np.maximum(shift, 0)).max())
    return None if largest < 2**31 else f"sums before rescaling, got up to {largest}, expected less than 2^31"


def _softmax_problem(node: Node) -> str | None:
    channels = node.output.shape[-1]
    if channels > _SOFTMAX_CHANNELS:
        return f"channels, got {channels}, expected at most {_SOFTMAX_CHANNELS}"
    return _int8_problem(node)


def _elementwise_problem(node: Node) -> str | None:
    first, second = node.input(0), node.input(1)
    if first.shape != second.shape:
        return f"shapes, got {first.shape} and {second.shape}, expected equal ones"
    got = first.dtype
    return None if got is DType.INT8 else f"input, got {got.value}, expected int8"

"""What CMSIS-NN computes bit for bit as the reference does: int8 layers, one call each."""

from __future__ import annotations

from aboard.ir import DType, Node
from aboard.ops.conv2d import attributes
from aboard.partition.pattern import DevicePattern, NodePredicate, Op, any_tensor, constant, constant_or_absent, op
from aboard.target import Target

#: Largest number of channels for which arm_softmax_s8 keeps its sums within 32 bits.
_SOFTMAX_CHANNELS = 4096


def patterns(target: Target) -> tuple[DevicePattern, ...]:
    """Returns the patterns; they are the same for every target."""
    del target
    return (
        DevicePattern("convolve_s8", _layer("conv2d", _conv_problem)),
        DevicePattern("depthwise_conv_s8", _layer("depthwise_conv2d", _depthwise_problem)),
        DevicePattern("fully_connected_s8", _layer("fully_connected", _int8_problem)),
        DevicePattern("avgpool_s8", op("average_pool2d", dtype=DType.INT8, where=_int8_problem, name="layer")),
        DevicePattern("max_pool_s8", op("max_pool2d", dtype=DType.INT8, where=_int8_problem, name="layer")),
        DevicePattern("softmax_s8", op("softmax", dtype=DType.INT8, where=_softmax_problem, name="layer")),
        DevicePattern("elementwise_add_s8", op("add", dtype=DType.INT8, where=_elementwise_problem, name="layer")),
        DevicePattern("elementwise_mul_s8", op("mul", dtype=DType.INT8, where=_elementwise_problem, name="layer")),
    )


def _layer(name: str, where: NodePredicate) -> Op:
    operands = (any_tensor(), constant(DType.INT8), constant_or_absent(DType.INT32))
    return op(name, *operands, dtype=DType.INT8, where=where, name="layer")


def _int8_problem(node: Node) -> str | None:
    got = node.input(0).dtype
    return None if got is DType.INT8 else f"input, got {got.value}, expected int8"


def _conv_problem(node: Node) -> str | None:
    channels, of_weights = node.input(0).shape[3], node.input(1).shape[3]
    if channels != of_weights:
        return f"groups, got {channels // of_weights}, expected 1"
    return _padding_problem(node)


def _depthwise_problem(node: Node) -> str | None:
    batch = node.input(0).shape[0]
    return f"batch, got {batch}, expected 1" if batch != 1 else _padding_problem(node)


def _padding_problem(node: Node) -> str | None:
    """The library pads at the top and on the left; what is missing at the other ends follows from the sizes."""
    attrs = attributes(node)
    size = node.input(1).shape[1:3]
    before = attrs.padding.top, attrs.padding.left
    if any(pad >= (length - 1) * step + 1 for pad, length, step in zip(before, size, attrs.dilations, strict=True)):
        return f"padding, got {before}, expected less than the window {size}"
    return _int8_problem(node)


def _softmax_problem(node: Node) -> str | None:
    channels = node.output.shape[-1]
    if channels > _SOFTMAX_CHANNELS:
        return f"channels, got {channels}, expected at most {_SOFTMAX_CHANNELS}"
    return _int8_problem(node)


def _elementwise_problem(node: Node) -> str | None:
    first, second = node.input(0), node.input(1)
    if first.shape != second.shape:
        return f"shapes, got {first.shape} and {second.shape}, expected equal ones"
    return _int8_problem(node)

"""What the versions of the device can compute."""

from __future__ import annotations

from aboard.ir import DType, Node
from aboard.ops.conv2d import attributes, window
from aboard.partition.pattern import (
    DevicePattern,
    NodePredicate,
    OpPattern,
    any_tensor,
    chain,
    constant,
    constant_or_absent,
    op,
    optional,
)
from aboard.target import Target
from npu_demo import packing

#: Registers and commands hold sizes in 16 bits.
MOST = (1 << 16) - 1


def patterns(target: Target) -> tuple[DevicePattern, ...]:
    """Returns the patterns of a version."""
    return _v1() if target.get("model") == "v1" else _v2()


def _v1() -> tuple[DevicePattern, ...]:
    return (
        DevicePattern("pointwise", _layer("conv2d", _is_pointwise)),
        DevicePattern("product", _layer("fully_connected", _is_saturated)),
    )


def _v2() -> tuple[DevicePattern, ...]:
    activation = optional(op("relu", "relu6", where=_same_scale, name="activation"))
    return (
        DevicePattern("convolution", chain(_layer("conv2d", _is_convolution), activation)),
        DevicePattern("depthwise", chain(_layer("depthwise_conv2d", _is_depthwise), activation)),
        DevicePattern("product", chain(_layer("fully_connected", _fits), activation)),
    )


def _layer(name: str, where: NodePredicate) -> OpPattern:
    operands = (any_tensor(), constant(DType.INT8), constant_or_absent(DType.INT32))
    return op(name, *operands, dtype=DType.INT8, where=where, name="layer")


def _is_pointwise(node: Node) -> str | None:
    attrs = attributes(node)
    if window(node) != (1, 1) or attrs.strides != (1, 1) or attrs.padding.any:
        return f"window, got {_times(window(node))} at strides {attrs.strides}, expected 1x1 at (1, 1)"
    return _groups(node) or _is_saturated(node)


def _is_saturated(node: Node) -> str | None:
    """V1 has no activation: what goes beyond int8 is cut off, and no more."""
    low, high = packing.activation(node).range(node.output.quant)
    if (low, high) != (-128, 127):
        return f"activation, got a result of {low} to {high}, expected -128 to 127"
    return _fits(node)


def _is_convolution(node: Node) -> str | None:
    if window(node) not in ((1, 1), (3, 3)):
        return f"window, got {_times(window(node))}, expected 1x1 or 3x3"
    return _groups(node) or _geometry(node)


def _is_depthwise(node: Node) -> str | None:
    channels, outputs = node.input(0).shape[3], node.output.shape[3]
    if window(node) != (3, 3) or channels != outputs:
        return f"window, got {_times(window(node))} of {channels} to {outputs} channels, expected 3x3 of equally many"
    return _geometry(node)


def _geometry(node: Node) -> str | None:
    attrs = attributes(node)
    if attrs.dilations != (1, 1):
        return f"dilations, got {attrs.dilations}, expected (1, 1)"
    if max(attrs.strides) > 255 or max(attrs.padding.sides) >= max(window(node)):
        return f"strides and padding, got {attrs.strides} and {attrs.padding.sides}, expected padding below the window"
    return _fits(node)


def _groups(node: Node) -> str | None:
    channels, of_weights = node.input(0).shape[3], node.input(1).shape[3]
    return None if channels == of_weights else f"groups, got {channels // of_weights}, expected 1"


def _fits(node: Node) -> str | None:
    got = node.input(0).dtype
    if got is not DType.INT8:
        return f"input, got {got.value}, expected int8"
    inner = node.input(1).shape[-1]
    rows = node.output.type.elements // node.output.shape[-1]
    largest = max(inner, node.output.shape[-1], rows if node.op == "fully_connected" else 0, *node.output.shape[1:])
    return None if largest <= MOST else f"size, got {largest}, expected at most {MOST}"


def _same_scale(node: Node) -> str | None:
    return None if node.input(0).type == node.output.type else "the activation changes scale or zero point"


def _times(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"

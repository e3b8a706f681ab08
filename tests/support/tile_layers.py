"""Random layers to be cut into tiles, as matches of a device's pattern."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from aboard.ir import Attributes, DType, Node, Quantization, Tensor, TensorType
from aboard.ops.activation import Activation
from aboard.ops.arithmetic import ArithmeticAttributes
from aboard.ops.conv2d import ConvAttributes
from aboard.ops.fully_connected import FullyConnectedAttributes
from aboard.ops.pool2d import PoolAttributes
from aboard.ops.subgraph import Matched
from aboard.ops.window import Padding, output_size

IN, OUT = Quantization((0.05,), (3,)), Quantization((0.09,), (-7,))


def int8(name: str, shape: tuple[int, ...], quant: Quantization = OUT) -> Tensor:
    return Tensor(name, TensorType(shape, DType.INT8, quant))


def weights(shape: tuple[int, ...], axis: int) -> Tensor:
    rng = np.random.default_rng(7)
    channels = shape[axis]
    scales = tuple(float(np.float32(s)) for s in rng.uniform(0.002, 0.03, channels))
    quant = Quantization(scales, (0,) * channels, axis)
    return Tensor("w", TensorType(shape, DType.INT8, quant), rng.integers(-127, 128, shape).astype(np.int8))


def bias(channels: int) -> Tensor:
    data = np.random.default_rng(8).integers(-900, 900, channels).astype(np.int32)
    return Tensor("b", TensorType((channels,), DType.INT32), data)


@dataclass(frozen=True)
class Window:
    """How a window moves."""

    size: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    padding: Padding = field(default_factory=Padding)
    dilations: tuple[int, int] = (1, 1)


def conv(shape: tuple[int, ...], outputs: int, window: Window, *, groups: int = 1, with_bias: bool = True) -> Node:
    """Returns a conv2d."""
    w = weights((outputs, *window.size, shape[3] // groups), 0)
    return _convolution("conv2d", shape, w, outputs, window, with_bias)


def depthwise(shape: tuple[int, ...], multiplier: int, window: Window, *, with_bias: bool = True) -> Node:
    """Returns a depthwise_conv2d."""
    channels = shape[3] * multiplier
    w = weights((1, *window.size, channels), 3)
    return _convolution("depthwise_conv2d", shape, w, channels, window, with_bias)


def _convolution(op: str, shape: tuple[int, ...], w: Tensor, channels: int, window: Window, with_bias: bool) -> Node:
    size = output_size((shape[1], shape[2]), window.size, window.strides, window.padding, window.dilations)
    attrs = ConvAttributes(window.strides, window.padding, window.dilations, Activation.RELU6)
    operands: list[Tensor | None] = [int8("x", shape, IN), w, bias(channels) if with_bias else None]
    return Node(op, "layer", operands, [int8("y", (shape[0], *size, channels))], attrs)


def dense(shape: tuple[int, ...], outputs: int, *, keep: bool = False, with_bias: bool = True) -> Node:
    """Returns a fully_connected: samples of the last dimension when `keep`, else one for each first index."""
    inner = shape[-1] if keep else int(np.prod(shape[1:]))
    result = (*shape[:-1], outputs) if keep else (shape[0], outputs)
    operands: list[Tensor | None] = [int8("x", shape, IN), weights((outputs, inner), 0)]
    operands += [bias(outputs)] if with_bias else []
    attrs = FullyConnectedAttributes(Activation.NONE, keep)
    return Node("fully_connected", "layer", operands, [int8("y", result)], attrs)


def pool(op: str, shape: tuple[int, ...], window: Window) -> Node:
    """Returns an average_pool2d or max_pool2d."""
    size = output_size((shape[1], shape[2]), window.size, window.strides, window.padding)
    attrs = PoolAttributes(window.size, window.strides, window.padding)
    return Node(op, "layer", [int8("x", shape)], [int8("y", (shape[0], *size, shape[3]))], attrs)


def add(shape: tuple[int, ...], other: tuple[int, ...]) -> Node:
    """Returns an add of a tensor and another that is broadcast into it."""
    operands: list[Tensor | None] = [int8("x", shape, IN), int8("z", other)]
    return Node("add", "layer", operands, [int8("y", shape)], ArithmeticAttributes())


def with_relu(node: Node) -> Matched:
    """Returns a match of a layer and the relu behind it."""
    shape = node.output.shape
    relu = Node("relu", "relu", [node.output], [int8("r", shape)], Attributes())
    return Matched("layer", (node, relu), {"layer": node})


def with_residual(node: Node) -> Matched:
    """Returns a match of a layer and a sum of its result with its operand, whose shapes are equal."""
    total = Node("add", "sum", [node.output, node.input(0)], [int8("s", node.output.shape)], ArithmeticAttributes())
    return Matched("layer", (node, total), {"layer": node})


@st.composite
def windows(draw: st.DrawFn, size: tuple[int, int], *, dilated: bool = True, most: int = 3) -> Window:
    """Draws a window that fits an image with its padding.

    Args:
        draw: Of hypothesis.
        size: Of the image.
        dilated: Whether there may be pixels between taps.
        most: Largest window; strides and dilations grow with it.
    """
    large = most > 3
    dilations = tuple(draw(st.integers(1, 3 if large else 2)) if dilated else 1 for _ in size)
    taps = tuple(draw(st.integers(1, min(most, (n - 1) // d + 1))) for n, d in zip(size, dilations, strict=True))
    padding = Padding(*(draw(st.integers(0, extent - 1)) for extent in (*taps, *taps)))
    strides = draw(st.integers(1, 4 if large else 3)), draw(st.integers(1, 4 if large else 3))
    return Window(taps, strides, padding, dilations)


@st.composite
def nodes(draw: st.DrawFn, most: int = 3) -> Node:
    """Draws a layer; `most` is the largest window."""
    kind = draw(st.sampled_from(["conv2d", "conv2d", "depthwise_conv2d", "fully_connected", "pool", "add"]))
    rows, cols = (draw(st.integers(5, top + 2 * (most - 3))) for top in (9, 8))
    channels = draw(st.integers(1, 6) if most == 3 else st.integers(1, 6) | st.sampled_from([16, 33, 64, 70]))
    shape = (draw(st.integers(1, 2)), rows, cols, channels)
    with_bias = draw(st.booleans())
    if kind == "conv2d":
        groups = draw(st.sampled_from([g for g in (1, 2, 3) if shape[3] % g == 0]))
        outputs = groups * draw(st.integers(1, 12 // groups))
        return conv(shape, outputs, draw(windows((rows, cols), most=most)), groups=groups, with_bias=with_bias)
    if kind == "depthwise_conv2d":
        window = draw(windows((rows, cols), most=most))
        return depthwise(shape, draw(st.integers(1, 2)), window, with_bias=with_bias)
    if kind == "fully_connected":
        shape = draw(st.sampled_from([shape, (shape[1], 30), (1, shape[1], 30)]))
        return dense(shape, draw(st.integers(1, 40)), keep=draw(st.booleans()), with_bias=with_bias)
    if kind == "pool":
        window = draw(windows((rows, cols), dilated=False, most=most))
        return pool(draw(st.sampled_from(["average_pool2d", "max_pool2d"])), shape, window)
    return add(shape, draw(st.sampled_from([shape, (shape[3],), (1, shape[1], 1, shape[3]), ()])))


@st.composite
def matches(draw: st.DrawFn) -> Matched:
    """Draws a match: a layer, alone, with a relu behind it, or with a sum of its result and its operand."""
    node = draw(nodes(draw(st.sampled_from([3, 3, 9]))))
    shapes = node.input(0).shape == node.output.shape
    form = draw(st.sampled_from(["alone", "relu", "residual"] if shapes else ["alone", "relu"]))
    if form == "alone":
        return Matched("layer", (node,), {"layer": node})
    return with_relu(node) if form == "relu" else with_residual(node)

"""Parts of results: what an op says that they depend on is enough, and computes them when it is a layer of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard import ops
from aboard.ir import Array, Attributes, Node, Quantization, Tensor
from aboard.ops import interpreter
from aboard.ops.box import Box
from aboard.ops.softmax import SoftmaxAttributes
from aboard.ops.window import Padding
from support import tile_layers
from support.tile_layers import Window


@st.composite
def parts(draw: st.DrawFn) -> tuple[Node, Box]:
    """Draws a layer and a part of its result."""
    node = draw(tile_layers.nodes(draw(st.sampled_from([3, 9]))))
    ranges = [sorted((draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1)))) for n in node.output.shape]
    return node, Box(tuple(first for first, _ in ranges), tuple(last + 1 for _, last in ranges))


def cut(tensor: Tensor, box: Box) -> Tensor:
    """Returns a part of a tensor as a tensor."""
    quant = tensor.type.quant
    if quant is not None and quant.per_channel and quant.axis is not None:
        channels = box.slices[quant.axis]
        quant = Quantization(quant.scales[channels], quant.zero_points[channels], quant.axis)
    data = None if tensor.data is None else tensor.data[box.slices]
    return Tensor(tensor.name, replace(tensor.type, shape=box.shape, quant=quant), data)


def layer_of_its_own(node: Node, box: Box, boxes: list[Box | None]) -> Node:
    """Returns a layer that computes a part: from the operands' boxes, with the padding that belongs to them."""
    operands = [None if t is None or b is None else cut(t, b) for t, b in zip(node.inputs, boxes, strict=True)]
    sides = ops.get(node.op).box_padding(node, box)
    attrs = node.attrs
    if sides is not None:
        top, bottom, left, right = sides
        attrs = replace(attrs, padding=Padding(top, left, bottom, right))  # type: ignore[call-arg]
    return Node(node.op, node.name, list(operands), [cut(node.output, box)], attrs)


def value(tensor: Tensor) -> Array:
    if tensor.data is not None:
        return tensor.data
    found: Array = np.random.default_rng(3).integers(-128, 128, tensor.shape).astype(np.int8)
    return found


@settings(max_examples=150, deadline=None)
@given(parts())
def test_a_part_is_a_layer_of_its_own(drawn: tuple[Node, Box]) -> None:
    node, box = drawn
    boxes = ops.get(node.op).operand_boxes(node, box)
    whole = [None if tensor is None else value(tensor) for tensor in node.inputs]
    expected = interpreter.evaluate(node, whole)[0][box.slices]
    if boxes is None:
        return
    noise = [None if x is None or b is None else disturbed(x, b) for x, b in zip(whole, boxes, strict=True)]
    np.testing.assert_array_equal(interpreter.evaluate(node, noise)[0][box.slices], expected)
    if not on_its_own(node, box):
        return
    small = layer_of_its_own(node, box, boxes)
    operands = [None if x is None or b is None else x[b.slices] for x, b in zip(whole, boxes, strict=True)]
    np.testing.assert_array_equal(interpreter.evaluate(small, operands)[0], expected)


def disturbed(values: Array, box: Box) -> Array:
    """Returns values with noise outside a box."""
    noise: Array = np.random.default_rng(9).integers(-100, 100, values.shape).astype(values.dtype)
    noise[box.slices] = values[box.slices]
    return noise


def on_its_own(node: Node, box: Box) -> bool:
    """True unless the part cuts a group of channels, whose layer would have other groups."""
    grouped = node.op == "conv2d" and node.input(1).shape[3] != node.input(0).shape[3]
    multiplied = node.op == "depthwise_conv2d" and node.input(1).shape[3] != node.input(0).shape[3]
    samples = node.op == "fully_connected" and len(node.input(0).shape) != len(node.output.shape)
    return not (grouped or multiplied or samples)


def test_windows_that_see_padding_alone_are_no_part() -> None:
    node = tile_layers.conv((1, 4, 4, 2), 3, Window((1, 1), padding=Padding(2, 0, 0, 0)))
    conv = ops.get("conv2d")
    assert conv.operand_boxes(node, Box((0, 0, 0, 0), (1, 2, 4, 3))) is None
    assert conv.box_padding(node, Box((0, 0, 0, 0), (1, 2, 4, 3))) is None
    found = conv.operand_boxes(node, Box((0, 1, 0, 0), (1, 4, 4, 1)))
    assert found == [Box((0, 0, 0, 0), (1, 2, 4, 2)), Box((0,) * 4, (1, 1, 1, 2)), Box((0,), (1,))]
    assert conv.box_padding(node, Box((0, 1, 0, 0), (1, 4, 4, 1))) == (1, 0, 0, 0)


def test_groups_and_multipliers_need_the_channels_they_see() -> None:
    grouped = tile_layers.conv((1, 4, 4, 6), 9, Window((1, 1)), groups=3)
    found = ops.get("conv2d").operand_boxes(grouped, Box((0, 0, 0, 2), (1, 4, 4, 4)))
    assert found is not None
    assert found[0] == Box((0, 0, 0, 0), (1, 4, 4, 4))
    doubled = tile_layers.depthwise((1, 4, 4, 3), 2, Window((1, 1)))
    found = ops.get("depthwise_conv2d").operand_boxes(doubled, Box((0, 0, 0, 1), (1, 4, 4, 4)))
    assert found == [Box((0,) * 4, (1, 4, 4, 2)), Box((0, 0, 0, 1), (1, 1, 1, 4)), Box((1,), (4,))]


def test_samples_of_a_product_are_boxes_where_the_shapes_say_so() -> None:
    product = ops.get("fully_connected")
    part = Box((1, 0), (2, 5))
    found = product.operand_boxes(tile_layers.dense((3, 2, 4), 5), part)
    assert found is not None
    assert found[0] == Box((1, 0, 0), (2, 2, 4))
    flat = tile_layers.dense((3, 8), 5)
    flat.inputs[0] = tile_layers.int8("x", (4, 6))
    assert product.operand_boxes(flat, part) is None
    whole = product.operand_boxes(flat, Box((0, 0), (3, 5)))
    assert whole is not None
    assert whole[0] == Box((0, 0), (4, 6))


def test_other_ops_have_no_parts() -> None:
    tensor = tile_layers.int8("x", (1, 4))
    node = Node("softmax", "s", [tensor], [tile_layers.int8("y", (1, 4))], SoftmaxAttributes(1.0))
    assert ops.get("softmax").operand_boxes(node, Box((0, 0), (1, 2))) is None
    relu = Node("relu", "r", [tensor], [tile_layers.int8("y", (1, 4))], Attributes())
    assert ops.get("relu").operand_boxes(relu, Box((0, 1), (1, 2))) == [Box((0, 1), (1, 2))]
    assert ops.get("relu").box_padding(relu, Box((0, 1), (1, 2))) is None


@pytest.mark.parametrize(
    ("box", "runs"),
    [
        (Box((0, 0, 0), (4, 5, 6)), 1),
        (Box((1, 0, 0), (3, 5, 6)), 1),
        (Box((1, 2, 0), (2, 4, 6)), 1),
        (Box((0, 2, 0), (4, 4, 6)), 4),
        (Box((0, 0, 1), (4, 5, 2)), 20),
    ],
)
def test_a_box_falls_into_runs(box: Box, runs: int) -> None:
    assert box.runs((4, 5, 6)) == runs
    index = np.arange(120).reshape(4, 5, 6)[box.slices].reshape(-1)
    assert runs == 1 + int((np.diff(index) > 1).sum())


def test_boxes_tell_where_they_are() -> None:
    box = Box.whole((2, 3)).on(1, 1, 2)
    assert (str(box), box.shape, box.elements) == ("[0:2, 1:2]", (2, 1), 2)
    assert box.hull(Box((1, 0), (2, 1))) == Box((0, 0), (2, 2))
    assert box.within((3,)) == Box((1,), (2,))
    assert Box((0, 2), (1, 3)).within((4, 1)) == Box((0, 0), (1, 1))

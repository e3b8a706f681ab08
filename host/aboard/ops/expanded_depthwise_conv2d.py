"""expanded_depthwise_conv2d: a depthwise convolution of an image that a 1x1 convolution expands, as one node.

The compiler makes it of a pair of nodes (`aboard.compiler.recompute`), so that the expanded image is stored nowhere:
the kernel computes the rows of a window from the narrow image. No operator of a file is one.

Operands: input [batch, height, width, channels]; weights [expanded, 1, 1, channels] and bias [expanded] of the
expansion; weights [1, window height, window width, expanded * multiplier] and bias [expanded * multiplier] of the
depthwise convolution. Both biases are optional.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node, Tensor, TensorType
from aboard.ir.fingerprint import once_for_equal_nodes
from aboard.ops.box import Box
from aboard.ops.conv2d import ConvAttributes, window
from aboard.ops.conv2d import attributes as conv_attributes
from aboard.ops.registry import Op, get, register, require
from aboard.ops.window import reach

#: Operands of the expansion and of the depthwise convolution behind the input.
EXPANSION, DEPTHWISE = (1, 2), (3, 4)


@dataclass(frozen=True)
class ExpandedAttributes(Attributes):
    """Attributes of both convolutions.

    Attributes:
        expanded: Type of the expanded image.
        expansion: Attributes of the 1x1 convolution: stride 1, no padding.
        depthwise: Attributes of the depthwise convolution; its padding surrounds the expanded image.
    """

    expanded: TensorType = field(default_factory=lambda: TensorType((1, 1, 1, 1), DType.INT8))
    expansion: ConvAttributes = field(default_factory=ConvAttributes)
    depthwise: ConvAttributes = field(default_factory=ConvAttributes)


def attributes(node: Node) -> ExpandedAttributes:
    """Returns the attributes of an `expanded_depthwise_conv2d`."""
    return cast(ExpandedAttributes, node.attrs)


@once_for_equal_nodes(1 << 12)
def parts(node: Node) -> tuple[Node, Node]:
    """Returns the convolutions that a node consists of: the expansion, and the depthwise one that reads its result."""
    attrs = attributes(node)
    between = Tensor(f"{node.name}/expanded", attrs.expanded)
    first, second = ([node.optional_input(index) for index in operands] for operands in (EXPANSION, DEPTHWISE))
    expansion = Node("conv2d", between.name, [node.input(0), *first], [between], attrs.expansion)
    return expansion, Node("depthwise_conv2d", node.name, [between, *second], list(node.outputs), attrs.depthwise)


def joined(expansion: Node, depthwise: Node) -> Node:
    """Returns the node that computes what two nodes compute: a 1x1 convolution, and the depthwise one that reads it."""
    attrs = ExpandedAttributes(
        expansion.output.type,
        cast(ConvAttributes, expansion.attrs),
        cast(ConvAttributes, depthwise.attrs),
        rounding=depthwise.attrs.rounding,
    )
    inputs = [
        expansion.inputs[0],
        *(node.optional_input(index) for node in (expansion, depthwise) for index in (1, 2)),
    ]
    return Node("expanded_depthwise_conv2d", depthwise.name, inputs, list(depthwise.outputs), attrs)


def expanded_rows(node: Node, stripes: Iterable[tuple[int, int]]) -> int:
    """Returns the rows of the expanded image that a kernel computes for stripes [first, last) of one image's result.

    A stripe computes each row that its windows contain once, and keeps none for the next stripe.
    """
    height, depthwise = attributes(node).expanded.shape[1], parts(node)[1]
    attrs, extent = conv_attributes(depthwise), reach(window(depthwise)[0], conv_attributes(depthwise).dilations[0])
    count = 0
    for first, last in stripes:
        end = 0
        for row in range(first, last):
            top = row * attrs.strides[0] - attrs.padding.top
            count += max(min(top + extent, height) - max(top, end), 0)
            end = max(top + extent, 0)
    return count


def problem(expansion: Node) -> str | None:
    """Returns why a node is no expansion that can be computed again, or None."""
    attrs = cast(ConvAttributes, expansion.attrs)
    weights = expansion.input(1).shape
    if weights[1:3] != (1, 1) or attrs.strides != (1, 1) or attrs.padding.any:
        return "expansion, got a window that is not 1x1 with stride 1 and without padding"
    if weights[3] != expansion.input(0).shape[3]:
        return f"expansion, got {expansion.input(0).shape[3] // weights[3]} groups of channels, expected one"
    return None


@register
class ExpandedDepthwiseConv2d(Op):
    """What its two parts compute one after another."""

    name = "expanded_depthwise_conv2d"
    attributes = ExpandedAttributes
    recomputes = True

    @override
    def infer(self, node: Node) -> list[TensorType]:
        return get("depthwise_conv2d").infer(parts(node)[1])

    @override
    def verify(self, node: Node) -> None:
        require(len(node.inputs) == 5, node, f"operands, got {len(node.inputs)}, expected 5")
        expansion, depthwise = parts(node)
        wrong = problem(expansion)
        require(wrong is None, node, wrong or "")
        for part in (expansion, depthwise):
            get(part.op).verify(part)

    @override
    def is_exact(self, node: Node) -> bool:
        return all(get(part.op).is_exact(part) for part in parts(node))

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        expansion, depthwise = parts(node)
        between = get(expansion.op).evaluate(expansion, [operands[0], *(operands[i] for i in EXPANSION)])
        return get(depthwise.op).evaluate(depthwise, [*between, *(operands[i] for i in DEPTHWISE)])

    @override
    def operand_boxes(self, node: Node, box: Box) -> list[Box | None] | None:
        """Returns the pixels in the windows, with all channels, and weights of the expanded channels of the result."""
        expansion, depthwise = parts(node)
        outer = get(depthwise.op).operand_boxes(depthwise, box)
        between = None if outer is None else outer[0]
        inner = None if between is None else get(expansion.op).operand_boxes(expansion, between)
        return None if outer is None or inner is None else [*inner, *outer[1:]]

    @override
    def macs(self, node: Node) -> int:
        """Returns the multiply-accumulates of both parts, none computed again."""
        return sum(get(part.op).macs(part) for part in parts(node))

    @override
    def macs_in_stripes(self, node: Node, stripes: Sequence[tuple[int, int]]) -> int:
        expansion, depthwise = parts(node)
        row = get(expansion.op).macs(expansion) // expansion.output.shape[1]
        return expanded_rows(node, stripes) * row + get(depthwise.op).macs(depthwise)

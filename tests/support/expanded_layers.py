"""Random pairs of a 1x1 convolution and a depthwise convolution of its result, as two nodes and as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Array, Node
from aboard.kernels import of
from aboard.kernels.contract import Implementation, KernelCall, RowWise
from aboard.kernels.view import View
from aboard.ops import expanded_depthwise_conv2d, get
from aboard.schedule.receptive_field import Progress
from aboard.target import Target
from support import kernel_call
from support.dsp_layers import window_layer
from support.kernel_call import Placed
from support.weighted_models import ACTIVATIONS, Layer, layers


@dataclass
class Pair:
    """A depthwise layer, and the expansion that computes its operand.

    Attributes:
        expansion: The 1x1 convolution.
        depthwise: The layer that reads its result, whatever the quantisation of its own operand is.
    """

    expansion: Layer
    depthwise: Layer

    def nodes(self) -> tuple[Node, Node]:
        """Returns both nodes; the second reads the result of the first."""
        (first,), (second,) = (load(each.model(), name="model").nodes for each in (self.expansion, self.depthwise))
        return first, replace(second, inputs=[first.output, *second.inputs[1:]])

    def node(self) -> Node:
        """Returns the node that computes both."""
        return expanded_depthwise_conv2d.joined(*self.nodes())

    def wanted(self) -> Array:
        """Returns the result of both nodes, one after another."""
        values: Array = self.expansion.input()
        for node in self.nodes():
            constants = [None if tensor is None else tensor.data for tensor in node.inputs[1:]]
            (values,) = get(node.op).evaluate(node, [values, *constants])
        return values

    def check(self, call: KernelCall, x: View, y: View, ranges: list[tuple[int, int]]) -> None:
        """Fails unless the rows, computed range by range, are those of both nodes, and gaps are left as they were."""
        result = Placed.of(np.zeros(self.depthwise.shape_out, np.int8), y)
        kernel_call.run(call, [Placed.of(self.expansion.input(), x)], [result], ranges)
        np.testing.assert_array_equal(result.values(self.depthwise.shape_out, np.dtype(np.int8)), self.wanted())
        assert result.gaps_are_untouched()


def kernel(name: str) -> Implementation:
    (found,) = (each for each in of("expanded_depthwise_conv2d") if each.name == name)
    return found


def expanding(draw: st.DrawFn, depthwise: Layer) -> Pair:
    """Draws the expansion of a depthwise layer."""
    *image, channels = depthwise.shape_in
    depth = draw(st.sampled_from([1, 2, 3, 4, 5, 8, 12]))
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1}
    options |= {"FusedActivationFunction": draw(st.sampled_from(ACTIVATIONS))}
    expansion = Layer("CONV_2D", (*image, depth), (channels, 1, 1, depth), depthwise.shape_in, 0, options)
    expansion.per_channel, expansion.bias = draw(st.booleans()), draw(st.booleans())
    expansion.spread = draw(st.sampled_from([1.0, 1.0, 0.01, 100.0]))
    expansion.zero_point_in, expansion.zero_point_out = draw(st.integers(-128, 127)), draw(st.integers(-128, 127))
    expansion.seed = draw(st.integers(0, 2**20))
    return Pair(expansion, depthwise)


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """Draws a pair over all options of both layers."""
    return expanding(draw, draw(layers("DEPTHWISE_CONV_2D")))


def pair(
    size: tuple[int, int, int], window: tuple[int, int], stride: int = 1, padding: str = "SAME", depth: int = 8
) -> Pair:
    """Returns a pair by rows, columns and channels of the expanded image, and the depth of the narrow one."""
    depthwise = window_layer(size, window, stride, padding=padding)
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1}
    shapes = (1, *size[:2], depth), (size[2], 1, 1, depth), depthwise.shape_in
    return Pair(Layer("CONV_2D", *shapes, 0, options), depthwise)


def lowered(pair: Pair, chosen: Implementation, x: View, y: View, target: Target) -> KernelCall:
    node = pair.node()
    call = chosen.lower(node, [x, *[None] * (len(node.inputs) - 1)], [y], target)
    assert isinstance(call, KernelCall)
    return call


def check_stripes(
    pair: Pair, chosen: Implementation, target: Target, buffer: View, y: View, stripes: Sequence[tuple[int, int]]
) -> None:
    """Fails unless stripes of one image are right, with no rows in memory but those that each reads.

    Args:
        pair: The layers.
        chosen: The kernel.
        target: The target.
        buffer: View of the operand, in a rolling buffer of as many rows as a stripe reads.
        y: View of the result, stored whole.
        stripes: Rows [first, last) of each stripe, in order.
    """
    call = lowered(pair, chosen, buffer, y, target)
    operand = np.zeros(buffer.buffer_rows * buffer.row_stride, np.uint8)
    rows, node = pair.expansion.input().reshape(buffer.rows, -1).view(np.uint8), pair.node()
    result = Placed.of(np.zeros(pair.depthwise.shape_out, np.int8), y)

    def produce(first: int, last: int) -> None:
        for row in range(*Progress.of(node, RowWise(), {}).reads(0, first, last)):
            operand.reshape(buffer.buffer_rows, -1)[row % buffer.buffer_rows] = rows[row]

    kernel_call.run(call, [Placed(buffer, operand)], [result], list(stripes), produce)
    np.testing.assert_array_equal(result.values(pair.depthwise.shape_out, np.dtype(np.int8)), pair.wanted())

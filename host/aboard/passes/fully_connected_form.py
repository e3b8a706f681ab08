"""Convolutions whose window is the whole image become fully connected layers; layers of many samples, convolutions.

Both have the same sums of products. Of one sample, the pixel of a classifier or a small map that one window reads, the
kernels of fully connected layers have no pixels to compute in pairs and no window to move. Several samples are the
pixels of an image: the kernels of convolutions load the weights once for some of them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from aboard.ir import Graph, Node, Tensor
from aboard.ir.rewriting import free_name
from aboard.ops.conv2d import ConvAttributes, window
from aboard.ops.conv2d import attributes as conv_attributes
from aboard.ops.fully_connected import FullyConnectedAttributes
from aboard.ops.fully_connected import attributes as dense_attributes
from aboard.passes.cheaper_form import CheaperForm
from aboard.passes.registry import register


@register
@dataclass(frozen=True)
class FullyConnectedForm(CheaperForm):
    """Changes convolutions of a single window, and fully connected layers of several samples, to what costs less."""

    name: ClassVar[str] = "fully-connected-form"
    summary: ClassVar[str] = (
        "makes convolutions of one window fully connected layers, and those of samples convolutions"
    )

    #: Kernels of fully connected layers do less than those of convolutions.
    usual: ClassVar[str] = "conv2d"

    @override
    def other_form(self, graph: Graph, node: Node) -> Node | None:
        if node.op not in ("conv2d", "fully_connected") or not node.input(1).is_constant:
            return None
        if node.op == "fully_connected":
            return _convolution(graph, node) if _samples(node) > 1 else None
        return _fully_connected(graph, node) if _is_one_window(graph, node) else None


def _fully_connected(graph: Graph, node: Node) -> Node:
    x, weights = node.input(0), node.input(1)
    outputs, taps = weights.shape[0], weights.type.elements // weights.shape[0]
    if window(node) != (1, 1):
        x = _other_shape(graph, x, "sample", (x.shape[0], 1, 1, taps))
    before = conv_attributes(node)
    attrs = FullyConnectedAttributes(before.activation, keep_dims=True, rounding=before.rounding)
    inputs = [x, _other_shape(graph, weights, "matrix", (outputs, taps)), *node.inputs[2:]]
    return dataclasses.replace(node, op="fully_connected", inputs=inputs, attrs=attrs)


def _convolution(graph: Graph, node: Node) -> Node:
    x, weights, y = node.input(0), node.input(1), node.output
    outputs, taps = weights.shape
    if len(x.shape) != 4 or y.shape[:3] != x.shape[:3]:
        x = _other_shape(graph, x, "pixels", (1, _samples(node), 1, taps))
        y = _other_shape(graph, y, "pixels", (1, _samples(node), 1, outputs))
    before = dense_attributes(node)
    attrs = ConvAttributes(activation=before.activation, rounding=before.rounding)
    inputs = [x, _other_shape(graph, weights, "taps", (outputs, 1, 1, taps)), *node.inputs[2:]]
    return dataclasses.replace(node, op="conv2d", inputs=inputs, outputs=[y], attrs=attrs)


def _other_shape(graph: Graph, tensor: Tensor, word: str, shape: tuple[int, ...]) -> Tensor:
    """Returns a tensor of the same elements in another shape, named by a word."""
    values = None if tensor.data is None else np.asarray(tensor.data).reshape(shape)
    name, kind = free_name(graph, f"{tensor.name}/{word}"), dataclasses.replace(tensor.type, shape=shape)
    if tensor.is_constant or tensor.order is not None:
        return Tensor(name, kind, values)
    return dataclasses.replace(tensor, name=name, type=kind)


def _samples(node: Node) -> int:
    """Returns the samples that a fully connected layer multiplies with its matrix."""
    return node.input(0).type.elements // node.input(1).shape[1]


def _is_one_window(graph: Graph, node: Node) -> bool:
    """Returns whether a convolution has one window, which reads every pixel of its image in their order."""
    size, x, attrs = window(node), node.input(0), conv_attributes(node)
    # The rows of a state may lie in a rolling buffer, which only windows read; channels that are left out of pixels are
    # not those of a sample.
    if size != (1, 1) and (graph.states or x.channel_map is not None):
        return False
    if x.shape[1:3] != size or attrs.padding.any:
        return False
    dense = all(taps == 1 or dilation == 1 for taps, dilation in zip(size, attrs.dilations, strict=True))
    return dense and node.input(1).shape[3] == x.shape[3]

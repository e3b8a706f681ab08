"""Random layers that the kernels for cores with MULS alone take."""

from __future__ import annotations

from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Node
from aboard.kernels import of
from aboard.kernels.contract import Implementation
from aboard.target import Target
from support import dsp_layers
from support.weighted_models import Layer
from support.weighted_models import layers as any_layers

NAME = "thumb1_s8"
TARGET = Target("c -mcpu=cortex-m0 -runtime=standalone")


def implementation(node: Node) -> Implementation:
    """Returns the implementation of a node's op for cores with MULS alone."""
    return next(i for i in of(node.op) if i.name == NAME)


def refusal(layer: Layer, target: Target = TARGET) -> str | None:
    """Returns why a layer is not for these kernels; None when it is."""
    (node,) = load(layer.model(), name="model").nodes
    return implementation(node).refuses(node, target)


def layers(kind: str) -> st.SearchStrategy[Layer]:
    """Draws a layer of a kind: strides, paddings, batches, groups, dilations, any number of channels, any finish."""
    return dsp_layers.drawn(kind).filter(lambda layer: refusal(layer) is None)


def small(kind: str) -> st.SearchStrategy[Layer]:
    """Draws a layer of a kind that fits a board of 16 KB of RAM beside others."""
    return any_layers(kind).filter(lambda layer: refusal(layer) is None)

"""Random layers that kernels with SMLAL take."""

from __future__ import annotations

from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Node
from aboard.kernels import of
from aboard.kernels.contract import Implementation
from aboard.target import Target
from support import dsp_layers
from support.weighted_models import Layer

NAME = "smlal_s8"
TARGET = Target("c -mcpu=cortex-m3 -runtime=standalone")


def implementation(node: Node) -> Implementation:
    """Returns the implementation of a node's op with SMLAL."""
    return next(i for i in of(node.op) if i.name == NAME)


def refusal(layer: Layer, target: Target = TARGET) -> str | None:
    """Returns why a layer is not for SMLAL; None when it is."""
    (node,) = load(layer.model(), name="model").nodes
    return implementation(node).refuses(node, target)


def layers(kind: str) -> st.SearchStrategy[Layer]:
    """Draws a layer of a kind: strides, paddings, batches, groups, dilations, any number of channels, any finish."""
    return dsp_layers.drawn(kind).filter(lambda layer: refusal(layer) is None)

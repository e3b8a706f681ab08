"""Random layers of float32 for the kernels of blocks of four pixels, and these kernels."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Node
from aboard.kernels import of
from aboard.kernels.contract import Implementation
from aboard.target import Target
from support import weighted_models
from support.weighted_models import Layer

DSP, MVE, PORTABLE = "dsp_f32", "arm_mve_f32", "portable_f32"
TARGETS = {
    DSP: Target("c -mcpu=cortex-m4 -runtime=standalone"),
    MVE: Target("c -mcpu=cortex-m55 -runtime=standalone"),
}
KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


def implementation(node: Node, name: str) -> Implementation:
    """Returns the implementation of a node's op by its name."""
    return next(i for i in of(node.op) if i.name == name)


def refusal(layer: Layer, name: str, target: Target | None = None) -> str | None:
    """Returns why a layer is not for a kernel; None when it is."""
    (node,) = load(layer.model(), name="model").nodes
    return implementation(node, name).refuses(node, target or TARGETS[name])


@st.composite
def layers(draw: st.DrawFn, kind: str) -> Layer:
    """Draws a layer of a kind that the kernels take, over all options; depthwise ones have whole blocks of channels."""
    layer = draw(weighted_models.layers(kind, "float32"))
    if kind != "DEPTHWISE_CONV_2D":
        return layer
    channels = 4 * draw(st.integers(1, 3))
    shapes = [(*shape[:3], channels) for shape in (layer.shape_in, layer.shape_weights, layer.shape_out)]
    options = {**layer.options, "DepthMultiplier": 1}
    return replace(layer, shape_in=shapes[0], shape_weights=shapes[1], shape_out=shapes[2], options=options)

"""Random layers that the kernels with vectors of RISC-V take."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from aboard.target import Target
from support.kernel_layers import KernelLayers
from support.weighted_models import Layer
from support.weighted_models import layers as any_layers


@st.composite
def layers(draw: st.DrawFn, kind: str) -> Layer:
    """Draws a layer of a kind, over all its options, with up to six times the channels: several blocks of sixteen."""
    layer = draw(any_layers(kind))
    times = draw(st.sampled_from([1, 1, 3, 6]))
    shape_in, weights, shape_out = (list(each) for each in (layer.shape_in, layer.shape_weights, layer.shape_out))
    shape_out[-1] *= times
    weights[layer.axis] *= times
    if kind == "DEPTHWISE_CONV_2D":
        shape_in[-1] *= times
    return replace(layer, shape_in=tuple(shape_in), shape_weights=tuple(weights), shape_out=tuple(shape_out))


KERNELS = KernelLayers(
    "riscv_v_s8",
    Target("c -mcpu=rv32imac_zve32x_zvl128b -runtime=standalone"),
    ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"),
    layers,
)

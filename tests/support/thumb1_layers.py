"""Random layers that the kernels for cores with MULS alone take."""

from __future__ import annotations

from hypothesis import strategies as st

from aboard.target import Target
from support import dsp_layers
from support.kernel_layers import KernelLayers
from support.weighted_models import Layer
from support.weighted_models import layers as any_layers

#: Strides, paddings, batches, groups, dilations, any number of channels, any finish.
KERNELS = KernelLayers(
    "thumb1_s8",
    Target("c -mcpu=cortex-m0 -runtime=standalone"),
    ("CONV_2D", "FULLY_CONNECTED"),
    dsp_layers.drawn,
)


def small(kind: str) -> st.SearchStrategy[Layer]:
    """Draws a layer of a kind that fits a board of 16 KB of RAM beside others."""
    return KERNELS.layers(kind, any_layers)

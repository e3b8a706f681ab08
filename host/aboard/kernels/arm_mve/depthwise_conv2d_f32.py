"""depthwise_conv2d of float32 with Helium."""

from __future__ import annotations

from aboard.kernels.arm_dsp.pixels_f32 import DepthwiseF32
from aboard.kernels.registry import implements


@implements
class MveF32(DepthwiseF32):
    """float32: the four channels of a vector, fused products."""

    name = "arm_mve_f32"
    keys = frozenset({"arm_mve"})
    feature = "mve_float"
    header = "arm_mve/depthwise_conv2d_f32.h"
    function = "aboard_depthwise_conv2d_f32_mve"
    single = 1.9

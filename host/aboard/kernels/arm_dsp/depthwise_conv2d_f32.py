"""depthwise_conv2d of float32 for cores with the DSP extension and an FPU (Cortex-M4, M7, M33)."""

from __future__ import annotations

from aboard.kernels.arm_dsp.pixels_f32 import DepthwiseF32
from aboard.kernels.registry import implements


@implements
class DspF32(DepthwiseF32):
    """float32: separate products and sums, which take two cycles on Cortex-M4 where fused ones take three."""

    name = "dsp_f32"
    keys = frozenset({"arm_dsp"})
    feature = "fpu"
    header = "arm_dsp/depthwise_conv2d_f32.h"
    function = "aboard_depthwise_conv2d_f32_dsp"
    single = 1.4

"""fully_connected of float32 with Helium."""

from __future__ import annotations

from aboard.kernels.arm_dsp.pixels_f32 import FullyConnectedF32
from aboard.kernels.registry import implements


@implements
class MveF32(FullyConnectedF32):
    """float32: the four channels of a vector, fused products."""

    name = "arm_mve_f32"
    keys = frozenset({"arm_mve"})
    feature = "mve_float"
    header = "arm_mve/fully_connected_f32.h"
    function = "aboard_fully_connected_f32_mve"

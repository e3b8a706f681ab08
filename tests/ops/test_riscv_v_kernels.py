"""What the kernels with vectors of RISC-V leave to others."""

from __future__ import annotations

import dataclasses

from support.riscv_v_layers import KERNELS
from support.weighted_models import Layer


def test_what_is_left_to_other_kernels() -> None:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    conv = Layer("CONV_2D", (1, 5, 4, 4), (4, 3, 3, 4), (1, 5, 4, 4), 0, options)
    changed = dataclasses.replace
    assert KERNELS.refusal(conv) is None
    assert KERNELS.refusal(changed(conv, spread=1e-5)) == "results are not smaller than sums"
    assert KERNELS.refusal(changed(conv, form="float32")) == "is for int8"
    depthwise = Layer(
        "DEPTHWISE_CONV_2D", (1, 5, 4, 4), (1, 3, 3, 8), (1, 5, 4, 8), 3, {**options, "DepthMultiplier": 2}
    )
    assert KERNELS.refusal(depthwise) == "is for one result channel per channel"
    assert KERNELS.refusal(Layer("FULLY_CONNECTED", (1, 8), (1, 8), (1, 1), 0)) is None

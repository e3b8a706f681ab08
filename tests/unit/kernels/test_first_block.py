"""Depthwise rows of packed pixels: the first block of results has code of its own where that is worth its flash."""

from __future__ import annotations

import pytest

import aboard
from aboard.kernels.contract import KernelCall
from aboard.kernels.select import strategy
from support.preferred import preferred
from support.single_layers import SingleLayer, model

KERNEL, FUNCTION = "dsp_packed_s8", "aboard_depthwise_conv2d_packed"


@pytest.mark.parametrize(
    ("cols", "opt", "blocks", "apart"),
    [(10, "balanced", 1, 0), (12, "balanced", 2, 1), (12, "speed", 2, 1), (12, "size", 2, 0), (18, "balanced", 3, 1)],
)
def test_the_first_of_several_blocks_is_apart_unless_flash_is_dear(
    cols: int, opt: str, blocks: int, apart: int
) -> None:
    layer = SingleLayer("depthwise_conv2d", 24, 24, (12, cols), (3, 3))
    with strategy.forced(preferred(KERNEL)):
        module = aboard.compile(model([layer]), target=f"c -mcpu=cortex-m4 -opt={opt}", name="model")
    calls = [step.call for step in module.schedule().program.steps if isinstance(step.call, KernelCall)]
    (params,) = (call.params for call in calls if call.function == FUNCTION)
    assert (params["blocks"], params["apart"]) == (blocks, apart)

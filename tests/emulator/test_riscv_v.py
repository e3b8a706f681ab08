"""Kernels with vectors on an emulated RISC-V core: random layers and models give the bytes of tflite-micro.

Each image carries several models, because building one takes longer than running them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aboard
from support import models, oracle
from support.examples import either, without_shrinking
from support.riscv_v_layers import KERNELS
from support.weighted_models import Layer

BOARD = "riscv/qemu_virt32v"
BATCH = 10


def roundings(drawn: Sequence[Layer]) -> set[bool]:
    """Checks layers; returns whether the roundings that kernels used are slow."""
    steps = [step for module in KERNELS.check(drawn, BOARD) for step in module.schedule().program.steps]
    return {step.call.slow_epilogue for step in steps}


@without_shrinking(either(6, 2))
@given(st.lists(st.sampled_from(KERNELS.kinds).flatmap(KERNELS.layers), min_size=BATCH, max_size=BATCH))
def test_random_layers(drawn: list[Layer]) -> None:
    KERNELS.check(drawn, BOARD)


def pointwise(depth: int, channels: int, pixels: int, **fields: object) -> Layer:
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1, "FusedActivationFunction": "RELU6"}
    shapes = (1, 1, pixels, depth), (channels, 1, 1, depth), (1, 1, pixels, channels)
    return Layer("CONV_2D", *shapes, 0, options, **fields)  # type: ignore[arg-type]


def depthwise(channels: int, pixels: int, **fields: object) -> Layer:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "DepthMultiplier": 1}
    shapes = (1, 2, pixels, channels), (1, 3, 3, channels), (1, 2, pixels, channels)
    return Layer("DEPTHWISE_CONV_2D", *shapes, 3, options, **fields)  # type: ignore[arg-type]


#: A scale of the result that leaves some channel without a single rounding.
TWO_ROUNDINGS = {"spread": 0.1, "zero_point_out": 5}


def test_every_entry_of_the_loops_with_both_roundings() -> None:
    # Rests of taps, of channels and of pixels; one pixel.
    drawn = [pointwise(depth, channels, 5) for depth, channels in [(1, 1), (2, 15), (3, 16), (4, 17), (5, 33), (8, 32)]]
    drawn += [pointwise(6, 18, pixels) for pixels in (1, 2, 3, 4, 5)]
    drawn += [depthwise(channels, pixels) for channels, pixels in [(1, 1), (15, 2), (16, 3), (17, 4), (33, 5)]]
    drawn += [pointwise(7, 20, pixels, **TWO_ROUNDINGS) for pixels in (1, 4)]
    drawn += [depthwise(20, 5, **TWO_ROUNDINGS)]
    assert roundings(drawn) == {False, True}


@pytest.mark.parametrize("options", ["", "-opt=size"])
def test_a_model_of_several_layers(options: str, tmp_path: Path) -> None:
    model = models.read(models.SHIPPED)
    module = aboard.compile(model, target=f"c -hardware={BOARD} {options}", name="model")
    assert KERNELS.name in {node.implementation for node in module.manifest.nodes}
    project = aboard.create(module, board=BOARD, path=tmp_path / "project")
    project.build()
    (record,) = module.manifest.inputs
    drawn = np.random.default_rng(5)
    with project.session() as device:
        for _ in range(2):
            x = drawn.integers(-128, 128, record.shape).astype(np.int8)
            (wanted,) = oracle.tflm(model, x)
            np.testing.assert_array_equal(device.run(x), wanted)

"""Kernels with vectors on an emulated RISC-V core: random layers and models give the bytes of tflite-micro.

Each image carries several models, because building one takes longer than running them all.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import aboard
from aboard.kernels.select import strategy
from support import models, oracle
from support.examples import either
from support.preferred import preferred
from support.riscv_v_layers import KINDS, NAME, accepted
from support.weighted_models import Layer

BOARD = "riscv/qemu_virt32v"
BATCH = 10


def check(drawn: Sequence[Layer]) -> set[bool]:
    """Fails unless all layers, in one image, give the reference's bytes; returns the roundings that kernels used."""
    cases = [(layer.model(), layer.input()) for layer in drawn]
    with strategy.forced(preferred(NAME)):
        modules = [aboard.compile(model, board=BOARD, name=f"m{i}") for i, (model, _) in enumerate(cases)]
    assert {node.implementation for module in modules for node in module.manifest.nodes} == {NAME}
    with tempfile.TemporaryDirectory() as folder:
        project = aboard.create(modules, board=BOARD, path=Path(folder) / "project")
        project.build()
        with project.session() as device:
            for number, (model, x) in enumerate(cases):
                (wanted,) = oracle.tflm(model, x)
                np.testing.assert_array_equal(device.run(x, model=f"m{number}"), wanted, err_msg=f"model {number}")
    steps = [step for module in modules for step in module.schedule().program.steps]
    return {step.call.slow_epilogue for step in steps}


# Without shrinking: an example takes seconds, and the message names the layer.
@settings(
    max_examples=either(6, 2),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
@given(st.lists(st.sampled_from(KINDS).flatmap(accepted), min_size=BATCH, max_size=BATCH))
def test_random_layers(drawn: list[Layer]) -> None:
    check(drawn)


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
    assert check(drawn) == {False, True}


@pytest.mark.parametrize("options", ["", "-opt=size"])
def test_a_model_of_several_layers(options: str, tmp_path: Path) -> None:
    model = models.read(models.SHIPPED)
    module = aboard.compile(model, target=f"c -hardware={BOARD} {options}", name="model")
    assert NAME in {node.implementation for node in module.manifest.nodes}
    project = aboard.create(module, board=BOARD, path=tmp_path / "project")
    project.build()
    (record,) = module.manifest.inputs
    drawn = np.random.default_rng(5)
    with project.session() as device:
        for _ in range(2):
            x = drawn.integers(-128, 128, record.shape).astype(np.int8)
            (wanted,) = oracle.tflm(model, x)
            np.testing.assert_array_equal(device.run(x), wanted)

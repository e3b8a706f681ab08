"""Convolutions of at most five taps on an emulated Cortex-M55: the bytes of tflite-micro, in any memory.

An image carries several models, because building one takes longer than running them all.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aboard
from aboard.errors import CapacityError
from aboard.kernels.select import strategy
from emulator.test_arm_mve import BATCH, BOARD, check
from support import few_taps_layers, oracle
from support.channel_models import ChannelModel
from support.examples import beyond_the_simplest, either, without_shrinking
from support.few_taps_layers import NAME
from support.image_models import global_average
from support.preferred import preferred
from support.tflite_builder import ModelBuilder
from support.weighted_models import Layer


@without_shrinking(either(4, 1))
@given(beyond_the_simplest(st.lists(few_taps_layers.few_taps(), min_size=BATCH, max_size=BATCH)))
def test_windows_of_few_taps(drawn: list[Layer]) -> None:
    check([(layer.model(), layer.input()) for layer in drawn], kernel=NAME)


def test_lanes_at_the_end_of_rows() -> None:
    check([(layer.model(), layer.input()) for layer in few_taps_layers.chosen()], kernel=NAME)


def test_clang_takes_the_assembler_too() -> None:
    drawn = few_taps_layers.chosen()[::3]
    check([(layer.model(), layer.input()) for layer in drawn], toolchain="zig", kernel=NAME)


def halves(depth: int, channels: int, stride: int) -> tuple[bytes, np.ndarray]:
    """Returns a model of two convolutions, each of half of the channels to half of the channels, and its input."""
    rng, out = np.random.default_rng(depth), (1, -(-7 // stride), -(-5 // stride), channels)
    build = ModelBuilder().tensor("x", (1, 7, 5, 2 * depth), np.int8, scale=0.05, zero_point=-3)
    build.tensor("axis", (), np.int32, data=[3])
    for half in "ab":
        build.tensor(f"x{half}", (1, 7, 5, depth), np.int8, scale=0.05, zero_point=-3)
        weights = rng.integers(-127, 128, (channels, 1, 1, depth))
        build.tensor(f"w{half}", weights.shape, np.int8, scale=0.01, data=weights)
        build.tensor(f"y{half}", out, np.int8, scale=0.05, zero_point=4)
    build.tensor("y", (*out[:3], 2 * channels), np.int8, scale=0.05, zero_point=4)
    build.op("SPLIT", ["axis", "x"], ["xa", "xb"], {"NumSplits": 2})
    for half in "ab":
        options = {"Padding": "VALID", "StrideH": stride, "StrideW": stride}
        build.op("CONV_2D", [f"x{half}", f"w{half}"], [f"y{half}"], options)
    build.op("CONCATENATION", ["ya", "yb"], ["y"], {"Axis": 3})
    return build.build(["x"], ["y"]), rng.integers(-128, 128, (1, 7, 5, 2 * depth)).astype(np.int8)


def test_slices_of_wider_tensors(tmp_path: Path) -> None:
    cases = [
        halves(depth, channels, stride)
        for depth, channels, stride in ((1, 5, 1), (2, 8, 2), (4, 3, 1), (3, 7, 3), (5, 3, 2))
    ]
    with strategy.forced(preferred(NAME)):
        modules = [
            aboard.compile(model, target=f"c -hardware={BOARD} -opt=speed", name=f"m{number}")
            for number, (model, _) in enumerate(cases)
        ]
    assert all(node.implementation == NAME for m in modules for node in m.manifest.nodes if node.op == "conv2d")
    project = aboard.create(modules, board=BOARD, path=tmp_path / "project")
    project.build()
    with project.session() as device:
        for number, (model, x) in enumerate(cases):
            np.testing.assert_array_equal(device.run(x, model=f"m{number}"), oracle.tflm(model, x)[0])


def chain(seed: int, cols: int, depth: int) -> bytes:
    """Returns a model whose layers are best computed in stripes, half of them convolutions of few taps."""
    model = ChannelModel(seed, (1, 23, cols, depth))
    model.conv(4, (1, 1))
    model.depthwise(1, (3, 3))
    model.conv((6, 7, 8)[seed % 3], (1, 1), 1 + seed % 2)
    model.conv(3, (3, 3))
    model.conv(11, (1, 1))
    model.conv(4, (3, 3))
    global_average(model)
    return model.build()


def test_stripes_compute_what_whole_layers_do(tmp_path: Path) -> None:
    data = [chain(seed, cols, depth) for seed, (cols, depth) in enumerate([(5, 1), (9, 2), (8, 3), (6, 4), (7, 1)])]
    modules = []
    with strategy.forced(preferred(NAME)):
        for number, each in enumerate(data):
            try:
                module = aboard.compile(each, target=f"{BOARD} -ram-max=16", name=f"m{number}")
            except CapacityError as error:
                module = aboard.compile(each, target=f"{BOARD} -ram-max={error.least_bytes}", name=f"m{number}")
            modules.append(module)
    assert any(node.cascade is not None and node.implementation == NAME for m in modules for node in m.manifest.nodes)
    project = aboard.create(modules, board=BOARD, path=tmp_path / "project")
    project.build()
    rng = np.random.default_rng(3)
    with project.session() as device:
        for module, each in zip(modules, data, strict=True):
            x = rng.integers(-128, 128, module.manifest.inputs[0].shape, np.int8)
            np.testing.assert_array_equal(device.run(x, model=module.name), oracle.tflm(each, x)[0])


@pytest.mark.parametrize("depth", [1, 4])
def test_results_that_grow_over_their_operands(depth: int) -> None:
    # A chain in which every tensor dies with the layer that reads it.
    rng = np.random.default_rng(8)
    build = ModelBuilder().tensor("t0", (1, 9, 7, depth), np.int8, scale=0.05, zero_point=-128)
    options = {"StrideH": 1, "StrideW": 1, "FusedActivationFunction": "RELU", "Padding": "SAME"}
    channels = (depth, 3, 4, 2, 3, 7)
    for number in range(5):
        shape = (channels[number + 1], 1, 1, channels[number])
        build.tensor(f"w{number}", shape, np.int8, scale=0.01, data=rng.integers(-127, 128, shape))
        build.tensor(f"t{number + 1}", (1, 9, 7, channels[number + 1]), np.int8, scale=0.05, zero_point=-128)
        build.op("CONV_2D", [f"t{number}", f"w{number}"], [f"t{number + 1}"], options)
    x = rng.integers(-128, 128, (1, 9, 7, depth)).astype(np.int8)
    check([(build.build(["t0"], ["t5"]), x)], kernel=NAME)

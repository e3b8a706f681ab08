"""Depthwise windows that cover an image on an emulated Cortex-M55: the bytes of tflite-micro, in any memory.

An image carries several models, because building one takes longer than running them all.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aboard
from aboard.kernels.select import strategy
from emulator.test_arm_mve import BATCH, BOARD, check
from support import one_window_layers, oracle, plain_builds
from support.examples import beyond_the_simplest, either, without_shrinking
from support.one_window_layers import NAME
from support.plain_builds import LEVELS, Build
from support.preferred import preferred
from support.tflite_builder import ModelBuilder
from support.weighted_models import Layer

WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Werror")


@without_shrinking(either(6, 1))
@given(beyond_the_simplest(st.lists(one_window_layers.one_windows(), min_size=BATCH, max_size=BATCH)))
def test_windows_that_cover_images(drawn: list[Layer]) -> None:
    check([(layer.model(), layer.input()) for layer in drawn], kernel=NAME)


def test_words_parts_and_channels() -> None:
    check([(layer.model(), layer.input()) for layer in one_window_layers.chosen()], kernel=NAME)


def test_clang_takes_the_assembler_too() -> None:
    drawn = one_window_layers.chosen()[::3]
    check([(layer.model(), layer.input()) for layer in drawn], toolchain="zig", kernel=NAME)


def halves(size: tuple[int, int], depth: int) -> tuple[bytes, np.ndarray]:
    """Returns a model of two layers, each of half of the channels to half of the channels, and its input."""
    rng = np.random.default_rng(depth)
    build = ModelBuilder().tensor("x", (1, *size, 2 * depth), np.int8, scale=0.05, zero_point=-3)
    build.tensor("axis", (), np.int32, data=[3])
    for half in "ab":
        build.tensor(f"x{half}", (1, *size, depth), np.int8, scale=0.05, zero_point=-3)
        weights = rng.integers(-127, 128, (1, *size, depth))
        build.tensor(f"w{half}", weights.shape, np.int8, scale=0.01, data=weights)
        build.tensor(f"y{half}", (1, 1, 1, depth), np.int8, scale=0.2, zero_point=4)
    build.tensor("y", (1, 1, 1, 2 * depth), np.int8, scale=0.2, zero_point=4)
    build.op("SPLIT", ["axis", "x"], ["xa", "xb"], {"NumSplits": 2})
    for half in "ab":
        options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1, "DepthMultiplier": 1}
        build.op("DEPTHWISE_CONV_2D", [f"x{half}", f"w{half}"], [f"y{half}"], options)
    build.op("CONCATENATION", ["ya", "yb"], ["y"], {"Axis": 3})
    return build.build(["x"], ["y"]), rng.integers(-128, 128, (1, *size, 2 * depth)).astype(np.int8)


def test_slices_of_wider_tensors(tmp_path: Path) -> None:
    cases = [halves((5, 1), 30), halves((3, 3), 16), halves((9, 2), 8), halves((1, 20), 41), halves((6, 1), 300)]
    with strategy.forced(preferred(NAME)):
        modules = [
            aboard.compile(model, target=f"c -hardware={BOARD}", name=f"m{number}")
            for number, (model, _) in enumerate(cases)
        ]
    assert all(node.implementation == NAME for m in modules for node in m.manifest.nodes if node.op[:5] == "depth")
    project = aboard.create(modules, board=BOARD, path=tmp_path / "project")
    project.build()
    with project.session() as device:
        for number, (model, x) in enumerate(cases):
            np.testing.assert_array_equal(device.run(x, model=f"m{number}"), oracle.tflm(model, x)[0])


@pytest.mark.parametrize("level", either(LEVELS, LEVELS[::2]))
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_every_form_compiles_at_every_level(compiler: str, level: str, tmp_path: Path) -> None:
    with strategy.forced(preferred(NAME)):
        for number, layer in enumerate(one_window_layers.chosen()[1::7]):
            module = aboard.compile(layer.model(), target=f"c -hardware={BOARD}", name="model")
            (tmp_path / str(number)).mkdir()
            build = Build("cortex-m55", compiler, (level,))
            assert plain_builds.compile_model(module, build, tmp_path / str(number), WARNINGS)

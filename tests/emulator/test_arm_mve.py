"""Kernels for Helium on an emulated Cortex-M55: random layers give the bytes of tflite-micro.

Each image carries several models, because building one takes longer than running them all.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aboard
from aboard.kernels.contract import Implementation
from aboard.kernels.select import strategy
from support import mve_images, mve_layers, mve_many_bits, oracle, whole_windows
from support.examples import beyond_the_simplest, either, without_shrinking
from support.preferred import preferred
from support.tflite_builder import ModelBuilder
from support.weighted_models import Layer

BOARD = "arm/mps3_an547"

#: Of `-opt`, alternating.
OPTIONS = "speed", "balanced"
MVE = "arm_mve_s8"
BATCH = 8


def check(
    cases: Sequence[tuple[bytes, np.ndarray]],
    with_helium: bool = True,
    toolchain: str = "arm-none-eabi-gcc",
    kernel: str = MVE,
    rule: strategy.Rule | None = None,
) -> None:
    """Fails unless all models, in one image, give the reference's bytes, with a kernel for Helium alone or without.

    Every other model is for speed: with loops whose flash small models are not worth.
    """

    def named(explained: strategy.Explanation) -> Implementation | None:
        return next((c.implementation for c in explained.candidates if c.implementation.name == kernel), None)

    with strategy.forced(rule or (named if kernel != MVE else preferred(kernel))):
        targets = [f"c -hardware={BOARD} -opt={OPTIONS[i % 2]}" for i in range(len(cases))]
        modules = [
            aboard.compile(model, target=target, name=f"m{i}", passes=whole_windows.passes(target))
            for i, (target, (model, _)) in enumerate(zip(targets, cases, strict=True))
        ]
    for module in modules:
        assert all((node.implementation == kernel) is with_helium for node in module.manifest.nodes)
    with tempfile.TemporaryDirectory() as folder:
        project = aboard.create(modules, board=BOARD, path=Path(folder) / "project")
        project.build(toolchain)
        with project.session() as device:
            for number, (model, x) in enumerate(cases):
                (wanted,) = oracle.tflm(model, x)
                np.testing.assert_array_equal(device.run(x, model=f"m{number}"), wanted, err_msg=f"model {number}")


@without_shrinking(either(5, 1))
@given(beyond_the_simplest(st.lists(mve_layers.layers(), min_size=BATCH, max_size=BATCH)))
def test_random_layers(drawn: list[Layer]) -> None:
    check([(layer.model(), layer.input()) for layer in drawn])


@without_shrinking(either(3, 1))
@given(beyond_the_simplest(st.lists(mve_layers.depthwise_layers(), min_size=BATCH, max_size=BATCH)))
def test_depthwise_layers_in_packed_words(drawn: list[Layer]) -> None:
    check([(layer.model(), layer.input()) for layer in drawn])


@without_shrinking(either(4, 2))
@given(beyond_the_simplest(st.lists(mve_layers.depthwise_images(), min_size=BATCH, max_size=BATCH)))
def test_depthwise_images_whose_lines_share_groups(drawn: list[Layer]) -> None:
    check([(layer.model(), layer.input()) for layer in drawn])


def test_images_with_every_number_of_last_results() -> None:
    check([(layer.model(), layer.input()) for layer in mve_images.shared_images()])


@pytest.mark.parametrize(("first", "toolchain"), [(0, "arm-none-eabi-gcc"), (1, "arm-none-eabi-gcc"), (0, "zig")])
def test_columns_of_few_results(first: int, toolchain: str) -> None:
    # Every other model is for speed.
    check([(layer.model(), layer.input()) for layer in mve_images.columns()[first:]], toolchain=toolchain)


def test_results_over_pixels_of_the_same_channels() -> None:
    layers = mve_images.shrinking()
    for layer in layers:
        module = aboard.compile(layer.model(), target=BOARD, name="m")
        together = sum(buffer.bytes for buffer in module.manifest.buffers)
        assert module.manifest.ram_bytes <= together - math.prod(layer.shape_out) // 2
    check([(layer.model(), layer.input()) for layer in layers])


@pytest.mark.parametrize("toolchain", ["arm-none-eabi-gcc", "zig"])
def test_columns_of_any_rounding(toolchain: str) -> None:
    check([(layer.model(), layer.input()) for layer in mve_images.columns_of_any_rounding()], toolchain=toolchain)


def four_at_a_time(explained: strategy.Explanation) -> Implementation:
    """Chooses the form of a depthwise kernel that packs four channels at a time."""
    (found,) = (c.implementation for c in explained.candidates if c.implementation.name == MVE)
    few = found.in_less_scratch(explained.node)
    assert few is not None
    return few


@pytest.mark.parametrize("toolchain", ["arm-none-eabi-gcc", "zig"])
@pytest.mark.parametrize(
    "images", [mve_images.images_of_few_lines, mve_images.images_of_fours, mve_images.columns_of_fours]
)
def test_images_whose_channels_are_packed_four_at_a_time(images: Callable[[], list[Layer]], toolchain: str) -> None:
    check([(layer.model(), layer.input()) for layer in images()], toolchain=toolchain, rule=four_at_a_time)


def test_depthwise_sums_of_many_bits() -> None:
    check([(layer.model(), layer.input()) for layer in mve_many_bits.layers()])


def test_line_buffers_of_several_rows() -> None:
    check([(layer.model(), layer.input()) for layer in mve_layers.tall_images()])


def test_two_counts_that_begin_alike() -> None:
    check([(layer.model(), layer.input()) for layer in mve_layers.as_many_rows_as_pixels()])


@without_shrinking(either(3, 1))
@given(beyond_the_simplest(st.lists(mve_layers.convolutions(), min_size=BATCH, max_size=BATCH)))
def test_convolutions_of_four_pixels(drawn: list[Layer]) -> None:
    check([(layer.model(), layer.input()) for layer in drawn])


@without_shrinking(either(3, 1))
@given(
    beyond_the_simplest(
        st.lists(
            st.one_of(mve_layers.wide_depthwise_layers(), mve_layers.scattered_convolutions()),
            min_size=BATCH,
            max_size=BATCH,
        )
    )
)
def test_wide_windows_dilations_multipliers_and_groups(drawn: list[Layer]) -> None:
    check([(layer.model(), layer.input()) for layer in drawn])


@without_shrinking(either(3, 1))
@given(beyond_the_simplest(st.lists(mve_layers.uniform_matrix_layers(), min_size=BATCH, max_size=BATCH)))
def test_matrices_whose_results_are_scaled_alike(drawn: list[Layer]) -> None:
    check([(layer.model(), layer.input()) for layer in drawn])


def test_assembly_may_change_the_predicate_between_stores() -> None:
    # Padding behind the pixels is written again after each strip is packed, by stores with a predicate that stays.
    options = {"Padding": "SAME", "StrideH": 3, "StrideW": 2, "DepthMultiplier": 1, "FusedActivationFunction": "RELU"}
    drawn = [
        Layer(
            "DEPTHWISE_CONV_2D", (1, 13, 11, 2), (1, *window, 2), (1, 5, 6, 2), 3, options,
            seed=seed, zero_point_in=-128, zero_point_out=-128, spread=100.0,
        )
        for seed, window in enumerate([(2, 3), (2, 4), (1, 3), (1, 4)])
    ]  # fmt: skip
    check([(layer.model(), layer.input()) for layer in drawn])


@pytest.mark.parametrize("kind", ["conv", "depthwise"])
def test_slices_of_wider_tensors(kind: str) -> None:
    # Both halves of a tensor are read, and both halves of another written, where they lie.
    depth, rng = 12, np.random.default_rng(3)
    depthwise = kind == "depthwise"
    shape = (1, 3, 3, depth) if depthwise else (depth, 3, 3, depth)
    build = ModelBuilder().tensor("x", (1, 7, 5, 2 * depth), np.int8, scale=0.05, zero_point=-3)
    build.tensor("axis", (), np.int32, data=[3])
    for half in "ab":
        build.tensor(f"x{half}", (1, 7, 5, depth), np.int8, scale=0.05, zero_point=-3)
        weights = rng.integers(-127, 128, shape)
        build.tensor(f"w{half}", shape, np.int8, scale=0.01, data=weights)
        build.tensor(f"y{half}", (1, 7, 5, depth), np.int8, scale=0.4, zero_point=-128)
    build.tensor("y", (1, 7, 5, 2 * depth), np.int8, scale=0.4, zero_point=-128)
    build.op("SPLIT", ["axis", "x"], ["xa", "xb"], {"NumSplits": 2})
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "FusedActivationFunction": "RELU"}
    for half in "ab":
        operands = [f"x{half}", f"w{half}"]
        if depthwise:
            build.op("DEPTHWISE_CONV_2D", operands, [f"y{half}"], {**options, "DepthMultiplier": 1})
        else:
            build.op("CONV_2D", operands, [f"y{half}"], options)
    build.op("CONCATENATION", ["ya", "yb"], ["y"], {"Axis": 3})
    x = rng.integers(-128, 128, (1, 7, 5, 2 * depth)).astype(np.int8)
    check([(build.build(["x"], ["y"]), x)])


def test_matrices_row_by_row() -> None:
    """Every number of rows in a last block, lengths around one vector, every form of requantisation."""
    shapes = [(1, 15, 1), (2, 16, 2), (1, 33, 3), (1, 1, 4), (3, 17, 5), (1, 130, 9)]
    forms: list[dict[str, Any]] = [{"zero_point_out": -128}, {"zero_point_out": 5}, {"spread": 0.001}]
    layers = [
        Layer("FULLY_CONNECTED", (samples, inputs), (outputs, inputs), (samples, outputs), 0, **form)
        for (samples, inputs, outputs), form in zip(shapes, forms * 2, strict=True)
    ]
    check([(layer.model(), layer.input()) for layer in layers], kernel=mve_layers.ROWS)


def test_gathered_windows_of_many_chunks() -> None:
    # Four windows at once had more addresses than gcc found registers for in this layer.
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 2, "DilationHFactor": 4, "DilationWFactor": 4}
    layer = Layer(
        "CONV_2D", (2, 20, 8, 33), (4, 4, 1, 33), (2, 8, 4, 4), 0, {**options, "FusedActivationFunction": "RELU"},
        seed=2968, zero_point_in=3, zero_point_out=-128,
    )  # fmt: skip
    check([(layer.model(), layer.input())])


def test_long_sums_go_through_a_loop() -> None:
    check([(layer.model(), layer.input()) for layer in mve_layers.long_sums()])


@pytest.mark.parametrize("channels", [8, 16])
def test_windows_of_one_chunk(channels: int) -> None:
    # Weights stay in registers; the last pixels are computed apart, because a vector would reach beyond the input.
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1, "FusedActivationFunction": "RELU"}
    fields = {"zero_point_out": -128, "zero_point_in": -128}
    drawn = [
        Layer("CONV_2D", (2, 5, 7, channels), (12, 1, 1, channels), (2, 5, 7, 12), 0, options, **fields),
        Layer(
            "CONV_2D", (1, 5, 7, channels), (12, 1, 1, channels), (1, 3, 4, 12), 0,
            {**options, "StrideH": 2, "StrideW": 2}, **fields,
        ),
        Layer("CONV_2D", (1, 5, 7, 5), (4, 1, 3, 5), (1, 5, 5, 4), 0, options, **fields),
        Layer("CONV_2D", (1, 1, 1, channels), (8, 1, 1, channels), (1, 1, 1, 8), 0, options, **fields),
    ]  # fmt: skip
    check([(layer.model(), layer.input()) for layer in drawn])


def test_layers_whose_results_grow_over_their_operands() -> None:
    # A chain in which every tensor dies with the layer that reads it.
    rng = np.random.default_rng(8)
    build = ModelBuilder().tensor("t0", (1, 9, 7, 8), np.int8, scale=0.05, zero_point=-128)
    options = {"StrideH": 1, "StrideW": 1, "FusedActivationFunction": "RELU"}
    chain = [("CONV_2D", 1, 16), ("DEPTHWISE_CONV_2D", 3, 16), ("CONV_2D", 1, 24), ("CONV_2D", 3, 8), ("CONV_2D", 3, 5)]
    depth = 8
    for number, (kind, taps, channels) in enumerate(chain):
        depthwise = kind.startswith("DEPTH")
        shape = (1, taps, taps, channels) if depthwise else (channels, taps, taps, depth)
        build.tensor(f"w{number}", shape, np.int8, scale=0.01, data=rng.integers(-127, 128, shape))
        build.tensor(f"t{number + 1}", (1, 9, 7, channels), np.int8, scale=0.05, zero_point=-128)
        extra = {"DepthMultiplier": 1} if depthwise else {}
        build.op(kind, [f"t{number}", f"w{number}"], [f"t{number + 1}"], {**options, **extra, "Padding": "SAME"})
        depth = channels
    x = rng.integers(-128, 128, (1, 9, 7, 8)).astype(np.int8)
    check([(build.build(["t0"], [f"t{len(chain)}"]), x)])


def test_several_sums_of_one_model() -> None:
    # Their instructions differ: no code is shared.
    half, depth = (1, 3, 5, 24), 24
    build = ModelBuilder().tensor("x", (1, 3, 5, 2 * depth), np.int8, scale=0.05, zero_point=-3)
    build.tensor("axis", (), np.int32, data=[3])
    for name, scale in (("a", 0.05), ("b", 0.05), ("c", 0.07), ("d", 0.13), ("y", 0.09)):
        build.tensor(name, half, np.int8, scale=scale, zero_point=-3)
    build.op("SPLIT", ["axis", "x"], ["a", "b"], {"NumSplits": 2})
    for kind, operands, result in (("ADD", ["a", "b"], "c"), ("SUB", ["c", "a"], "d"), ("ADD", ["d", "b"], "y")):
        build.op(kind, operands, [result], {"FusedActivationFunction": "NONE"})
    x = np.random.default_rng(6).integers(-128, 128, (1, 3, 5, 2 * depth)).astype(np.int8)
    check([(build.build(["x"], ["y"]), x)])


@without_shrinking(either(3, 1))
@given(beyond_the_simplest(st.lists(st.one_of(mve_layers.pools(), mve_layers.sums()), min_size=BATCH, max_size=BATCH)))
def test_pools_and_sums(drawn: list[tuple[bytes, np.ndarray]]) -> None:
    check(drawn)


def test_clang_takes_the_assembler_too() -> None:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    depthwise = {**options, "DepthMultiplier": 1}
    drawn = [
        Layer("CONV_2D", (1, 4, 5, 16), (6, 3, 3, 16), (1, 4, 5, 6), 0, options),
        Layer("CONV_2D", (1, 4, 5, 3), (6, 3, 3, 3), (1, 4, 5, 6), 0, options, zero_point_out=-128),
        Layer("CONV_2D", (1, 4, 8, 3), (8, 3, 3, 3), (1, 4, 8, 8), 0, options, zero_point_out=-128),
        Layer("DEPTHWISE_CONV_2D", (1, 4, 5, 20), (1, 3, 3, 20), (1, 4, 5, 20), 3, depthwise),
        Layer(
            "DEPTHWISE_CONV_2D", (1, 9, 9, 8), (1, 3, 3, 8), (1, 5, 5, 8), 3, {**depthwise, "StrideH": 2, "StrideW": 2}
        ),
        Layer("DEPTHWISE_CONV_2D", (1, 30, 1, 20), (1, 5, 1, 20), (1, 26, 1, 20), 3, {**depthwise, "Padding": "VALID"}),
        Layer("CONV_2D", (1, 7, 5, 20), (6, 1, 1, 20), (1, 7, 5, 6), 0, options, zero_point_out=-128),
        Layer("CONV_2D", (1, 7, 5, 64), (4, 5, 3, 64), (1, 7, 5, 4), 0, options),
        Layer("CONV_2D", (1, 7, 6, 20), (6, 3, 3, 10), (1, 7, 6, 6), 0, {**options, "DilationWFactor": 2}),
        Layer("DEPTHWISE_CONV_2D", (1, 11, 9, 2), (1, 10, 8, 4), (1, 11, 9, 4), 3, {**options, "DepthMultiplier": 2}),
        Layer("FULLY_CONNECTED", (1, 40), (13, 40), (1, 13), 0, {}),
        Layer("FULLY_CONNECTED", (1, 640), (16, 640), (1, 16), 0, {}),
    ]
    check(
        [*((layer.model(), layer.input()) for layer in drawn), mve_layers.sum_of_halves(48, "ADD", "NONE", 1)],
        toolchain="zig",
    )


FEW_TAPS = "at most 16 rows, 8 columns and 32 taps, without dilation and depth multiplier"


@pytest.mark.parametrize(
    ("taps", "changes", "reason"),
    [
        (2, {"spread": 1e-4}, f"is for windows of {FEW_TAPS}, where a sum is multiplied by 1 or more"),
        (17, {}, "is for windows of at most 16 times 4x4 taps, and strides of at most 7"),
    ],
)
def test_what_is_left_to_other_kernels(taps: int, changes: dict[str, float], reason: str) -> None:
    from aboard.importers import load
    from aboard.kernels import of
    from aboard.target import Target

    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "DepthMultiplier": 2}
    layer = Layer("DEPTHWISE_CONV_2D", (1, 5, 5, 4), (1, taps, taps, 8), (1, 5, 5, 8), 3, options, **changes)
    (node,) = load(layer.model(), name="model").nodes
    (mve,) = (i for i in of(node.op) if i.name == MVE)
    assert mve.refuses(node, Target(BOARD)) == reason
    check([(layer.model(), layer.input())], with_helium=False)

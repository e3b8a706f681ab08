"""Kernels for Helium on an emulated Cortex-M55: random layers give the bytes of tflite-micro.

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
from support import oracle
from support.tflite_builder import ModelBuilder
from support.weighted_models import ACTIVATIONS, Layer, window_out

BOARD = "arm/mps3_an547"
MVE = "arm_mve_s8"
BATCH = 8


@st.composite
def window_layers(draw: st.DrawFn, kind: str) -> Layer:
    """Draws a convolution as wide as those of real models; vectors and blocks are rarely full."""
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    window = (draw(st.integers(1, 5)), draw(st.integers(1, 5)))
    strides = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    size = tuple(draw(st.integers(taps, taps + 6)) for taps in window)
    out = [window_out(*axis, 1, padding) for axis in zip(size, window, strides, strict=True)]
    batch, depth = draw(st.integers(1, 2)), draw(st.sampled_from([1, 2, 3, 4, 8, 12, 16, 17, 32, 40]))
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    if kind == "CONV_2D":
        channels = draw(st.sampled_from([1, 3, 4, 6, 8, 11, 16]))
        return Layer(kind, (batch, *size, depth), (channels, *window, depth), (batch, *out, channels), 0, options)
    options["DepthMultiplier"] = 1
    return Layer(kind, (batch, *size, depth), (1, *window, depth), (batch, *out, depth), 3, options)


@st.composite
def matrix_layers(draw: st.DrawFn) -> Layer:
    """Draws a fully connected layer."""
    samples, inputs = draw(st.integers(1, 3)), draw(st.sampled_from([1, 8, 15, 16, 33, 64, 200, 256, 400]))
    outputs = draw(st.one_of(st.integers(1, 21), st.sampled_from([8, 16, 24])))
    return Layer("FULLY_CONNECTED", (samples, inputs), (outputs, inputs), (samples, outputs), 0, {})


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    """Draws a layer of any kind with any quantisation, mostly one that is followed by a RELU."""
    kind = draw(st.sampled_from(["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"]))
    layer = draw(matrix_layers() if kind == "FULLY_CONNECTED" else window_layers(kind))
    layer.per_channel, layer.bias = draw(st.booleans()), draw(st.booleans())
    layer.spread = draw(st.sampled_from([1.0, 1.0, 1.0, 0.01, 100.0, 1e-4]))
    layer.zero_point_in = draw(st.sampled_from([-128, 127, 0, 3]))
    layer.zero_point_out = draw(st.sampled_from([-128, -128, -7, 127]))
    layer.seed, layer.zero_every = draw(st.integers(0, 2**20)), draw(st.sampled_from([0, 0, 0, 0, 3]))
    layer.options = {**layer.options, "FusedActivationFunction": draw(st.sampled_from(ACTIVATIONS))}
    return layer


def check(
    cases: Sequence[tuple[bytes, np.ndarray]], with_helium: bool = True, toolchain: str = "arm-none-eabi-gcc"
) -> None:
    """Fails unless all models, in one image, give the reference's bytes, with kernels for Helium alone or without."""
    modules = [aboard.compile(model, board=BOARD, name=f"m{i}") for i, (model, _) in enumerate(cases)]
    for module in modules:
        assert all((node.implementation == MVE) is with_helium for node in module.manifest.nodes)
    with tempfile.TemporaryDirectory() as folder:
        project = aboard.create(modules, board=BOARD, path=Path(folder) / "project")
        project.build(toolchain)
        with project.session() as device:
            for number, (model, x) in enumerate(cases):
                (wanted,) = oracle.tflm(model, x)
                np.testing.assert_array_equal(device.run(x, model=f"m{number}"), wanted, err_msg=f"model {number}")


# Without shrinking: an example takes seconds, and the message names the layer.
@settings(
    max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
@given(st.lists(layers(), min_size=BATCH, max_size=BATCH))
def test_random_layers(drawn: list[Layer]) -> None:
    check([(layer.model(), layer.input()) for layer in drawn])


@st.composite
def depthwise_layers(draw: st.DrawFn) -> Layer:
    """Draws a depthwise layer for which words of four pixels suit: several groups of results, and what is left over."""
    if draw(st.booleans()):
        window = (draw(st.integers(1, 4)), draw(st.integers(1, 4)))
        strides, padding = (draw(st.integers(1, 2)), draw(st.integers(1, 3))), draw(st.sampled_from(["SAME", "VALID"]))
        size = (draw(st.integers(4, 14)), draw(st.integers(4, 45)))
    else:
        window, strides, padding = (draw(st.integers(1, 13)), 1), (1, 1), "VALID"
        size = (draw(st.integers(14, 40)), draw(st.integers(1, 3)))
    if draw(st.booleans()):
        window, strides, size = window[::-1], strides[::-1], size[::-1]
    out = [window_out(*axis, 1, padding) for axis in zip(size, window, strides, strict=True)]
    batch, depth = draw(st.integers(1, 2)), draw(st.sampled_from([1, 2, 4, 5, 8, 16, 20, 33]))
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1], "DepthMultiplier": 1}
    options["FusedActivationFunction"] = draw(st.sampled_from(["NONE", "RELU"]))
    # Beyond eight columns there are words alone, which have no limits inside of int8.
    zero_points_out = [-128] if window[1] > 8 else [-128, -128, -7]
    return Layer(
        "DEPTHWISE_CONV_2D", (batch, *size, depth), (1, *window, depth), (batch, *out, depth), 3, options,
        seed=draw(st.integers(0, 2**20)), zero_point_in=draw(st.sampled_from([-128, 0, 3])),
        zero_point_out=draw(st.sampled_from(zero_points_out)), spread=draw(st.sampled_from([1.0, 1.0, 100.0])),
    )  # fmt: skip


@settings(
    max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
@given(st.lists(depthwise_layers(), min_size=BATCH, max_size=BATCH))
def test_depthwise_layers_in_words(drawn: list[Layer]) -> None:
    check([(layer.model(), layer.input()) for layer in drawn])


@st.composite
def convolutions(draw: st.DrawFn) -> Layer:
    """Draws a convolution for which four pixels at a time suit, read where they lie, in a band or from patches."""
    source = draw(st.sampled_from(["direct", "band", "patch"]))
    depth = draw(st.sampled_from({"direct": [4, 16, 20, 32, 60, 64], "band": [16, 32, 48], "patch": [1, 3, 5]}[source]))
    window = (1, 1) if source == "direct" else (draw(st.integers(1, 4)), draw(st.integers(2, 5)))
    strides, padding = (draw(st.integers(1, 2)), draw(st.integers(1, 2))), draw(st.sampled_from(["SAME", "VALID"]))
    size = (draw(st.integers(window[0], 9)), draw(st.integers(window[1], 13)))
    out = [window_out(*axis, 1, padding) for axis in zip(size, window, strides, strict=True)]
    batch, channels = draw(st.integers(1, 2)), draw(st.sampled_from([2, 4, 6, 10]))
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    options["FusedActivationFunction"] = draw(st.sampled_from(["NONE", "RELU"]))
    return Layer(
        "CONV_2D", (batch, *size, depth), (channels, *window, depth), (batch, *out, channels), 0, options,
        seed=draw(st.integers(0, 2**20)), zero_point_in=draw(st.sampled_from([-128, 0, 3])),
        zero_point_out=draw(st.sampled_from([-128, -128, -7])), spread=draw(st.sampled_from([1.0, 1.0, 100.0])),
    )  # fmt: skip


@settings(
    max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
@given(st.lists(convolutions(), min_size=BATCH, max_size=BATCH))
def test_convolutions_in_quads(drawn: list[Layer]) -> None:
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


def test_long_sums_go_through_a_loop() -> None:
    # More chunks than are unrolled: several rows of a window, one long row, and a single prime number of chunks.
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1, "FusedActivationFunction": "RELU"}
    drawn = [
        Layer("CONV_2D", (1, 4, 4, 80), (5, 3, 3, 80), (1, 2, 2, 5), 0, options, zero_point_out=-128),
        Layer("CONV_2D", (1, 2, 3, 256), (8, 1, 1, 256), (1, 2, 3, 8), 0, options, zero_point_out=-128),
        Layer("CONV_2D", (1, 4, 41, 64), (4, 3, 3, 64), (1, 2, 39, 4), 0, options),
        Layer("CONV_2D", (1, 4, 130, 16), (4, 3, 1, 16), (1, 2, 130, 4), 0, options),
        Layer("CONV_2D", (1, 7, 7, 64), (6, 5, 3, 64), (1, 3, 5, 6), 0, options, zero_point_out=-128),
        Layer("CONV_2D", (1, 1, 3, 17 * 16), (4, 1, 1, 17 * 16), (1, 1, 3, 4), 0, options, zero_point_out=-128),
        Layer("FULLY_CONNECTED", (1, 640), (13, 640), (1, 13), 0, {}, zero_point_out=-128),
    ]
    check([(layer.model(), layer.input()) for layer in drawn])


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


@st.composite
def pools(draw: st.DrawFn) -> tuple[bytes, np.ndarray]:
    """Draws a pool and its input."""
    window = (draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    strides, padding = (draw(st.integers(1, 3)), draw(st.integers(1, 3))), draw(st.sampled_from(["SAME", "VALID"]))
    size = tuple(draw(st.integers(taps, taps + 5)) for taps in window)
    out = [window_out(*axis, 1, padding) for axis in zip(size, window, strides, strict=True)]
    batch, depth = draw(st.integers(1, 2)), draw(st.sampled_from([1, 3, 8, 9, 16, 20, 33]))
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    options |= {"FilterHeight": window[0], "FilterWidth": window[1]}
    options["FusedActivationFunction"] = draw(st.sampled_from(ACTIVATIONS))
    build = ModelBuilder().tensor("x", (batch, *size, depth), np.int8, scale=0.03, zero_point=4)
    build.tensor("y", (batch, *out, depth), np.int8, scale=0.03, zero_point=4)
    build.op(draw(st.sampled_from(["AVERAGE_POOL_2D", "MAX_POOL_2D"])), ["x"], ["y"], options)
    x = np.random.default_rng(draw(st.integers(0, 99))).integers(-128, 128, (batch, *size, depth)).astype(np.int8)
    return build.build(["x"], ["y"]), x


def sum_of_halves(depth: int, kind: str, activation: str, seed: int) -> tuple[bytes, np.ndarray]:
    """Returns a model of the sum or difference of both halves of an input, and its input."""
    rng = np.random.default_rng(seed)
    scales = rng.uniform(0.01, 0.1, 3).astype(np.float32)
    half = (1, 3, 5, depth)
    build = ModelBuilder().tensor("x", (1, 3, 5, 2 * depth), np.int8, scale=0.05, zero_point=-3)
    build.tensor("y", half, np.int8, scale=float(scales[2]), zero_point=int(rng.choice([-128, 0, 7])))
    build.tensor("axis", (), np.int32, data=[3])
    for name in "ab":
        build.tensor(name, half, np.int8, scale=0.05, zero_point=-3)
    build.op("SPLIT", ["axis", "x"], ["a", "b"], {"NumSplits": 2})
    build.op(kind, ["a", "b"], ["y"], {"FusedActivationFunction": activation})
    return build.build(["x"], ["y"]), rng.integers(-128, 128, (1, 3, 5, 2 * depth)).astype(np.int8)


@st.composite
def sums(draw: st.DrawFn) -> tuple[bytes, np.ndarray]:
    """Draws the sum or difference of both halves of an input."""
    depth, kind = draw(st.sampled_from([1, 4, 7, 16, 37, 48])), draw(st.sampled_from(["ADD", "SUB"]))
    return sum_of_halves(depth, kind, draw(st.sampled_from(ACTIVATIONS)), draw(st.integers(0, 99)))


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


@settings(
    max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
@given(st.lists(st.one_of(pools(), sums()), min_size=BATCH, max_size=BATCH))
def test_pools_and_sums(drawn: list[tuple[bytes, np.ndarray]]) -> None:
    check(drawn)


def test_clang_takes_the_assembler_too() -> None:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    depthwise = {**options, "DepthMultiplier": 1}
    drawn = [
        Layer("CONV_2D", (1, 4, 5, 16), (6, 3, 3, 16), (1, 4, 5, 6), 0, options),
        Layer("CONV_2D", (1, 4, 5, 3), (6, 3, 3, 3), (1, 4, 5, 6), 0, options, zero_point_out=-128),
        Layer("DEPTHWISE_CONV_2D", (1, 4, 5, 20), (1, 3, 3, 20), (1, 4, 5, 20), 3, depthwise),
        Layer(
            "DEPTHWISE_CONV_2D", (1, 9, 9, 8), (1, 3, 3, 8), (1, 5, 5, 8), 3, {**depthwise, "StrideH": 2, "StrideW": 2}
        ),
        Layer("DEPTHWISE_CONV_2D", (1, 30, 1, 20), (1, 5, 1, 20), (1, 26, 1, 20), 3, {**depthwise, "Padding": "VALID"}),
        Layer("CONV_2D", (1, 7, 5, 20), (6, 1, 1, 20), (1, 7, 5, 6), 0, options, zero_point_out=-128),
        Layer("CONV_2D", (1, 7, 5, 64), (4, 5, 3, 64), (1, 7, 5, 4), 0, options),
        Layer("FULLY_CONNECTED", (1, 40), (13, 40), (1, 13), 0, {}),
        Layer("FULLY_CONNECTED", (1, 640), (16, 640), (1, 16), 0, {}),
    ]
    check([*((layer.model(), layer.input()) for layer in drawn), sum_of_halves(48, "ADD", "NONE", 1)], toolchain="zig")


@pytest.mark.parametrize(
    ("kind", "changes", "reason"),
    [
        ("CONV_2D", {"DilationHFactor": 2, "DilationWFactor": 2}, "is for windows without dilation"),
        ("DEPTHWISE_CONV_2D", {"DilationHFactor": 2, "DilationWFactor": 2}, "is for windows without dilation"),
        ("DEPTHWISE_CONV_2D", {"DepthMultiplier": 2}, "is for one output channel per input channel"),
    ],
)
def test_what_is_left_to_other_kernels(kind: str, changes: dict[str, int], reason: str) -> None:
    from aboard.importers import load
    from aboard.kernels import of
    from aboard.target import Target

    channels = 4 * changes.get("DepthMultiplier", 1)
    shape = (1, 2, 2, channels) if kind.startswith("DEPTH") else (channels, 2, 2, 4)
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "DepthMultiplier": 1, **changes}
    if kind == "CONV_2D":
        del options["DepthMultiplier"]
    axis = 3 if kind.startswith("DEPTH") else 0
    layer = Layer(kind, (1, 5, 5, 4), shape, (1, 5, 5, channels), axis, options)
    (node,) = load(layer.model(), name="model").nodes
    (mve,) = (i for i in of(node.op) if i.name == MVE)
    assert mve.refuses(node, Target(BOARD)) == reason
    check([(layer.model(), layer.input())], with_helium=False)

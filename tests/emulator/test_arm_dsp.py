"""Kernels for the DSP extension on an emulated Cortex-M4: random layers give the bytes of tflite-micro.

Each image carries several models, because building one takes longer than running them all.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aboard
from aboard.kernels.select import strategy
from support.dsp_device import check, rows_of
from support.dsp_layers import (
    BLOCKS,
    COLUMNS,
    DSP,
    FEW,
    HIGH,
    LARGE,
    NAMES,
    ONE,
    PLANE,
    POINTS,
    WIDE,
    WINOGRAD,
    WINOGRAD_4X4,
    LargeSums,
    extremes,
    layers,
    window_layer,
)
from support.examples import beyond_the_simplest, either, without_shrinking
from support.preferred import preferred
from support.tflite_builder import ModelBuilder
from support.weighted_models import ACTIVATIONS, Layer, window_out

BATCH = 10
KINDS = ("CONV_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


@without_shrinking(either(5, 1))
@given(
    beyond_the_simplest(st.lists(st.sampled_from(KINDS).flatmap(layers), min_size=BATCH, max_size=BATCH)),
    st.sampled_from(["balanced", "speed", "size"]),
)
def test_random_layers(drawn: list[Layer], opt: str) -> None:
    # With -opt=speed estimated cycles decide, of small layers also for portable C.
    if opt == "speed":
        check([(layer.model(), layer.input()) for layer in drawn], opt=opt, names=(*NAMES, "portable_s8"))
        return
    with strategy.forced(preferred(*NAMES)):
        check([(layer.model(), layer.input()) for layer in drawn], opt=opt)


def dense(inputs: int, outputs: int, zero_point: int = -128, *, per_channel: bool = False) -> Layer:
    shapes = (1, inputs), (outputs, inputs), (1, outputs)
    return Layer("FULLY_CONNECTED", *shapes, 0, per_channel=per_channel, zero_point_out=zero_point)


def pointwise(depth: int, channels: int, zero_point: int = -128) -> Layer:
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1}
    shapes = (1, 1, 3, depth), (channels, 1, 1, depth), (1, 1, 3, channels)
    return Layer("CONV_2D", *shapes, 0, options, zero_point_out=zero_point)


#: Zero points and preferences: each pair in an image of its own; in every run two pairs take turns in one image.
WAYS = either([((z, opt),) for z in (-128, 5) for opt in ("balanced", "size")], [((-128, "balanced"), (5, "size"))])
Ways = tuple[tuple[int, str], ...]


@pytest.mark.parametrize("ways", WAYS)
def test_every_entry_of_the_unrolled_loops(ways: Ways) -> None:
    # One tap group, odd and even numbers of them, one iteration and more.
    zero = itertools.cycle(zero for zero, _ in ways)
    drawn = [pointwise(4 * groups, 2, next(zero)) for groups in (1, 2, 3, 8, 13, 15, 16, 17, 31, 32, 34)]
    drawn += [dense(4 * groups, 4, next(zero)) for groups in (1, 2, 3, 7, 15, 16, 17, 18, 32, 33, 65, 72, 81, 160)]
    with strategy.forced(preferred(*NAMES)):
        check([(layer.model(), layer.input()) for layer in drawn], opt=[opt for _, opt in ways])


@pytest.mark.parametrize("opt", ["balanced", "size"])
def test_matrices_with_a_scale_for_each_channel(opt: str) -> None:
    # By lines and by two roundings, staged and where they lie; whole blocks of channels and parts of them.
    drawn = [
        dense(inputs, outputs, zero_point, per_channel=True)
        for inputs, outputs in [(4, 4), (7, 9), (64, 5), (130, 12), (260, 8), (400, 3)]
        for zero_point in (-128, 5)
    ]
    # One scale, and a channel whose result is the same for all inputs.
    drawn += [dataclasses.replace(dense(37, 6), outlier=outlier) for outlier in (2**30, -(2**30))]
    with strategy.forced(preferred(*NAMES)):
        check([(layer.model(), layer.input()) for layer in drawn], opt=opt)


def shallow(depth: int, channels: int, activation: str = "NONE", rows: int = 10) -> Layer:
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1, "FusedActivationFunction": activation}
    shapes = (1, rows, 13, depth), (channels, 1, 1, depth), (1, rows, 13, channels)
    return Layer("CONV_2D", *shapes, 0, options, zero_point_out=-128)


def test_pixels_in_registers() -> None:
    drawn = [shallow(8, 4), shallow(8, 20), shallow(16, 4), shallow(16, 12), shallow(8, 8, "RELU6")]
    # Pairs of pixels, and a last single one.
    drawn += [shallow(8, 12, rows=11), shallow(8, 4, "RELU", 9)]
    with strategy.forced(preferred(POINTS)):
        check([(layer.model(), layer.input()) for layer in drawn], opt="speed", names=[POINTS])


def few(
    depth: int, channels: int, size: tuple[int, int], stride: int = 1, activation: str = "NONE", groups: int = 1
) -> Layer:
    options = {"Padding": "VALID", "StrideH": stride, "StrideW": stride, "FusedActivationFunction": activation}
    out = [window_out(n, 1, stride, 1, "VALID") for n in size]
    shapes = (1, *size, groups * depth), (groups * channels, 1, 1, depth), (1, *out, groups * channels)
    return Layer("CONV_2D", *shapes, 0, options, zero_point_out=(-128, 5)[(depth + channels) % 2])


@pytest.mark.parametrize("depths", [range(1, 5), range(5, 9)], ids=["one word", "two words"])
def test_pixels_of_few_channels(depths: range) -> None:
    # Every entry of the loop, pairs and a last single pixel, words that reach behind the last pixel, strides.
    kinds = itertools.product(depths, (1, 2, 3, 4, 5, 11))
    sizes = itertools.cycle([((3, 5), 1), ((4, 3), 2), ((1, 1), 1), ((2, 2), 1), ((1, 3), 1), ((7, 9), 4)])
    drawn = [
        few(depth, channels, size, stride, "RELU6" if channels == 5 else "NONE")
        for (depth, channels), (size, stride) in zip(kinds, sizes, strict=False)
    ]
    drawn += [few(depth, 4, size) for depth in depths for size in ((3, 5), (2, 2), (1, 2), (1, 3))]
    # Groups of one channel are a depthwise layer.
    drawn += [few(depth, 3, (3, 3), activation="RELU6", groups=n) for depth in depths for n in (2, 3) if depth > 1]
    with strategy.forced(preferred(FEW)):
        check([(layer.model(), layer.input()) for layer in drawn], opt=["balanced", "size"], names=[FEW])


def plane(size: tuple[int, int], channels: int, stride: int, padding: str, activation: str = "NONE") -> Layer:
    options = {"Padding": padding, "StrideH": stride, "StrideW": stride, "FusedActivationFunction": activation}
    out = [window_out(n, 3, stride, 1, padding) for n in size]
    shapes = (1, *size, 1), (channels, 3, 3, 1), (1, *out, channels)
    return Layer("CONV_2D", *shapes, 0, options, zero_point_out=(-128, 5)[(size[1] + channels) % 2])


@pytest.mark.parametrize("stride", [1, 2])
def test_windows_over_one_channel(stride: int) -> None:
    # Every entry of the loop; pairs in the input and copied ones; a last single pixel; narrower than a window.
    widths = itertools.cycle([3, 4, 5, 6, 7, 8, 9, 12, 13])
    kinds = itertools.product(("SAME", "VALID"), (2, 3, 4, 5, 8, 11))
    drawn = [
        plane((7, width), channels, stride, padding, "RELU6" if channels == 5 else "NONE")
        for (padding, channels), width in zip(kinds, widths, strict=False)
    ]
    drawn += [plane((5, width), 4, stride, "SAME") for width in (1, 2, 3, 4)]
    with strategy.forced(preferred(PLANE)):
        check([(layer.model(), layer.input()) for layer in drawn], opt=["balanced", "size"], names=[PLANE])


def test_high_strips() -> None:
    sizes = [((30, 21, 8), 1, "VALID"), ((25, 50, 4), 2, "SAME"), ((33, 33, 4), 1, "SAME"), ((40, 13, 8), 2, "VALID")]
    drawn = [window_layer(size, (3, 3), stride, 1, padding) for size, stride, padding in sizes]
    with strategy.forced(preferred(HIGH)):
        check([(layer.model(), layer.input()) for layer in drawn], opt="speed", names=[HIGH])


def many_pixels(depth: int, channels: int) -> Layer:
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1}
    shapes = (1, 13, 20, depth), (channels, 1, 1, depth), (1, 13, 20, channels)
    return Layer("CONV_2D", *shapes, 0, options, zero_point_out=-128)


def test_every_entry_with_wide_weights() -> None:
    pairs = [(1, 4), (3, 6), (5, 3), (6, 2), (7, 8), (8, 5), (9, 4), (13, 3), (16, 6)]
    drawn = [many_pixels(4 * groups, channels) for groups, channels in pairs]
    # By cycles some of them are computed otherwise.
    with strategy.forced(preferred(WIDE)):
        check([(layer.model(), layer.input()) for layer in drawn], opt="speed", names=[WIDE])


@pytest.mark.parametrize("ways", WAYS)
def test_every_entry_of_blocks_of_four_channels(ways: Ways) -> None:
    # One tap group to more than two iterations of eight; the last pixel of three has no neighbour.
    zero = itertools.cycle(zero for zero, _ in ways)
    drawn = [pointwise(4 * groups, 8, next(zero)) for groups in (*range(1, 10), 15, 16, 17, 24)]
    # Channels behind whole blocks, and pixels that are no whole words, of which the last are copied.
    pairs = [(4, 5), (9, 4), (10, 7), (33, 6), (15, 10), (35, 21)]
    drawn += [pointwise(depth, channels, next(zero)) for depth, channels in pairs]
    drawn += [few(depth, channels, (3, 4), 2, "RELU6", 2) for depth, channels in [(8, 5), (7, 6)]]
    drawn += [few(9, 5, (4, 4), activation="RELU6"), few(6, 4, (1, 1)), few(9, 5, (2, 3), groups=3)]
    # Fewer channels than a block.
    drawn += [pointwise(20, 3, 5), few(20, 3, (4, 3)), few(9, 3, (3, 3), activation="RELU6", groups=2)]
    with strategy.forced(preferred(BLOCKS)):
        check([(layer.model(), layer.input()) for layer in drawn], opt=[opt for _, opt in ways], names=[BLOCKS])


@pytest.mark.parametrize("ways", WAYS)
def test_every_width_of_shared_columns(ways: Ways) -> None:
    zero = itertools.cycle(zero for zero, _ in ways)
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "FusedActivationFunction": "RELU"}
    drawn = [
        Layer("CONV_2D", (1, 4, cols, depth), (8, 3, 3, depth), (1, 4, cols, 8), 0, options, zero_point_out=next(zero))
        for cols, depth in [(1, 4), (2, 8), (3, 12), (4, 4), (5, 16), (6, 4), (7, 20), (9, 8)]
    ]
    with strategy.forced(preferred(COLUMNS)):
        check([(layer.model(), layer.input()) for layer in drawn], opt=[opt for _, opt in ways], names=[COLUMNS])


def tiles(size: tuple[int, int], depth: int, kind: type[Layer] = Layer, channels: int = 8) -> Layer:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "FusedActivationFunction": "RELU"}
    shapes = (1, *size, depth), (channels, 3, 3, depth), (1, *size, channels)
    return kind("CONV_2D", *shapes, 0, options)


@pytest.mark.parametrize("name", [WINOGRAD, WINOGRAD_4X4])
@pytest.mark.parametrize("zero_points", either([(-128,), (5,)], [(-128, 5)]))
def test_tiles_of_every_size_and_number_of_channels(zero_points: tuple[int, ...], name: str) -> None:
    # Code of 16 channels, of multiples of it, and of others with each entry of its loop; tiles of which parts miss.
    sizes = [((4, 4), 16), ((1, 1), 16), ((3, 5), 16), ((5, 7), 4), ((2, 2), 8), ((3, 3), 12), ((3, 4), 20)]
    sizes += [((4, 6), 32), ((3, 7), 36), ((5, 9), 48), ((6, 13), 8)]
    drawn = [tiles(size, depth) for size, depth in sizes]
    # The last four channels are among those before; of 13 to 15 channels as of 16.
    odd = [((5, 6), 5, 7), ((4, 9), 15, 5), ((3, 4), 31, 4), ((2, 5), 6, 9), ((4, 4), 4, 6)]
    drawn += [tiles(size, depth, channels=channels) for size, depth, channels in odd]
    # Fewer channels than four.
    drawn += [tiles(size, depth, channels=3) for size, depth in [((3, 5), 16), ((6, 10), 7), ((1, 2), 4)]]
    # Sums beyond 2^23, and all values at the ends of their ranges.
    drawn += [tiles((3, 3), 96, LargeSums), extremes(16)]
    for layer, zero_point in zip(drawn, itertools.cycle(zero_points), strict=False):
        layer.zero_point_out = zero_point
    with strategy.forced(preferred(name)):
        opt = "speed" if name == WINOGRAD_4X4 else "balanced"
        check([(layer.model(), layer.input()) for layer in drawn], opt=opt, names=[name])


@pytest.mark.parametrize("widths", either([(4,), (5,), (9,)], [(4, 5, 9)]))
def test_windows_of_a_word_at_every_edge(widths: tuple[int, ...]) -> None:
    # Rows of a window that are one word are shifted where part of them is padding.
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    drawn = [
        Layer("CONV_2D", (1, 5, width, depth), (2, 3, 4 // depth, depth), (1, 5, width, 2), 0, options)
        for width in widths
        for depth in (1, 2)
    ]
    check([(layer.model(), layer.input()) for layer in drawn])


def row_ends(window: tuple[int, int], depth: int, cols: int, stride: int, padding: str) -> Layer:
    out = [window_out(n, taps, stride, 1, padding) for n, taps in zip((5, cols), window, strict=True)]
    options = {"Padding": padding, "StrideH": stride, "StrideW": stride}
    return Layer("CONV_2D", (1, 5, cols, depth), (4, *window, depth), (1, *out, 4), 0, options)


@pytest.mark.parametrize("padding", either(["SAME", "VALID"], ["SAME"]))
def test_rows_of_windows_that_end_within_a_word(padding: str) -> None:
    # Their last words have bytes of the next pixel, behind the last pixel of a row of none.
    kinds = [((3, 3), 1), ((2, 3), 1), ((1, 7), 1), ((3, 3), 5), ((1, 2), 3), ((2, 1), 3), ((3, 1), 7)]
    drawn = [row_ends(*kind, 10 + number % 3, 1 + number % 2, padding) for number, kind in enumerate(kinds)]
    for name in (BLOCKS, DSP):
        with strategy.forced(preferred(name)):
            check([(layer.model(), layer.input()) for layer in drawn], opt=["balanced", "size"], names=[name])


@st.composite
def pools(draw: st.DrawFn) -> tuple[bytes, np.ndarray]:
    """Draws a pool over four channels or more, and its input; some cover the image, with extreme values."""
    size = tuple(draw(st.integers(1, 9)) for _ in range(2))
    window = size if draw(st.booleans()) else tuple(draw(st.integers(1, min(n, 4))) for n in size)
    strides, padding = [draw(st.integers(1, 3)) for _ in range(2)], draw(st.sampled_from(["SAME", "VALID"]))
    out = [window_out(*axis, 1, padding) for axis in zip(size, window, strides, strict=True)]
    # Averages of fewer pixels of other channels are portable.
    batch, depth = (
        draw(st.integers(1, 2)),
        draw(st.integers(4, 21) if np.prod(window) >= 5 else st.sampled_from([4, 12])),
    )
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    options |= {"FilterHeight": window[0], "FilterWidth": window[1]}
    options["FusedActivationFunction"] = draw(st.sampled_from(ACTIVATIONS))
    build = ModelBuilder().tensor("x", (batch, *size, depth), np.int8, scale=0.03, zero_point=4)
    build.tensor("y", (batch, *out, depth), np.int8, scale=0.03, zero_point=4)
    build.op(draw(st.sampled_from(["AVERAGE_POOL_2D", "MAX_POOL_2D"])), ["x"], ["y"], options)
    rng, least = np.random.default_rng(draw(st.integers(0, 99))), draw(st.sampled_from([-128, 0, 100]))
    x = np.where(rng.random((batch, *size, depth)) < 0.1, -128, rng.integers(least, 128, (batch, *size, depth)))
    return build.build(["x"], ["y"]), x.astype(np.int8)


@without_shrinking(either(2, 1))
@given(beyond_the_simplest(st.lists(pools(), min_size=BATCH, max_size=BATCH)))
def test_pools(drawn: list[tuple[bytes, np.ndarray]]) -> None:
    check(drawn)


@pytest.mark.parametrize("depth", [4, 6, 9])
def test_averages_that_arrive_row_by_row(depth: int) -> None:
    rng = np.random.default_rng(depth)
    build = ModelBuilder().tensor("x", (1, 14, 9, 2), np.int8, scale=0.05, zero_point=-3)
    build.tensor("w", (depth, 3, 3, 2), np.int8, scale=0.01, data=rng.integers(-127, 128, (depth, 3, 3, 2)))
    build.tensor("m", (1, 14, 9, depth), np.int8, scale=0.1, zero_point=7)
    build.tensor("y", (1, 1, 1, depth), np.int8, scale=0.1, zero_point=7)
    build.op("CONV_2D", ["x", "w"], ["m"], {"Padding": "SAME", "StrideH": 1, "StrideW": 1})
    window = {"FilterHeight": 14, "FilterWidth": 9, "Padding": "VALID", "StrideH": 1, "StrideW": 1}
    model = build.op("AVERAGE_POOL_2D", ["m"], ["y"], window).build(["x"], ["y"])
    with strategy.forced(preferred("dsp_s8")):
        module = aboard.compile(model, target="c -mcpu=cortex-m4 -opt=size", name="m")
        assert "aboard_average_pool2d_rows_dsp" in {step.call.function for step in module.schedule().program.steps}
        check([(model, rng.integers(-128, 128, (1, 14, 9, 2)).astype(np.int8))], opt="size", names=["dsp_s8"])


@pytest.mark.parametrize(("board", "opt"), [("arm/mps2_an500", "speed"), ("arm/mps2_an505", "size")])
def test_other_cores_and_preferences(board: str, opt: str) -> None:
    drawn = [pointwise(40, 5), pointwise(12, 4, 3), rows_of(7, 1), rows_of(9, 2, 3), dense(50, 6), dense(64, 8, 3)]
    with strategy.forced(preferred(*NAMES)):
        check([(layer.model(), layer.input()) for layer in drawn], board, opt)


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
        build.tensor(f"w{half}", shape, np.int8, scale=0.01, data=rng.integers(-127, 128, shape))
        build.tensor(f"y{half}", (1, 7, 5, depth), np.int8, scale=0.4, zero_point=-128)
    build.tensor("y", (1, 7, 5, 2 * depth), np.int8, scale=0.4, zero_point=-128)
    build.op("SPLIT", ["axis", "x"], ["xa", "xb"], {"NumSplits": 2})
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "FusedActivationFunction": "RELU"}
    for half in "ab":
        if depthwise:
            operands = [f"x{half}", f"w{half}"]
            build.op("DEPTHWISE_CONV_2D", operands, [f"y{half}"], {**options, "DepthMultiplier": 1})
        else:
            build.op("CONV_2D", [f"x{half}", f"w{half}"], [f"y{half}"], options)
    build.op("CONCATENATION", ["ya", "yb"], ["y"], {"Axis": 3})
    x = rng.integers(-128, 128, (1, 7, 5, 2 * depth)).astype(np.int8)
    check([(build.build(["x"], ["y"]), x)])


def large(inputs: int, outputs: int, least: int) -> LargeSums:
    return LargeSums("FULLY_CONNECTED", (1, inputs), (outputs, inputs), (1, outputs), 0, least=least)


@pytest.mark.parametrize("opt", either(["balanced", "size"], ["balanced"]))
def test_sums_beyond_those_of_pairs_and_one_channel(opt: str) -> None:
    # A block's last call of one tap group, of all 128, of some; one channel left over; the largest sums of all.
    drawn = [large(inputs, outputs, 127) for inputs, outputs in [(516, 4), (1024, 5), (1027, 6), (1540, 3), (4000, 4)]]
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    for depth, channels in ((80, 5), (83, 4), (300, 13)):
        shapes = (1, 4, 3, depth), (channels, 3, 3, depth), (1, 4, 3, channels)
        drawn.append(LargeSums("CONV_2D", *shapes, 0, options, least=100))
    single = [dense(n, 1, zero_point) for n in (1, 7, 90, 129) for zero_point in (-128, 5)]
    with strategy.forced(preferred(LARGE, ONE)):
        check([(layer.model(), layer.input()) for layer in [*drawn, *single]], opt=opt, names=[LARGE, ONE])


@pytest.mark.parametrize("opt", ["balanced", "speed", "size"])
def test_every_entry_of_the_loops_of_one_channel(opt: str) -> None:
    # An iteration has up to 16 tap groups; inputs at any address.
    drawn = [dense(4 * groups + groups % 3, 1, 5) for groups in (*range(1, 18), 31, 32, 33)]
    for depth, window in ((16, 1), (5, 3), (12, 3)):
        shapes = (1, 5, 4, depth), (1, window, window, depth), (1, 5, 4, 1)
        options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
        drawn.append(Layer("CONV_2D", *shapes, 0, options, zero_point_out=-128))
    with strategy.forced(preferred(ONE)):
        check([(layer.model(), layer.input()) for layer in drawn], opt=opt, names=[ONE])

"""Depthwise kernels for the DSP extension on an emulated Cortex-M4: every size of block, strip and window."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from aboard.importers import load
from aboard.kernels import of
from aboard.kernels.contract import Implementation
from aboard.kernels.select import strategy
from aboard.kernels.view import View
from aboard.tuning.choice import GIVEN, ChosenPoint
from support.dsp_device import check, rows_of
from support.dsp_layers import COLUMN, DSP, ONE, PACKED, TARGET, window_layer
from support.examples import either
from support.preferred import preferred
from support.weighted_models import Layer


def depthwise(rows: int, cols: int, channels: int, activation: str = "NONE") -> Layer:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "DepthMultiplier": 1}
    options["FusedActivationFunction"] = activation
    shapes = (1, rows, cols, channels), (1, 3, 3, channels), (1, rows, cols, channels)
    return Layer("DEPTHWISE_CONV_2D", *shapes, 3, options)


def apart(cols: int, zero_point: int) -> Layer:
    options = {"Padding": "VALID", "StrideH": 2, "StrideW": 2, "DepthMultiplier": 1}
    shapes = (1, 6, cols, 8), (1, 3, 3, 8), (1, 2, (cols - 1) // 2, 8)
    return Layer("DEPTHWISE_CONV_2D", *shapes, 3, options, zero_point_out=zero_point)


@pytest.mark.parametrize("zero_points", either([(-128,), (5,)], [(-128, 5)]))
def test_every_size_of_block(zero_points: tuple[int, ...]) -> None:
    zero = itertools.cycle(zero_points)
    drawn = [rows_of(cols, 1, next(zero)) for cols in (1, 2, 3, 4, 5, 6, 7, 10, 12, 17)]
    drawn += [rows_of(cols, 2, next(zero)) for cols in (2, 3, 5, 8, 10, 13, 24, 26)]
    with strategy.forced(preferred(DSP)):
        check([(layer.model(), layer.input()) for layer in drawn])


def in_strips(rows: int) -> strategy.Rule:
    """Returns a rule that computes depthwise layers in strips of so many rows."""

    def rule(explained: strategy.Explanation) -> Implementation:
        (found,) = (c.implementation for c in explained.candidates if c.implementation.name == DSP)
        return found.at(ChosenPoint({"strip": rows}, GIVEN))

    return rule


@pytest.mark.parametrize("rows", [1, 2])
def test_strips_of_few_rows(rows: int) -> None:
    # Every way through the loops over columns; the last strip of two has one row. One, two and more groups of channels.
    zero = itertools.cycle((-128, 5))
    drawn = [rows_of(cols, 1, next(zero)) for cols in (1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9)]
    drawn += [dataclasses.replace(depthwise(height, 5, 12), zero_point_out=next(zero)) for height in (1, 1, 2, 2, 3, 6)]
    drawn += [depthwise(4, 6, 8, "RELU_N1_TO_1")]
    # Windows two pixels apart: padding on the left, on the right, on both sides and on none.
    drawn += [rows_of(cols, 2, next(zero)) for cols in (3, 3, 4, 4, 5, 6, 7, 8, 9)]
    drawn += [apart(cols, next(zero)) for cols in (5, 5, 6, 7, 8, 9)]
    with strategy.forced(in_strips(rows)):
        check([(layer.model(), layer.input()) for layer in drawn], names=[DSP])


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_results_nearly_as_large_as_their_sums(rows: int) -> None:
    # Their single roundings have no shift: blocks of each size, narrow rows, strips of one and of two rows.
    drawn = [rows_of(cols, 1) for cols in (1, 2, 3, 4, 5, 6, 7, 10, 17)] + [rows_of(cols, 2) for cols in (3, 5, 8, 13)]
    drawn += [depthwise(5, 8, 12, "RELU"), apart(9, -128), apart(40, -128)]
    for layer in drawn:
        layer.spread = 0.03
        layer.zero_point_out = -128
        (node,) = load(layer.model(), name="model").nodes
        views = [View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out)]
        (kernel,) = (each for each in of(node.op) if each.name == DSP)
        assert kernel.lower(node, [views[0], None, None], [views[1]], TARGET).params["single_rounding"] == 2
    with strategy.forced(in_strips(rows) if rows else preferred(DSP)):
        check([(layer.model(), layer.input()) for layer in drawn], names=[DSP])


@pytest.mark.parametrize(
    ("zero_point", "opt"), either([(z, opt) for z in (-128, 5) for opt in ("balanced", "speed", "size")], [(5, "size")])
)
def test_every_number_of_words_of_two_taps(zero_point: int, opt: str) -> None:
    # Blocks of one to three sums, the last one of each size, and one to five words of taps; strides, dilations.
    drawn = [window_layer((3, cols, 5), (2, taps)) for cols, taps in [(3, 5), (4, 2), (5, 6), (7, 3), (12, 5), (14, 9)]]
    drawn += [window_layer((5, 14, 3), (3, taps), 2) for taps in (3, 8)]
    drawn += [window_layer((5, 13, 6), (3, taps), 1, dilation) for taps, dilation in ((3, 2), (5, 3))]
    # The last rows of windows are beyond the offsets of loads from the first.
    drawn += [*(window_layer((7, 96, 2), (7, taps)) for taps in (5, 7)), window_layer((8, 20, 3), (7, 7), 1, 3)]
    for layer in drawn:
        layer.zero_point_out = zero_point
    with strategy.forced(preferred(PACKED)):
        check([(layer.model(), layer.input()) for layer in drawn], opt=opt, names=[PACKED])


@pytest.mark.parametrize("opt", either(["balanced", "speed", "size"], ["size"]))
def test_windows_of_one_column(opt: str) -> None:
    # Blocks of six results, with and without a first one of fewer, pairs and single results; odd and even taps.
    drawn = [
        window_layer((rows + taps - 1, cols, channels), (taps, 1), padding="VALID")
        for taps, rows, cols, channels in [
            (2, 6, 1, 3), (3, 7, 2, 5), (4, 11, 1, 8), (5, 12, 1, 16), (6, 1, 3, 4), (7, 3, 1, 5), (8, 4, 2, 2),
            (10, 15, 1, 32), (15, 1, 1, 6), (21, 9, 1, 3), (32, 8, 1, 2),
        ]
    ]  # fmt: skip
    zero = itertools.cycle((-128, 5))
    for layer in drawn:
        layer.zero_point_out = next(zero)
    drawn[4].options = {**drawn[4].options, "FusedActivationFunction": "RELU_N1_TO_1"}
    with strategy.forced(preferred(COLUMN)):
        check([(layer.model(), layer.input()) for layer in drawn], opt=opt, names=[COLUMN])


@pytest.mark.parametrize("opt", either(["balanced", "speed", "size"], ["balanced", "size"]))
def test_one_window(opt: str) -> None:
    # Taps modulo four, by both roundings; last channels that are computed twice; rows, columns, dilation.
    drawn = [
        dataclasses.replace(window_layer((taps, 1, channels), (taps, 1), padding="VALID"), zero_point_out=zero_point)
        for zero_point in (-128, 5)
        for taps, channels in [(2, 4), (3, 5), (4, 6), (5, 7), (6, 8), (7, 30), (8, 12), (9, 60), (15, 32), (21, 9)]
    ]
    drawn += [window_layer((5, 5, 6), (5, 5), padding="VALID"), window_layer((9, 9, 4), (5, 5), 1, 2, padding="VALID")]
    drawn += [window_layer((2, 2, 7), (3, 3), 2), window_layer((3, 2, 5), (9, 3), 3)]
    drawn[4].options = {**drawn[4].options, "FusedActivationFunction": "RELU_N1_TO_1"}
    drawn[15].zero_every, drawn[16].outlier = 3, 2**30
    for layer in drawn[18:22]:
        layer.shape_in, layer.shape_out = (2, *layer.shape_in[1:]), (2, *layer.shape_out[1:])
    with strategy.forced(preferred(ONE)):
        check([(layer.model(), layer.input()) for layer in drawn], opt=opt, names=[ONE])

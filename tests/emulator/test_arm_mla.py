"""Kernels with MLA on an emulated Cortex-M3: random layers give the bytes of tflite-micro.

Each image carries several models, because building one takes longer than running them all.
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import beyond_the_simplest, either, without_shrinking
from support.mla_layers import KERNELS, ROWS, extreme
from support.weighted_models import Layer

BOARD = "arm/mps2_an385"
BATCH = 10
KINDS = ("CONV_2D", *KERNELS.kinds)


@without_shrinking(either(5, 1))
@given(beyond_the_simplest(st.lists(st.sampled_from(KINDS).flatmap(KERNELS.layers), min_size=BATCH, max_size=BATCH)))
def test_random_layers(drawn: list[Layer]) -> None:
    KERNELS.check(drawn, BOARD)


@without_shrinking(either(5, 1))
@given(beyond_the_simplest(st.lists(ROWS.layers("FULLY_CONNECTED"), min_size=BATCH, max_size=BATCH)))
def test_random_matrices(drawn: list[Layer]) -> None:
    ROWS.check(drawn, BOARD)


def pointwise(depth: int, channels: int, zero_point: int, activation: str = "NONE") -> Layer:
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1, "FusedActivationFunction": activation}
    shapes = (1, 1, 3, depth), (channels, 1, 1, depth), (1, 1, 3, channels)
    return Layer("CONV_2D", *shapes, 0, options, zero_point_out=zero_point)


def dense(inputs: int, outputs: int, zero_point: int, activation: str = "NONE", *, per_channel: bool = False) -> Layer:
    options, shapes = {"FusedActivationFunction": activation}, ((1, inputs), (outputs, inputs), (1, outputs))
    return Layer("FULLY_CONNECTED", *shapes, 0, options, per_channel=per_channel, zero_point_out=zero_point)


@pytest.mark.parametrize("zero_points", either([(-128,), (5,)], [(-128, 5)]))
def test_every_entry_of_the_unrolled_loops(zero_points: tuple[int, ...]) -> None:
    # One pair of taps, one turn and more; whole blocks of channels and parts of them; limits within those of int8.
    zero = itertools.cycle(zero_points)
    drawn = [pointwise(taps, 4, next(zero)) for taps in (1, 2, 3, 5, 7, 9, 11, 13, 15, 16, 17, 18, 31, 33)]
    drawn += [pointwise(taps, 2, next(zero)) for taps in (1, 3, 5, 7, 9, 11, 17)]
    drawn += [pointwise(12, channels, next(zero), "RELU6") for channels in (2, 3, 5, 8, 9, 10, 11)]
    matrices = [dense(inputs, 8, next(zero)) for inputs in (1, 2, 3, 4, 7, 9, 11, 12, 15, 16, 17, 18, 19, 31, 33)]
    matrices += [dense(12, outputs, next(zero), "RELU6") for outputs in (1, 2, 3, 5, 8, 11)]
    KERNELS.check(drawn + matrices, BOARD)
    ROWS.check(matrices, BOARD)


def test_matrices_with_a_scale_for_each_channel() -> None:
    # By lines and by two roundings; whole blocks of channels and parts of them.
    shapes = [(2, 8), (7, 9), (64, 5), (130, 12), (260, 7)]
    drawn = [dense(inputs, outputs, zero, per_channel=True) for inputs, outputs in shapes for zero in (-128, 5)]
    KERNELS.check(drawn, BOARD)
    ROWS.check(drawn, BOARD)


def test_largest_products() -> None:
    KERNELS.check([extreme(taps, sign) for taps in (1, 2, 63, 514) for sign in (1, -1)], BOARD)

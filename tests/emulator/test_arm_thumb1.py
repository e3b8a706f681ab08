"""Kernels for cores with MULS alone on an emulated Cortex-M0: random layers give the bytes of tflite-micro.

Each image carries several models, because building one takes longer than running them all.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support.examples import beyond_the_simplest, either, without_shrinking
from support.thumb1_layers import KERNELS, small
from support.weighted_models import Layer

BOARD = "bbc/microbit"
BATCH = 8
KINDS = ("CONV_2D", *KERNELS.kinds)


@without_shrinking(either(6, 2))
@given(beyond_the_simplest(st.lists(st.sampled_from(KINDS).flatmap(small), min_size=BATCH, max_size=BATCH)))
def test_random_layers(drawn: list[Layer]) -> None:
    KERNELS.check(drawn, BOARD)


def pointwise(depth: int, channels: int, pixels: int, **fields: object) -> Layer:
    options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1, "FusedActivationFunction": "RELU6"}
    shapes = (1, 1, pixels, depth), (channels, 1, 1, depth), (1, 1, pixels, channels)
    return Layer("CONV_2D", *shapes, 0, options, **fields)  # type: ignore[arg-type]


def dense(inputs: int, outputs: int, **fields: object) -> Layer:
    shapes = (1, inputs), (outputs, inputs), (1, outputs)
    return Layer("FULLY_CONNECTED", *shapes, 0, per_channel=False, **fields)  # type: ignore[arg-type]


def test_every_rest() -> None:
    # Rests of taps, of channels and of pixels; one pixel.
    drawn = [pointwise(depth, 4, 3) for depth in (1, 2, 3, 4, 5, 7, 8, 9)]
    drawn += [pointwise(8, channels, 2, zero_point_out=5) for channels in (2, 3, 5, 6, 7)]
    drawn += [pointwise(6, 5, pixels) for pixels in (1, 2, 3, 5)]
    drawn += [dense(inputs, 8) for inputs in (1, 3, 4, 5, 8, 10)]
    drawn += [dense(12, outputs, zero_point_out=5) for outputs in (5, 6, 7, 9)]
    KERNELS.check(drawn, BOARD)

"""What the kernels for Cortex-M0 compute at the ends of their ranges, and what they leave to others."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from aboard.kernels.view import View
from aboard.target import Target
from support import kernel_views
from support.thumb1_layers import KERNELS
from support.weighted_models import Layer


class Extreme(Layer):
    """A layer whose products are as large as they get, of either sign, by turns in its two pixels."""

    @property
    def weights(self) -> np.ndarray:
        signs = np.where(np.arange(np.prod(self.shape_weights)) // 2 % 2, 1, -1) * (2 * (self.seed % 2) - 1)
        return (127 * signs.reshape(self.shape_weights)).astype(np.int8)

    def input(self) -> np.ndarray:
        x = np.full(self.shape_in, -128, np.int8)
        if self.kind == "CONV_2D":
            x[:, :, 1::2] = 127 if self.seed < 2 else -128
        return x

    @classmethod
    def conv(cls, taps: int, seed: int) -> Layer:
        options = {"Padding": "VALID", "StrideH": 1, "StrideW": 1}
        shapes = (1, 2, 2, taps), (3, 1, 1, taps), (1, 2, 2, 3)
        return cls("CONV_2D", *shapes, 0, options, bias=False, zero_point_in=0, seed=seed)

    @classmethod
    def dense(cls, taps: int, seed: int) -> Layer:
        shapes = (1, taps), (5, taps), (1, 5)
        return cls("FULLY_CONNECTED", *shapes, 0, per_channel=False, bias=False, zero_point_in=0, seed=seed)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize("taps", [1, 2, 3, 4, 257])
@pytest.mark.parametrize("make", [Extreme.conv, Extreme.dense])
def test_largest_products(make: Callable[[int, int], Layer], taps: int, seed: int) -> None:
    layer = make(taps, seed)
    assert KERNELS.refusal(layer) is None
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    kernel_views.check(layer, KERNELS.implementation, KERNELS.target, x, y, [(0, y.rows)])


class Least(Layer):
    """A layer whose weights are all -128, which only models of other tools have."""

    @property
    def weights(self) -> np.ndarray:
        return np.full(self.shape_weights, -128, np.int8)


def test_what_is_left_to_other_kernels() -> None:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    conv = Layer("CONV_2D", (1, 5, 4, 4), (4, 3, 3, 4), (1, 5, 4, 4), 0, options)
    changed = dataclasses.replace
    assert KERNELS.refusal(conv) is None
    assert KERNELS.refusal(changed(conv, form="float32")) == "is for int8"
    assert KERNELS.refusal(conv, Target("c -mcpu=cortex-m0 -opt=size")) == "takes more memory (-opt=size)"
    least = Least("CONV_2D", (1, 5, 4, 4), (4, 3, 3, 4), (1, 5, 4, 4), 0, options)
    assert KERNELS.refusal(least) == "two weights are 256 together, more than 255"
    matrix = Layer("FULLY_CONNECTED", (1, 8), (5, 8), (1, 5), 0, per_channel=False)
    assert KERNELS.refusal(matrix) is None
    assert KERNELS.refusal(changed(matrix, shape_weights=(4, 8), shape_out=(1, 4))) == "is for more than 4 channels"
    single = Layer("CONV_2D", (1, 5, 4, 4), (1, 3, 3, 4), (1, 5, 4, 1), 0, options)
    assert KERNELS.refusal(single) == "is for two channels or more"

"""The C that says what the assembly for Cortex-M0 computes: any view, any rows, rings, sanitized; what is refused."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aboard
from aboard.kernels.contract import View
from aboard.kernels.select import strategy
from aboard.target import Target
from support import kernel_call, kernel_views, one_op, sanitized
from support.examples import examples
from support.preferred import preferred
from support.thumb1_layers import NAME, TARGET, implementation, layers, refusal
from support.weighted_models import Layer


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), layers("CONV_2D"))
def test_strided_views_and_any_rows(data: st.DataObject, layer: Layer) -> None:
    x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))
    ranges = data.draw(kernel_call.row_ranges(y.rows, 1))
    kernel_views.check(layer, implementation, TARGET, x, y, ranges)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), layers("FULLY_CONNECTED"))
def test_fully_connected_in_any_rows(data: st.DataObject, layer: Layer) -> None:
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    kernel_views.check(layer, implementation, TARGET, x, y, data.draw(kernel_call.row_ranges(y.rows, 1)))


@pytest.mark.parametrize("stride", [1, 2])
def test_rings_of_rows(stride: int) -> None:
    kernel_views.check_rings("CONV_2D", stride, implementation, TARGET)


@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(["CONV_2D", "FULLY_CONNECTED"]).flatmap(layers))
def test_sanitized(layer: Layer) -> None:
    model, x = layer.model(), layer.input()
    with strategy.forced(preferred(NAME)):
        module = aboard.compile(model, target=str(TARGET), name="model")
    assert {node.implementation for node in module.manifest.nodes} == {NAME}
    with tempfile.TemporaryDirectory() as folder:
        got = sanitized.run(module, {module.manifest.inputs[0].name: x}, Path(folder))
    np.testing.assert_array_equal(next(iter(got.values())), one_op.evaluate(model, x)[0])


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
    assert refusal(layer) is None
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    kernel_views.check(layer, implementation, TARGET, x, y, [(0, y.rows)])


class Least(Layer):
    """A layer whose weights are all -128, which only models of other tools have."""

    @property
    def weights(self) -> np.ndarray:
        return np.full(self.shape_weights, -128, np.int8)


def test_what_is_left_to_other_kernels() -> None:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    conv = Layer("CONV_2D", (1, 5, 4, 4), (4, 3, 3, 4), (1, 5, 4, 4), 0, options)
    changed = dataclasses.replace
    assert refusal(conv) is None
    assert refusal(changed(conv, form="float32")) == "is for int8"
    assert refusal(conv, Target("c -mcpu=cortex-m0 -opt=size")) == "takes more memory (-opt=size)"
    least = Least("CONV_2D", (1, 5, 4, 4), (4, 3, 3, 4), (1, 5, 4, 4), 0, options)
    assert refusal(least) == "two weights are 256 together, more than 255"
    matrix = Layer("FULLY_CONNECTED", (1, 8), (5, 8), (1, 5), 0, per_channel=False)
    assert refusal(matrix) is None
    assert refusal(changed(matrix, shape_weights=(4, 8), shape_out=(1, 4))) == "is for more than 4 channels"
    single = Layer("CONV_2D", (1, 5, 4, 4), (1, 3, 3, 4), (1, 5, 4, 1), 0, options)
    assert refusal(single) == "is for two channels or more"

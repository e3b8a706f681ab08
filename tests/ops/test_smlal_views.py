"""The C that says what the assembly with SMLAL computes: any view, any rows, rings, sanitized, and what is refused."""

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
from support.smlal_layers import TARGET, implementation, layers, refusal
from support.weighted_models import Layer

CONVOLUTIONS = ("CONV_2D",)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from(CONVOLUTIONS))
def test_strided_views_and_any_rows(data: st.DataObject, kind: str) -> None:
    layer = data.draw(layers(kind))
    x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))
    ranges = data.draw(kernel_call.row_ranges(y.rows, 1))
    kernel_views.check(layer, implementation, TARGET, x, y, ranges)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), layers("FULLY_CONNECTED"))
def test_fully_connected_in_any_rows(data: st.DataObject, layer: Layer) -> None:
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    kernel_views.check(layer, implementation, TARGET, x, y, data.draw(kernel_call.row_ranges(y.rows, 1)))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_rings_of_rows(kind: str, stride: int) -> None:
    kernel_views.check_rings(kind, stride, implementation, TARGET)


@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from([*CONVOLUTIONS, "FULLY_CONNECTED"]).flatmap(layers))
def test_sanitized(layer: Layer) -> None:
    model, x = layer.model(), layer.input()
    with strategy.forced(preferred("smlal_s8")):
        module = aboard.compile(model, target=str(TARGET), name="model")
    assert {node.implementation for node in module.manifest.nodes} == {"smlal_s8"}
    with tempfile.TemporaryDirectory() as folder:
        got = sanitized.run(module, {module.manifest.inputs[0].name: x}, Path(folder))
    np.testing.assert_array_equal(next(iter(got.values())), one_op.evaluate(model, x)[0])


class Extreme(Layer):
    """A layer whose sums are as large as they get: weights are all 127 (seed 1) or all -127 (seed 0)."""

    @property
    def weights(self) -> np.ndarray:
        return np.full(self.shape_weights, 127 * (2 * self.seed - 1), np.int8)

    def input(self) -> np.ndarray:
        x = np.full(self.shape_in, 127, np.int8)
        x[:, ::2] = -128
        return x

    @classmethod
    def conv(cls, taps: int, sign: int) -> Layer:
        shapes, options = ((1, 4, 1, taps), (2, 1, 1, taps), (1, 4, 1, 2)), {"Padding": "VALID"}
        return cls(
            "CONV_2D", *shapes, 0, {**options, "StrideH": 1, "StrideW": 1}, bias=False, zero_point_in=0, seed=sign
        )

    @classmethod
    def dense(cls, taps: int, sign: int) -> Layer:
        shapes = (1, taps), (4, taps), (1, 4)
        return cls("FULLY_CONNECTED", *shapes, 0, per_channel=False, bias=False, zero_point_in=0, seed=sign)


@pytest.mark.parametrize("sign", [1, 0])
@pytest.mark.parametrize(("make", "most"), [(Extreme.conv, 257), (Extreme.dense, 515)])
def test_largest_sums(make: Callable[[int, int], Layer], most: int, sign: int) -> None:
    layer = make(most, sign)
    assert refusal(layer) is None
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    kernel_views.check(layer, implementation, TARGET, x, y, [(0, y.rows)])
    assert (refusal(make(most + 2, sign)) or "").startswith("sums may exceed")


def test_what_is_left_to_other_kernels() -> None:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    conv = Layer("CONV_2D", (1, 5, 4, 4), (4, 3, 3, 4), (1, 5, 4, 4), 0, options)
    changed = dataclasses.replace
    assert refusal(conv) is None
    assert refusal(changed(conv, spread=1e-5)) == "results are not smaller than sums"
    assert refusal(changed(conv, form="float32")) == "is for int8"
    assert refusal(conv, Target("c -mcpu=cortex-m3 -opt=size")) == "takes more memory (-opt=size)"
    matrix = Layer("FULLY_CONNECTED", (1, 8), (4, 8), (1, 4), 0, per_channel=False)
    assert refusal(matrix) is None
    assert refusal(matrix, Target("c -mcpu=cortex-m3 -opt=size")) is None
    assert refusal(changed(matrix, per_channel=True)) is None
    single = changed(matrix, shape_in=(1, 1), shape_weights=(4, 1))
    assert refusal(single) == "is for two inputs or more"

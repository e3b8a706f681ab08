"""The C that says what the assembly with MLA computes: any view, any rows, rings, sanitized, and what is refused."""

from __future__ import annotations

import dataclasses
import tempfile
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
from support.mla_layers import TARGET, extreme, implementation, layers, refusal
from support.preferred import preferred
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
    with strategy.forced(preferred("mla_s8")):
        module = aboard.compile(model, target=str(TARGET), name="model")
    assert {node.implementation for node in module.manifest.nodes} == {"mla_s8"}
    with tempfile.TemporaryDirectory() as folder:
        got = sanitized.run(module, {module.manifest.inputs[0].name: x}, Path(folder))
    np.testing.assert_array_equal(next(iter(got.values())), one_op.evaluate(model, x)[0])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("taps", [1, 2, 63, 514])
def test_largest_products(taps: int, sign: int) -> None:
    layer = extreme(taps, sign)
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    kernel_views.check(layer, implementation, TARGET, x, y, [(0, y.rows)])


def test_pairs_of_taps_that_exceed_16_bits() -> None:
    layer = extreme(4, 1)
    assert refusal(dataclasses.replace(layer, pattern=(-128, 127, 127, -128))) is None
    assert refusal(dataclasses.replace(layer, pattern=(127, 127, -128, -128))) == "two products may exceed 16 bits"


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
    assert refusal(changed(matrix, form="float32")) == "is for int8"

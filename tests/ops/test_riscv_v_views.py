"""The C that says what the assembly for vectors of RISC-V computes: any view, any rows, rings, sanitized, refusals."""

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
from support import kernel_call, kernel_views, one_op, sanitized
from support.examples import examples
from support.preferred import preferred
from support.riscv_v_layers import KINDS, NAME, TARGET, accepted, implementation, refusal
from support.weighted_models import Layer

WINDOWED = ("CONV_2D", "DEPTHWISE_CONV_2D")


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from(WINDOWED))
def test_strided_views_and_any_rows(data: st.DataObject, kind: str) -> None:
    layer = data.draw(accepted(kind))
    x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))
    ranges = data.draw(kernel_call.row_ranges(y.rows, 1))
    kernel_views.check(layer, implementation, TARGET, x, y, ranges)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), accepted("FULLY_CONNECTED"))
def test_fully_connected_in_any_rows(data: st.DataObject, layer: Layer) -> None:
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    kernel_views.check(layer, implementation, TARGET, x, y, data.draw(kernel_call.row_ranges(y.rows, 1)))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kind", WINDOWED)
def test_rings_of_rows(kind: str, stride: int) -> None:
    kernel_views.check_rings(kind, stride, implementation, TARGET)


@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(KINDS).flatmap(accepted))
def test_sanitized(layer: Layer) -> None:
    model, x = layer.model(), layer.input()
    with strategy.forced(preferred(NAME)):
        module = aboard.compile(model, target=str(TARGET), name="model")
    assert {node.implementation for node in module.manifest.nodes} == {NAME}
    with tempfile.TemporaryDirectory() as folder:
        got = sanitized.run(module, {module.manifest.inputs[0].name: x}, Path(folder))
    np.testing.assert_array_equal(next(iter(got.values())), one_op.evaluate(model, x)[0])


def test_what_is_left_to_other_kernels() -> None:
    options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}
    conv = Layer("CONV_2D", (1, 5, 4, 4), (4, 3, 3, 4), (1, 5, 4, 4), 0, options)
    changed = dataclasses.replace
    assert refusal(conv) is None
    assert refusal(changed(conv, spread=1e-5)) == "results are not smaller than sums"
    assert refusal(changed(conv, form="float32")) == "is for int8"
    depthwise = Layer(
        "DEPTHWISE_CONV_2D", (1, 5, 4, 4), (1, 3, 3, 8), (1, 5, 4, 8), 3, {**options, "DepthMultiplier": 2}
    )
    assert refusal(depthwise) == "is for one result channel per channel"
    assert refusal(Layer("FULLY_CONNECTED", (1, 8), (1, 8), (1, 1), 0)) is None

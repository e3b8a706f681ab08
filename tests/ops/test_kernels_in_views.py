"""The C that says what the assembly of a kernel computes: any view, any rows, rings, sanitized."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aboard
from aboard.kernels.select import strategy
from aboard.kernels.view import View
from support import kernel_call, kernel_views, mla_layers, one_op, riscv_v_layers, sanitized, thumb1_layers
from support.examples import examples
from support.kernel_layers import KernelLayers
from support.preferred import preferred

KERNELS = (mla_layers.KERNELS, mla_layers.ROWS, thumb1_layers.KERNELS, riscv_v_layers.KERNELS)
WINDOWED = [(kernels, kind) for kernels in KERNELS for kind in kernels.kinds if kind != "FULLY_CONNECTED"]

each = pytest.mark.parametrize("kernels", KERNELS, ids=lambda kernels: kernels.name)
each_windowed = pytest.mark.parametrize(
    ("kernels", "kind"), WINDOWED, ids=[f"{kernels.name}-{kind}" for kernels, kind in WINDOWED]
)


@each_windowed
@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_strided_views_and_any_rows(kernels: KernelLayers, kind: str, data: st.DataObject) -> None:
    layer = data.draw(kernels.layers(kind))
    x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))
    ranges = data.draw(kernel_call.row_ranges(y.rows, 1))
    kernel_views.check(layer, kernels.implementation, kernels.target, x, y, ranges)


@each
@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_fully_connected_in_any_rows(kernels: KernelLayers, data: st.DataObject) -> None:
    layer = data.draw(kernels.layers("FULLY_CONNECTED"))
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    ranges = data.draw(kernel_call.row_ranges(y.rows, 1))
    kernel_views.check(layer, kernels.implementation, kernels.target, x, y, ranges)


@pytest.mark.parametrize("stride", [1, 2])
@each_windowed
def test_rings_of_rows(kernels: KernelLayers, kind: str, stride: int) -> None:
    kernel_views.check_rings(kind, stride, kernels.implementation, kernels.target)


@each
@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_sanitized(kernels: KernelLayers, data: st.DataObject) -> None:
    layer = data.draw(st.sampled_from(kernels.kinds).flatmap(kernels.layers))
    model, x = layer.model(), layer.input()
    with strategy.forced(preferred(kernels.name)):
        module = aboard.compile(model, target=str(kernels.target), name="model")
    assert {node.implementation for node in module.manifest.nodes} == {kernels.name}
    with tempfile.TemporaryDirectory() as folder:
        got = sanitized.run(module, {module.manifest.inputs[0].name: x}, Path(folder))
    np.testing.assert_array_equal(next(iter(got.values())), one_op.evaluate(model, x)[0])

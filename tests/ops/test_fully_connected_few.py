"""Matrices of one to four channels in portable C: any number of inputs, any rows, every form of the epilogue."""

from __future__ import annotations

import dataclasses

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.kernels import of
from aboard.kernels.contract import Implementation
from aboard.kernels.select.strategy import choose
from aboard.kernels.view import View
from aboard.target import Target
from support import kernel_call, kernel_views
from support.examples import examples
from support.weighted_models import ACTIVATIONS, Layer

FEW = "portable_few_s8"
M0, M3 = Target("c -mcpu=cortex-m0 -runtime=standalone"), Target("c -mcpu=cortex-m3 -runtime=standalone")


def few() -> Implementation:
    return next(i for i in of("fully_connected") if i.name == FEW)


@st.composite
def matrices(draw: st.DrawFn) -> Layer:
    inputs, outputs, samples = draw(st.integers(1, 40)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    layer = Layer("FULLY_CONNECTED", (samples, inputs), (outputs, inputs), (samples, outputs), 0)
    layer.per_channel, layer.bias = draw(st.booleans()), draw(st.booleans())
    finishes = [(0, 1.0), (0, 0.1), (0, 1e-5), (2**30, 1.0), (-(2**30), 1.0)]
    layer.outlier, layer.spread = draw(st.sampled_from(finishes))
    layer.zero_point_in, layer.zero_point_out = (draw(st.sampled_from([-128, 5, 127])) for _ in range(2))
    layer.options, layer.seed = (
        {"FusedActivationFunction": draw(st.sampled_from(ACTIVATIONS))},
        draw(st.integers(0, 99)),
    )
    return layer


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), matrices())
def test_any_rows(data: st.DataObject, layer: Layer) -> None:
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    kernel_views.check(layer, lambda _: few(), M0, x, y, data.draw(kernel_call.row_ranges(y.rows, 1)))


def test_who_computes_few_channels() -> None:
    layer = Layer("FULLY_CONNECTED", (1, 64), (3, 64), (1, 3), 0)
    (node,) = load(layer.model(), name="model").nodes
    assert [choose(node, target).implementation.name for target in (M0, M3)] == [FEW, FEW]
    eight = next(i for i in of("fully_connected") if i.name == "portable_s8")
    assert eight.refuses(node, M0) == "is for more than 4 channels"
    five = dataclasses.replace(layer, shape_weights=(5, 64), shape_out=(1, 5))
    (node,) = load(five.model(), name="model").nodes
    assert few().refuses(node, M3) == "is for at most 4 channels"
    assert [choose(node, target).implementation.name for target in (M0, M3)] == ["thumb1_s8", "mla_rows_s8"]
    hybrid = dataclasses.replace(layer, form="hybrid")
    assert few().refuses(load(hybrid.model(), name="model").nodes[0], M3) == "is for int8"

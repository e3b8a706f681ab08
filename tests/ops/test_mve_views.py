"""The C that stands beside instructions of Helium: any view, any rows, rings, every form, sanitized."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aboard
from aboard.ir import Node
from aboard.kernels.contract import Implementation
from aboard.kernels.select import strategy
from aboard.kernels.view import View
from aboard.target import Target
from support import kernel_call, kernel_views, mve_layers, one_op, sanitized
from support.examples import either, examples
from support.kernel_points import tuned
from support.mve_layers import NAME, ROWS, TARGET, implementation, refusal
from support.preferred import preferred
from support.weighted_models import Layer

#: Loops for speed cost flash that drawn layers are not worth.
TARGETS = st.sampled_from([TARGET, mve_layers.FAST])

SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck))


def check(model: bytes, x: np.ndarray, target: Target = TARGET) -> None:
    """Fails unless a model, whose nodes all are for Helium, gives the results of its ops under sanitizers."""
    with strategy.forced(preferred(NAME)):
        module = aboard.compile(model, target=str(target), name="model")
    assert {node.implementation for node in module.manifest.nodes} == {NAME}
    with tempfile.TemporaryDirectory() as folder:
        got = sanitized.run(module, {module.manifest.inputs[0].name: x}, Path(folder))
    np.testing.assert_array_equal(next(iter(got.values())), one_op.evaluate(model, x)[0])


@settings(SETTINGS, max_examples=examples(24))
@given(st.data(), mve_layers.windowed(), TARGETS)
def test_strided_views_and_any_rows(data: st.DataObject, layer: Layer, target: Target) -> None:
    x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))

    def at_a_point(node: Node) -> Implementation:
        return data.draw(tuned(implementation(node), node, TARGET))

    kernel_views.check(layer, at_a_point, target, x, y, data.draw(kernel_call.row_ranges(y.rows, y.rows)))


@settings(SETTINGS, max_examples=examples(12))
@given(
    st.data(),
    st.one_of(
        mve_layers.window_layers("CONV_2D"), mve_layers.convolutions(), mve_layers.scattered_convolutions()
    ),
    TARGETS,
)  # fmt: skip
def test_convolutions_in_any_rows(data: st.DataObject, layer: Layer, target: Target) -> None:
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))

    def at_a_point(node: Node) -> Implementation:
        return data.draw(tuned(implementation(node), node, TARGET))

    kernel_views.check(layer, at_a_point, target, x, y, data.draw(kernel_call.row_ranges(y.rows, 1)))


@pytest.mark.parametrize("name", [NAME, ROWS])
@settings(SETTINGS, max_examples=examples(12))
@given(st.data(), mve_layers.matrix_layers())
def test_fully_connected_in_any_rows(name: str, data: st.DataObject, layer: Layer) -> None:
    assert refusal(layer) is None
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    chosen = partial(implementation, name=name)
    kernel_views.check(layer, chosen, TARGET, x, y, data.draw(kernel_call.row_ranges(y.rows, 1)))


@pytest.mark.parametrize("stride", [1, 2])
def test_rings_of_rows(stride: int) -> None:
    kernel_views.check_rings("CONV_2D", stride, implementation, TARGET)


@pytest.mark.parametrize("name", mve_layers.forms())
@pytest.mark.parametrize("height", either((1, 2, 3, 4), (2,)))
def test_stripes_in_rolling_buffers(name: str, height: int) -> None:
    """The first stripe has fewer rows, and others are cut in two by the end of a buffer."""
    layer = mve_layers.forms()[name][0]
    layer = replace(layer, shape_in=(1, *layer.shape_in[1:]), shape_out=(1, *layer.shape_out[1:]))
    kernel_views.check_first_stripes(layer, implementation, TARGET, height)


@settings(SETTINGS, max_examples=examples(12))
@given(
    st.one_of(
        mve_layers.layers(), mve_layers.depthwise_layers(), mve_layers.convolutions(),
        mve_layers.wide_depthwise_layers(), mve_layers.scattered_convolutions(),
    ),
    TARGETS,
)  # fmt: skip
def test_sanitized(layer: Layer, target: Target) -> None:
    check(layer.model(), layer.input(), target)


@settings(SETTINGS, max_examples=examples(8))
@given(st.one_of(mve_layers.pools(), mve_layers.sums()))
def test_pools_and_sums(case: tuple[bytes, np.ndarray]) -> None:
    model, x = case
    module = aboard.compile(model, target=str(TARGET), name="model")
    sanitized.check_as_native(module, model, {module.manifest.inputs[0].name: x})


@pytest.mark.parametrize("number", range(len(mve_layers.long_sums())))
def test_long_sums(number: int) -> None:
    layer = mve_layers.long_sums()[number]
    check(layer.model(), layer.input())

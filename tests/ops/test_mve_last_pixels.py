"""Last pixels of 1x1 convolutions with Helium: the C that stands beside instructions, over strided views."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Node
from aboard.kernels.arm_mve import conv2d_four_pixels, four_pixels_last
from aboard.kernels.arm_mve.conv2d import epilogue_of
from aboard.kernels.contract import Implementation
from aboard.kernels.view import View
from support import kernel_call, kernel_views, mve_last_pixels
from support.examples import examples
from support.mve_layers import TARGET, implementation
from support.weighted_models import Layer

LAYERS = list(mve_last_pixels.layers(1.0, -128))


def kernel(node: Node) -> Implementation:
    """Returns the kernel with windows in place, in a model in which all forms are worth their flash."""
    found = implementation(node)
    return found.at(replace(found.tuned, values={"windows": "direct"}))


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(24))
@given(st.data(), st.sampled_from(LAYERS))
def test_views(data: st.DataObject, layer: Layer) -> None:
    x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))
    kernel_views.check(layer, kernel, TARGET, x, y, data.draw(kernel_call.row_ranges(y.rows, 1)))


@pytest.mark.parametrize("layer", LAYERS, ids=[str(shape) for shape in mve_last_pixels.SHAPES])
def test_whole_tensors(layer: Layer) -> None:
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    kernel_views.check(layer, kernel, TARGET, x, y, [(0, y.rows)])


def last_of(layer: Layer, price: float, stripe_height: int = 0, buffer_rows: int | None = None) -> int:
    """Returns the last pixels of a layer with instructions of their own, its result whole, in stripes or in a ring."""
    (node,) = load(layer.model(), name="model").nodes
    x, whole = View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)
    y = replace(whole, stripe_height=stripe_height, buffer_rows=buffer_rows or whole.rows)
    found = next(iter(conv2d_four_pixels.possible(node, x, y, epilogue_of(node))))
    return four_pixels_last.last_of(node, found, x, y, price)


def test_pixels_that_are_known() -> None:
    column = next(layer for layer in LAYERS if layer.shape_in == (1, 3, 5, 128))
    assert last_of(column, 0) == 3
    # In a cascade, stripes have other pixels than the whole; a ring ends anywhere; flash has a price.
    assert last_of(column, 0, stripe_height=1) == 0
    assert last_of(column, 0, buffer_rows=2) == 0
    assert last_of(column, 1000) == 0
    whole = replace(column, shape_in=(1, 3, 4, 128), shape_out=(1, 3, 4, 16))
    assert last_of(whole, 1000) == four_pixels_last.WHOLE

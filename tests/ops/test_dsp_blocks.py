"""Four channels of two pixels at once with the DSP extension: the C that says what the assembly computes."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Node
from aboard.kernels.contract import Implementation
from support import kernel_call, kernel_views
from support.dsp_layers import BLOCKS, COLUMNS, TARGET, blocks, columns, implementations, refusal
from support.examples import examples
from support.kernel_points import tuned
from support.weighted_models import Layer

OPTIONS = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}


def kernel(node: Node, name: str) -> Implementation:
    return next(each for each in implementations(node) if each.name == name)


@pytest.mark.parametrize(("name", "drawn"), [(BLOCKS, blocks()), (COLUMNS, columns())])
def test_any_view_and_any_rows(name: str, drawn: st.SearchStrategy[Layer]) -> None:
    @settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data(), drawn)
    def compute(data: st.DataObject, layer: Layer) -> None:
        (node,) = load(layer.model(), name="model").nodes
        chosen = data.draw(tuned(kernel(node, name), node, TARGET))
        x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))
        ranges = data.draw(kernel_call.row_ranges(y.rows, 1))
        kernel_views.check(layer, lambda _: chosen, TARGET, x, y, ranges)

    compute()


@pytest.mark.parametrize("name", [BLOCKS, COLUMNS])
def test_rolling_buffers_of_rows(name: str) -> None:
    kernel_views.check_rings("CONV_2D", 1, lambda node: kernel(node, name), TARGET)


def test_what_is_left_to_other_kernels() -> None:
    conv = Layer("CONV_2D", (1, 5, 4, 8), (4, 3, 3, 8), (1, 5, 4, 4), 0, OPTIONS)
    changed = dataclasses.replace
    assert refusal(conv, BLOCKS) is None
    assert refusal(conv, COLUMNS) is None
    six = changed(conv, shape_weights=(6, 3, 3, 8), shape_out=(1, 5, 4, 6))
    for name in (BLOCKS, COLUMNS):
        assert refusal(six, name) == "is for a multiple of four output channels in each group"
        assert refusal(changed(conv, form="float32"), name) == "is for int8"
        assert refusal(changed(conv, spread=1e-5), name) == "results are not smaller than sums"
    grouped = changed(conv, shape_in=(1, 5, 4, 16), shape_weights=(8, 3, 3, 8), shape_out=(1, 5, 4, 8))
    narrow = changed(conv, shape_weights=(4, 3, 2, 8))
    strided = changed(conv, options={**OPTIONS, "StrideW": 2}, shape_out=(1, 5, 2, 4))
    dilated = changed(conv, options={**OPTIONS, "DilationWFactor": 2})
    for layer in (grouped, narrow, strided, dilated):
        assert refusal(layer, BLOCKS) is None
        assert refusal(layer, COLUMNS) == "is for windows three pixels wide, one pixel apart, without groups"
    for shape in ((3, 3, 6), (1, 3, 8)):
        layer = changed(conv, shape_in=(1, 5, 4, shape[2]), shape_weights=(4, *shape))
        assert refusal(layer, COLUMNS) == "is for a multiple of four input channels, and twelve of all rows of a window"

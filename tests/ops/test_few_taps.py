"""Four pixels at once with Helium for windows of at most five taps: the C that says what the assembly computes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Node
from aboard.kernels.contract import Implementation, RowWise
from aboard.kernels.view import View
from ops.test_overlaps import check
from support import kernel_call, kernel_views
from support.examples import examples
from support.few_taps_layers import NAME, chosen, few, few_taps, refusal
from support.mve_layers import FAST, TARGET, implementation
from support.weighted_models import Layer

SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck))

kernel = partial(implementation, name=NAME)


def first(layer: Layer) -> tuple[Implementation, Node]:
    """Returns the kernel, and the node of a layer."""
    (node,) = load(layer.model(), name="model").nodes
    return kernel(node), node


@settings(SETTINGS, max_examples=examples(24))
@given(st.data(), few_taps(), st.sampled_from([TARGET, FAST]))
def test_any_view_and_any_rows(data: st.DataObject, layer: Layer, target: object) -> None:
    x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))
    ranges = data.draw(kernel_call.row_ranges(y.rows, 1))
    kernel_views.check(layer, kernel, FAST if target is FAST else TARGET, x, y, ranges)


@pytest.mark.parametrize("number", range(len(chosen())))
def test_lanes_at_the_end_of_rows(number: int) -> None:
    layer = chosen()[number]
    x, y = View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)
    kernel_views.check(layer, kernel, FAST, x, y, [(0, y.rows)])


@pytest.mark.parametrize("height", [1, 2, 3, 4])
@pytest.mark.parametrize("window", [(1, 1), (2, 1), (2, 2)])
@pytest.mark.parametrize("stride", [1, 2])
def test_stripes_in_rolling_buffers(height: int, window: tuple[int, int], stride: int) -> None:
    """The first stripe has fewer rows, and windows and others are cut in two by the end of a buffer."""
    layer = few(1, window, 6, (15, 7), (stride, stride))
    kernel_views.check_first_stripes(layer, kernel, TARGET, height)


@settings(SETTINGS, max_examples=examples(12))
@given(st.data(), few_taps())
def test_results_over_their_operand(data: st.DataObject, layer: Layer) -> None:
    check(data, layer.model(), layer.input(), ["arm_mve"])


def test_limits_and_large_multipliers_are_refused() -> None:
    layer = few(2, (1, 1), 5, (4, 4))
    layer.options = {**layer.options, "FusedActivationFunction": "RELU6"}
    assert refusal(layer) == "is for results without limits"
    assert refusal(few(6, (1, 1), 5, (4, 4))) == "is for windows of at most 5 taps"
    assert refusal(few(5, (1, 1), 3, (4, 4))) is None
    assert refusal(few(5, (1, 1), 4, (4, 4))) == "is for at most 3 output channels with windows of 5 taps"
    neighbours = "is for at most 3 output channels with windows of four neighbouring bytes"
    assert refusal(few(4, (1, 1), 4, (4, 4))) == refusal(few(2, (1, 2), 4, (4, 4))) == neighbours
    assert refusal(few(4, (1, 1), 3, (4, 4))) is refusal(few(1, (2, 2), 4, (4, 4))) is None
    padded = replace(few(1, (2, 2), 5, (4, 4)), shape_out=(1, 4, 4, 5))
    padded.options = {**padded.options, "Padding": "SAME"}
    assert refusal(padded) == "is for windows without padding and groups"


def test_work_of_stripes() -> None:
    implementation_, node = first(few(2, (1, 1), 8, (8, 6)))
    assert implementation_.row_wise(node) == RowWise(2)
    assert [implementation_.growth(node, rows) for rows in (1, 2, 8)] == [8 / 6, 1.0, 1.0]


def test_results_in_words_are_worth_their_code() -> None:
    for size, target, words in (((4, 4), TARGET, 0), ((40, 40), TARGET, 1), ((4, 4), FAST, 1)):
        implementation_, node = first(few(2, (1, 1), 8, size))
        views = View.whole(node.input(0).shape, 1), View.whole(node.output.shape, 1)
        call = implementation_.lower(node, [views[0], None, None], [views[1]], target)
        assert call.params["words"] == words
        # A word that is not at a multiple of four is not written at once.
        odd = replace(views[1], pixel_stride=9, row_stride=9 * views[1].cols)
        assert implementation_.lower(node, [views[0], None, None], [odd], target).params["words"] == 0


def test_results_that_are_far_apart() -> None:
    implementation_, node = first(few(2, (1, 1), 3, (2, 3)))
    x, y = View.whole(node.input(0).shape, 1), View.whole(node.output.shape, 1)
    for pixel, ones in ((21_844, 0), (21_845, 1)):
        wide = replace(y, pixel_stride=pixel, row_stride=3 * pixel)
        call = implementation_.lower(node, [x, None, None], [wide], TARGET)
        assert call.params["ones"] == ones
        halves = call.constants[0].values[4:8]
        assert halves.view("<u4" if ones else "<u2")[-1] == 3 * pixel + (1 - ones)


def test_constants() -> None:
    implementation_, node = first(few(1, (1, 1), 3, (4, 5), (2, 2)))
    views = View.whole(node.input(0).shape, 1), View.whole(node.output.shape, 1)
    call = implementation_.lower(node, [views[0], None, None], [views[1]], TARGET)
    (weights,) = call.constants
    # Rows of three windows two pixels apart, and ten from row to row; columns less three.
    assert weights.values[:4].tolist() == [0, 2, 4, 10]
    assert weights.values[4:8].view("<u2").tolist() == [0, 1, 3, 4, 6, 7, 9, 10]
    assert weights.values[8:12].tolist() == [-3, -2, -1, -3]
    assert call.params["delta"] == 12
    assert call.params["jump"] == 4
    assert call.params["ahead"] == 1
    np.testing.assert_array_equal(weights.values[12:].reshape(3, 4)[:, 1], node.input(1).data.reshape(-1))

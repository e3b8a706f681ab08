"""Sums of any size with the DSP extension, and single channels: the C that says what the assembly computes."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.kernels.select.strategy import choose
from aboard.kernels.view import View
from support import kernel_call, kernel_views
from support.dsp_layers import DSP, LARGE, ONE, TARGET, LargeSums, implementations, large_sums, refusal
from support.examples import examples
from support.weighted_models import Layer

OPTIONS = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}


@settings(max_examples=examples(80), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), large_sums())
def test_any_view_and_any_rows(data: st.DataObject, layer: LargeSums) -> None:
    (node,) = load(layer.model(), name="model").nodes
    able = [each for each in implementations(node) if each.name in (LARGE, ONE)]
    assume(able)  # The result of a clamp to few values may be the same for all inputs.
    matrix = layer.kind == "FULLY_CONNECTED"
    x, y = (
        View.whole(shape, 1) if matrix else data.draw(kernel_call.views(shape, 1))
        for shape in (layer.shape_in, layer.shape_out)
    )
    ranges = data.draw(kernel_call.row_ranges(y.rows, 1))
    kernel_views.check(layer, lambda _: able[0], TARGET, x, y, ranges)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(1, 200), st.integers(1, 3), st.integers(1, 3), st.sampled_from([-128, 5]), st.integers(0, 99))
def test_few_channels_of_any_length(inputs: int, outputs: int, samples: int, zero_point: int, seed: int) -> None:
    shapes = (samples, inputs), (outputs, inputs), (samples, outputs)
    layer = Layer("FULLY_CONNECTED", *shapes, 0, zero_point_out=zero_point, seed=seed)
    (node,) = load(layer.model(), name="model").nodes
    chosen = next(each for each in implementations(node) if each.name == ONE)
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    kernel_views.check(layer, lambda _: chosen, TARGET, x, y, [(0, samples)])


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("depth", [80, 83, 300])
def test_rings_of_rows(depth: int, stride: int) -> None:
    options = {**OPTIONS, "StrideH": stride, "StrideW": stride}
    out = (1, -(-6 // stride), -(-5 // stride), 5)
    layer = LargeSums("CONV_2D", (1, 6, 5, depth), (5, 3, 3, depth), out, 0, options, least=100)
    (node,) = load(layer.model(), name="model").nodes
    chosen = next(each for each in implementations(node) if each.name == LARGE)
    x, y = (View.whole(shape, 1) for shape in (layer.shape_in, layer.shape_out))
    kernel_views.check(layer, lambda _: chosen, TARGET, x, y, [(row, row + 1) for row in range(out[1])])


@pytest.mark.parametrize(("window", "name"), [(3, "portable_s8"), (7, "dsp_taps_s8")])
def test_windows_that_share_no_column(window: int, name: str) -> None:
    # Of 3x3 taps portable C takes 64,759 cycles, taps 77,134; of 7x7 taps 491,164 and 358,636.
    options = {**OPTIONS, "DepthMultiplier": 1, "StrideH": 3, "StrideW": 3}
    shapes = (1, 24, 24, 24), (1, window, window, 24), (1, 8, 8, 24)
    (node,) = load(Layer("DEPTHWISE_CONV_2D", *shapes, 3, options).model(), name="model").nodes
    assert choose(node, TARGET).implementation.name == name


@pytest.mark.parametrize(("inputs", "outputs", "name"), [(302, 1, ONE), (302, 2, ONE), (419, 3, LARGE), (420, 3, DSP)])
def test_few_channels_take_as_few_cycles_as_they_can(inputs: int, outputs: int, name: str) -> None:
    # Four channels for two took 2,696 cycles instead of 1,794; widened samples for three 3,627 instead of 2,647.
    (node,) = load(
        Layer("FULLY_CONNECTED", (1, inputs), (outputs, inputs), (1, outputs), 0).model(), name="model"
    ).nodes
    assert choose(node, TARGET).implementation.name == name


def test_what_is_left_to_other_kernels() -> None:
    matrix = Layer("FULLY_CONNECTED", (1, 64), (4, 64), (1, 4), 0)
    changed = dataclasses.replace
    whole = "is for sums that dsp_s8 cannot take, and for long samples of no whole tap groups"
    assert refusal(matrix, LARGE) == whole
    assert refusal(matrix, ONE) == "is for less than 4 channels"
    assert refusal(changed(matrix, shape_in=(1, 63), shape_weights=(4, 63)), LARGE) == whole
    assert refusal(changed(matrix, shape_in=(1, 257), shape_weights=(4, 257)), LARGE) is None
    one = changed(matrix, shape_weights=(1, 64), shape_out=(1, 1))
    assert refusal(one, ONE) is None
    assert refusal(one, DSP) == refusal(one, LARGE) == "is for two channels or more"
    assert refusal(changed(one, form="float32"), ONE) == "is for int8"
    assert refusal(changed(one, spread=1e-5), ONE) == "results are not smaller than sums"
    # A weight of -128 needs a partner of the other sign in its halfword.
    long = LargeSums("FULLY_CONNECTED", (1, 700), (4, 700), (1, 4), 0, least=100)
    assert refusal(long, LARGE) is None
    assert refusal(changed(long, least=-128), LARGE) == "has weights of -128"
    conv = LargeSums("CONV_2D", (1, 3, 3, 700), (4, 1, 1, 700), (1, 3, 3, 4), 0, OPTIONS, least=100)
    assert refusal(conv, LARGE) is None
    assert refusal(changed(conv, least=-128), LARGE) == "has weights of -128"
    shallow = changed(conv, shape_in=(1, 3, 3, 60), shape_weights=(4, 1, 1, 60))
    assert refusal(shallow, LARGE) == "is for sums that dsp_s8 cannot take"

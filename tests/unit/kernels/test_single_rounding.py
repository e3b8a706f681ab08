"""The line that replaces TFLite's requantisation has the same steps: at every threshold, at the ends, and between."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Node
from aboard.ir.numerics import INT32_MAX, INT32_MIN, multiply_by_quantized_multiplier, multiply_exactly
from aboard.kernels import weights as packing
from aboard.kernels.arm_mve.epilogue import EpilogueForm, epilogue
from aboard.kernels.single_rounding import DoubleRounding, ExactRounding, SingleRounding, _placed, find
from aboard.ops import conv2d, depthwise_conv2d, fully_connected
from aboard.ops.weighted import INPUT, multipliers
from support import models
from support.examples import either

#: The last two are quick.
CHECKED = ["vww", "ic", "ad", "sww", "hello_world", "kws", models.SHIPPED]
OPS = {"conv2d": conv2d, "depthwise_conv2d": depthwise_conv2d, "fully_connected": fully_connected}


@st.composite
def channels(draw: st.DrawFn) -> DoubleRounding:
    """Draws a channel: mostly one whose smallest result is its zero point, as after a RELU."""
    zero_point = draw(st.sampled_from([-128, -128, -128, 0, 5, 127]))
    low = draw(st.sampled_from([-128, zero_point]))
    high = draw(st.integers(low, 127))
    centre, width = draw(st.integers(-(2**20), 2**20)), draw(st.integers(0, 2**24))
    multiplier = draw(st.one_of(st.sampled_from([0, 2**30, 2**31 - 1]), st.integers(2**30, 2**31 - 1)))
    kind = draw(st.sampled_from([DoubleRounding, ExactRounding]))
    return kind(multiplier, -draw(st.integers(1, 31)), zero_point, low, high, centre - width, centre + width)


def interesting(steps: DoubleRounding) -> list[int]:
    """Returns accumulators on both sides of every threshold, the ends, and some between."""
    rng = np.random.default_rng(1)
    found = {steps.smallest, steps.largest, *rng.integers(steps.smallest, steps.largest + 1, 50).tolist()}
    if steps.multiplier:
        for first in steps.thresholds()[1].tolist():
            found |= {first - 1, first}
    return sorted(a for a in found if steps.smallest <= a <= steps.largest)


def check(steps: DoubleRounding, line: SingleRounding, shift: int) -> None:
    """Fails unless the line, clamped, gives the results of the channel, within int32."""
    for accumulator in interesting(steps):
        product = ((accumulator + line.offset) * line.factor + line.half) >> 31
        for value in (accumulator + line.offset, product, product + line.constant):
            assert INT32_MIN <= value <= INT32_MAX
        got = min(max(line.value(accumulator, shift), steps.low), steps.high)
        assert got == steps.value(accumulator), f"accumulator {accumulator}"


@settings(max_examples=300, deadline=None)
@given(channels())
def test_results_are_those_of_the_arithmetic_of_ops(steps: DoubleRounding) -> None:
    accumulators = np.array(interesting(steps))
    multiply = multiply_exactly if isinstance(steps, ExactRounding) else multiply_by_quantized_multiplier
    scaled = multiply(accumulators, steps.multiplier, steps.shift)
    expected = np.clip(scaled + steps.zero_point, steps.low, steps.high).tolist()
    assert [steps.value(a) for a in accumulators.tolist()] == expected


@settings(max_examples=300, deadline=None)
@given(channels())
def test_thresholds_are_where_results_change(steps: DoubleRounding) -> None:
    assume(steps.multiplier)
    for result, first in zip(*(values.tolist() for values in steps.thresholds()), strict=True):
        assert steps.smallest < first <= steps.largest
        assert steps.value(first - 1) < result <= steps.value(first)


@settings(max_examples=300, deadline=None)
@given(channels(), st.integers(0, 16), st.sampled_from([1 << 30, 0]))
def test_a_line_has_the_same_steps(steps: DoubleRounding, shift: int, half: int) -> None:
    line = find(steps, shift, half)
    if line is not None:
        check(steps, line, shift)


@settings(max_examples=100, deadline=None)
@given(st.integers(2**30, 2**31 - 1), st.integers(4, 10), st.integers(-(2**15), 2**15))
def test_there_is_a_line_after_relu(multiplier: int, exponent: int, bias: int) -> None:
    steps = DoubleRounding(multiplier, -exponent, -128, -128, 127, bias - 2**17, bias + 2**17)
    line = find(steps, exponent)
    assert line is not None
    check(steps, line, exponent)


@pytest.mark.parametrize("multiplier", [1_171_292_447, 1_569_364_973, 1_900_000_001])
@pytest.mark.parametrize("exponent", [4, 5, 6])
@pytest.mark.parametrize("bias", [-400, 0, 77])
def test_there_is_a_line_on_both_sides_of_zero_if_results_are_exact(multiplier: int, exponent: int, bias: int) -> None:
    steps = ExactRounding(multiplier, -exponent, 5, -128, 127, bias - 2**9, bias + 2**9)
    line = find(steps, exponent)
    assert line is not None
    check(steps, line, exponent)


@settings(max_examples=300, deadline=None)
@given(st.integers(-(2**40), 2**40), st.integers(1, 2**31 - 1), st.integers(1, 2**24), st.integers(0, 16))
def test_the_offset_is_the_smallest(lowest: int, factor: int, width: int, shift: int) -> None:
    line = _placed(factor, lowest, lowest + width, shift, 1 << 30)
    offsets = np.arange(1 << 12)
    found = np.flatnonzero((offsets * factor + (1 << 30) - lowest) % (1 << 31) < width)
    assert (len(offsets) if line is None else min(line.offset, len(offsets))) == min([*found, len(offsets)])
    if line is not None:
        start = line.offset * factor + line.half + (line.constant + (1 << shift >> 1) << 31)
        assert lowest <= start < lowest + width


def test_sums_that_reach_ties_have_no_line() -> None:
    assert find(ExactRounding(2**30, -4, 0, -128, 127, -1000, 1000), 4) is None


def test_a_channel_with_one_result_needs_no_product() -> None:
    steps = DoubleRounding(2**30, -20, -128, -128, 127, -1000, 1000)
    assert find(steps, 3) == SingleRounding(0, 0, -128 << 3)
    assert SingleRounding(0, 0, -128 << 3).value(12345, 3) == -128


def test_a_shift_larger_than_the_channels_is_refused() -> None:
    assert find(DoubleRounding(2**30, -2, -128, -128, 127, -1000, 1000), 3) is None


@pytest.mark.parametrize("name", models.available(either(CHECKED, CHECKED[-2:])))
def test_every_channel_of_a_model_at_every_threshold(name: str) -> None:
    path = models.path(name)
    assert path is not None
    relu = 0
    for node in load(path).nodes:
        if node.op not in OPS:
            continue
        module = OPS[node.op]
        matrix, bias = packing.matrix(node, module.AXIS), packing.bias(node)
        activation = module.attributes(node).activation
        result = epilogue(node, matrix, bias, activation, module.AXIS)
        low, high = activation.range(node.output.quant)
        if low == node.output.quant.zero_point:
            assert result.form is EpilogueForm.SINGLE, node.name
        if result.form is not EpilogueForm.SINGLE:
            continue
        relu += 1
        _check_layer(node, module.AXIS, result.rows, result.params["shift"], (low, high))
    assert relu > 0 or name == "hello_world"


def _check_layer(node: Node, axis: int, rows: np.ndarray, shift: object, limits: tuple[int, int]) -> None:
    """Checks the line of every channel of a layer with what its constants are made from."""
    assert isinstance(shift, int)
    wide = packing.matrix(node, axis).astype(np.int64)
    bias = packing.bias(node)
    folded = (0 if bias is None else bias.astype(np.int64)) - node.input(INPUT).quant.zero_point * wide.sum(1)
    positive, negative = np.maximum(wide, 0).sum(1), np.minimum(wide, 0).sum(1)
    for channel, (multiplier, right) in enumerate(zip(*multipliers(node, axis), strict=True)):
        start = int(folded[channel])
        ends = (
            start + 127 * int(negative[channel]) - 128 * int(positive[channel]),
            start + 127 * int(positive[channel]) - 128 * int(negative[channel]),
        )
        steps = DoubleRounding(int(multiplier), int(right), node.output.quant.zero_point, *limits, *ends)
        offset, factor, constant = (int(value) for value in rows[:, channel])
        check(steps, SingleRounding(offset - start, factor, constant), shift)

"""Depthwise windows of one column by pairs of results below one another: the C that says what the assembly computes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Node
from aboard.kernels import of
from aboard.kernels.arm_dsp.depthwise_column import DspColumnS8
from aboard.kernels.contract import Implementation
from aboard.kernels.select.strategy import choose
from aboard.kernels.view import View
from support import kernel_call, kernel_views
from support.dsp_layers import COLUMN, DSP, TARGET, one_column, refusal, window_layer
from support.examples import examples
from support.kernel_call import Placed
from support.weighted_models import Layer


def kernel(node: Node) -> Implementation:
    (found,) = (each for each in of(node.op) if each.name == COLUMN)
    assert isinstance(found, DspColumnS8)
    return found


def column(rows: int, taps: int, channels: int, cols: int = 1) -> Layer:
    return window_layer((rows, cols, channels), (taps, 1), padding="VALID")


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), one_column())
def test_any_view_and_any_rows(data: st.DataObject, layer: Layer) -> None:
    x, y = (data.draw(kernel_call.views(shape, 1)) for shape in (layer.shape_in, layer.shape_out))
    ranges = data.draw(kernel_call.row_ranges(y.rows, 1))
    kernel_views.check(layer, kernel, TARGET, x, y, ranges)


@settings(max_examples=examples(20), deadline=None)
@given(one_column(), st.integers(0, 3), st.booleans())
def test_results_overwrite_their_operand(layer: Layer, rows: int, together: bool) -> None:
    """Results may lie over the operand, or start any number of rows before it, if both have rows of equal length."""
    (node,) = load(layer.model(), name="model").nodes
    x, y = View.whole(layer.shape_in, 1), View.whole(layer.shape_out, 1)
    least = kernel(node).overlap(node, [x, None, None], [y])
    assert least is not None
    aligned = kernel(node).alignment(node)
    distance = -(-least // aligned) * aligned + rows * aligned
    assert least == 0 or distance >= y.rows * y.row_stride - y.row_stride
    ranges = [(0, y.rows)] if together else [(row, row + 1) for row in range(y.rows)]
    call = kernel(node).lower(node, [x, None, None], [y], TARGET)
    apart = Placed.of(np.zeros(layer.shape_out, np.int8), y)
    kernel_call.run(call, [Placed.of(layer.input(), x)], [apart], ranges)
    memory = np.zeros(distance + x.span + y.span, np.uint8)
    operand = Placed(dataclasses.replace(x, offset=distance), memory)
    operand.pixels()[...] = layer.input().reshape(x.rows, x.cols, x.channels).view(np.uint8)
    over = Placed(y, memory)
    kernel_call.run(call, [operand], [over], ranges)
    np.testing.assert_array_equal(over.pixels(), apart.pixels())


@pytest.mark.parametrize("rows", [5, 6, 9])
def test_rolling_buffers(rows: int) -> None:
    """Windows that pass the end of a buffer are computed tap by tap."""
    layer = column(20, 5, 4)
    x = dataclasses.replace(View.whole(layer.shape_in, 1), buffer_rows=rows)
    y = dataclasses.replace(View.whole(layer.shape_out, 1), buffer_rows=3)
    height = min(rows - 4, 3)
    stripes = [(row, min(row + height, 16)) for row in range(0, 16, height)]
    kernel_views.check_stripes(layer, kernel, TARGET, x, y, stripes)


def test_columns_are_for_this_kernel() -> None:
    for rows, taps, channels in ((28, 5, 128), (24, 10, 128), (30, 3, 40)):
        (node,) = load(column(rows, taps, channels).model(), name="model").nodes
        assert choose(node, TARGET).implementation.name == COLUMN
    (node,) = load(window_layer((14, 14, 24), (3, 3)).model(), name="model").nodes
    assert choose(node, TARGET).implementation.name == DSP


def test_rows_lie_over_rows() -> None:
    for channels, cols, wanted in ((128, 1, 128), (32, 4, 128), (40, 1, 1), (512, 1, 1)):
        (node,) = load(column(12, 4, channels, cols).model(), name="model").nodes
        assert kernel(node).alignment(node) == wanted


def test_what_is_left_to_other_kernels() -> None:
    assert refusal(column(9, 4, 3), COLUMN) is None
    assert refusal(dataclasses.replace(column(9, 4, 3), form="float32"), COLUMN) == "is for int8"
    wrong = "is for windows of one column and 2 to 32 rows"
    assert refusal(window_layer((6, 6, 4), (5, 2)), COLUMN) == wrong
    assert refusal(column(40, 33, 4), COLUMN) == wrong
    assert refusal(column(9, 1, 4), COLUMN) == wrong
    wrong = "is for strides and dilations of 1 without padding"
    assert refusal(window_layer((9, 3, 4), (5, 1)), COLUMN) == wrong
    assert refusal(window_layer((9, 3, 4), (3, 1), 2, padding="VALID"), COLUMN) == wrong
    assert refusal(window_layer((9, 3, 4), (3, 1), 1, 2, padding="VALID"), COLUMN) == wrong
    twice = dataclasses.replace(column(6, 5, 4), shape_weights=(1, 5, 1, 8), shape_out=(1, 2, 1, 8))
    twice.options = {**twice.options, "DepthMultiplier": 2}
    assert refusal(twice, COLUMN) == "is for one result of each channel"
    assert refusal(dataclasses.replace(column(6, 5, 4), spread=1e-5), COLUMN) is not None

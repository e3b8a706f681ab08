"""Stripes of depthwise layers that pack columns and keep rows: any height, in rings that wrap, over their operand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import aboard
from aboard.importers import load
from aboard.ir import Node
from aboard.kernels.arm_mve import packed_stripes
from aboard.kernels.contract import Implementation
from aboard.kernels.view import View
from aboard.ops import get
from support import kernel_call, kernel_views, sanitized, stripe_models
from support.kernel_call import Placed
from support.mve_layers import TARGET, implementation
from support.weighted_models import Layer

#: Images of one to six columns, windows, padding, and channels.
IMAGES = [
    ((25, 5), (3, 3), "SAME", 16),
    ((19, 1), (3, 1), "SAME", 16),
    ((12, 2), (2, 2), "SAME", 32),
    ((11, 3), (3, 2), "SAME", 16),
    ((13, 4), (2, 3), "SAME", 16),
    ((17, 6), (3, 3), "SAME", 16),
    ((18, 7), (3, 3), "VALID", 48),
    ((20, 5), (2, 3), "VALID", 16),
]


def layer_of(size: tuple[int, int], window: tuple[int, int], padding: str, channels: int) -> Layer:
    """Returns a depthwise layer with limits and any zero points."""
    less = (0, 0) if padding == "SAME" else (window[0] - 1, window[1] - 1)
    options = {"Padding": padding, "StrideH": 1, "StrideW": 1, "DepthMultiplier": 1}
    result = (1, size[0] - less[0], size[1] - less[1], channels)
    return Layer(
        "DEPTHWISE_CONV_2D", (1, *size, channels), (1, *window, channels), result, 3, options,
        seed=size[0], zero_point_in=-7, zero_point_out=-128,
    )  # fmt: skip


def few(node: Node) -> Implementation:
    """Returns the kernel that packs four channels at once."""
    found = implementation(node).in_less_scratch(node)
    assert found is not None
    return found


@pytest.mark.parametrize("image", IMAGES, ids=str)
@pytest.mark.parametrize("height", [1, 2, 3, 4, 5, 7, 8, 11])
def test_stripes_of_any_height_in_rings(image: tuple[tuple[int, int], tuple[int, int], str, int], height: int) -> None:
    layer = layer_of(*image)
    (node,) = load(layer.model(), name="model").nodes
    way = few(node).row_wise(node)
    assert way is not None
    assert (way.rows, way.keeps, way.overwrites) == (packed_stripes.ROWS, True, True)
    kernel_views.check_first_stripes(layer, few, TARGET, height)


@pytest.mark.parametrize("image", [each for each in IMAGES if each[2] == "SAME"], ids=str)
@pytest.mark.parametrize("height", [1, 3, 4, 6, 8])
def test_results_over_the_rows_that_stripes_read(
    image: tuple[tuple[int, int], tuple[int, int], str, int], height: int
) -> None:
    """Each row is written once, and its memory has results when its stripe is done."""
    layer = layer_of(*image)
    (node,) = load(layer.model(), name="model").nodes
    assert few(node).overwrites_rows(node) == (0,)
    after = layer.shape_weights[1] // 2
    rows, whole = layer.shape_in[1], View.whole(layer.shape_in, 1)
    ring = replace(whole, buffer_rows=min(height + after, rows), stripe_height=height)
    x, y = replace(ring, start_row=0), replace(ring, start_row=after)
    memory = np.zeros(ring.buffer_rows * ring.row_stride, np.uint8)
    lines, got, written = layer.input().reshape(rows, -1).view(np.uint8), list[np.ndarray](), 0

    def keep(last: int) -> None:
        for row in range(len(got), last):
            got.append(memory.reshape(ring.buffer_rows, -1)[(row + after) % ring.buffer_rows].copy())

    def produce(first: int, last: int) -> None:
        nonlocal written
        keep(first)
        for row in range(written, min(last + after, rows)):
            memory.reshape(ring.buffer_rows, -1)[row % ring.buffer_rows] = lines[row]
        written = min(last + after, rows)

    stripes = [(first, min(first + height, rows)) for first in range(0, rows, height)]
    call = few(node).lower(node, [x, None, None], [y], TARGET)
    kernel_call.run(call, [Placed(x, memory)], [Placed(y, memory)], stripes, produce)
    keep(rows)
    constants = [None if t is None else t.data for t in node.inputs[1:]]
    wanted = get(node.op).evaluate(node, [layer.input(), *constants])[0]
    np.testing.assert_array_equal(np.stack(got).view(np.int8).ravel(), wanted.ravel())


@pytest.mark.parametrize("change", ["few rows", "wide", "channels", "multiplier"])
def test_other_layers_are_not_computed_so(change: str) -> None:
    layer = layer_of((25, 5), (3, 3), "SAME", 16)
    if change == "few rows":
        layer = layer_of((8, 5), (3, 3), "SAME", 16)
    if change == "wide":
        layer = layer_of((25, 8), (3, 3), "SAME", 16)
    if change == "channels":
        layer = layer_of((25, 5), (3, 3), "SAME", 6)
    if change == "multiplier":
        options = {**layer.options, "DepthMultiplier": 2}
        layer = replace(layer, shape_weights=(1, 3, 3, 32), shape_out=(1, 25, 5, 32), options=options)
    (node,) = load(layer.model(), name="model").nodes
    found = implementation(node).in_less_scratch(node) or implementation(node)
    way = found.row_wise(node)
    assert way is None or not way.overwrites


@pytest.mark.parametrize(("size", "channels"), [((25, 5), 64), ((21, 6), 32), ((30, 3), 64)])
def test_models_whose_layers_overwrite_each_other(size: tuple[int, int], channels: int) -> None:
    model = stripe_models.chain(size[1], size, channels)
    module = aboard.compile(model, target="c -mcpu=cortex-m55 -runtime=standalone -opt=size", name="model")
    assert {node.op for node in module.manifest.nodes if node.cascade is not None} == {
        "conv2d", "depthwise_conv2d", "average_pool2d",
    }  # fmt: skip
    functions = {step.call.function for step in module.schedule().program.steps}
    assert {packed_stripes.FUNCTION, "aboard_conv2d_four_pixels_mve_staged"} <= functions
    sanitized.check_as_native(module, model, sanitized.random_feed(module, 3))

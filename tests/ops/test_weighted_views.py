"""Layers with weights through any view and in any split of rows: the bytes of the whole, and no byte else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard import kernels
from aboard.importers import load
from aboard.ir import Node
from aboard.kernels.contract import KernelCall
from aboard.kernels.select.strategy import choose
from aboard.kernels.view import View
from aboard.ops import conv2d, get
from aboard.ops.window import reach
from aboard.target import Target
from support import kernel_call
from support.examples import examples
from support.kernel_call import Placed
from support.weighted_models import Layer, layers

HOST = Target("c -runtime=host")
FORMS = {
    "int8": "portable_s8",
    "int16": "portable_s16",
    "float32": "portable_f32",
    "hybrid": "portable_f32_w8",
}
DTYPES = {"int8": np.int8, "int16": np.int16, "float32": np.float32, "hybrid": np.float32}
CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")


def lowered(layer: Layer, x: View | None = None, y: View | None = None) -> tuple[Node, KernelCall, View, View]:
    """Returns node, call and views of a layer, through the views given or those of the whole tensors."""
    node = load(layer.model(), name="model").nodes[0]
    size = node.output.dtype.bytes
    x, y = x or View.whole(layer.shape_in, size), y or View.whole(layer.shape_out, size)
    names = (FORMS[layer.form], "portable_few_s8", "portable_one_s8")
    able = {i.name: i for i in kernels.of(node.op) if i.name in names and i.refuses(node, HOST) is None}
    implementation = next(able[name] for name in names if name in able)
    return node, implementation.lower(node, [x, None, None], [y], HOST), x, y


def expected(node: Node, layer: Layer) -> np.ndarray:
    constants = [None if t is None else t.data for t in node.inputs[1:]]
    return get(node.op).evaluate(node, [layer.input(), *constants])[0]


def check(node: Node, layer: Layer, got: Placed) -> None:
    wanted = expected(node, layer)
    values = got.values(layer.shape_out, wanted.dtype)
    if values.dtype.kind == "i":
        np.testing.assert_array_equal(values, wanted)
    else:
        assert float(np.abs(values - wanted).max()) <= 1e-4 * max(float(np.abs(wanted).max()), 1e-3)
    assert got.gaps_are_untouched()


@settings(max_examples=examples(40), deadline=None)
@given(st.data(), st.sampled_from(CONVOLUTIONS), st.sampled_from(["int8", "int8", "int16", "float32", "hybrid"]))
def test_strided_views_and_any_rows(data: st.DataObject, kind: str, form: str) -> None:
    layer = data.draw(layers(kind, form))
    size = np.dtype(DTYPES[form]).itemsize
    x, y = (data.draw(kernel_call.views(shape, size)) for shape in (layer.shape_in, layer.shape_out))
    node, call, _, _ = lowered(layer, x, y)
    result = Placed.of(np.zeros(layer.shape_out, DTYPES[form]), y)
    kernel_call.run(call, [Placed.of(layer.input(), x)], [result], data.draw(kernel_call.row_ranges(call.rows, 1)))
    check(node, layer, result)


@settings(max_examples=examples(20), deadline=None)
@given(st.data(), st.sampled_from(CONVOLUTIONS))
def test_code_for_eight_registers(data: st.DataObject, kind: str) -> None:
    layer = data.draw(layers(kind, "int8"))
    node, call, _, y = lowered(layer)
    result = Placed.of(np.zeros(layer.shape_out, np.int8), y)
    operand = Placed.of(layer.input(), View.whole(layer.shape_in, 1))
    ranges = data.draw(kernel_call.row_ranges(call.rows, 1))
    kernel_call.run(call, [operand], [result], ranges, flags=["-DABOARD_THUMB1=1"])
    check(node, layer, result)


@settings(max_examples=examples(40), deadline=None)
@given(st.data(), st.sampled_from(CONVOLUTIONS), st.sampled_from(["int8", "int16", "float32"]))
def test_ring_of_input_rows(data: st.DataObject, kind: str, form: str) -> None:
    layer = data.draw(layers(kind, form))
    size = np.dtype(DTYPES[form]).itemsize
    node = load(layer.model(), name="model").nodes[0]
    whole = View.whole(layer.shape_in, size)
    height = conv2d.window(node)[0]
    depth = min(whole.rows, reach(height, conv2d.attributes(node).dilations[0]) + data.draw(st.integers(0, 2)))
    _, call, x, y = lowered(layer, replace(whole, buffer_rows=depth))
    ring = np.full(depth * x.row_stride, kernel_call.GAP, np.uint8)
    rows = layer.input().reshape(x.rows, -1).view(np.uint8)
    written = 0

    def produce(first: int, last: int) -> None:
        """Writes input rows in order, as a producer would, up to the last one that row `first` needs."""
        nonlocal written
        assert last == first + 1
        for row in range(written, last_row_needed(node, first) + 1):
            ring.reshape(depth, -1)[row % depth] = rows[row]
            written = row + 1

    result = Placed.of(np.zeros(layer.shape_out, DTYPES[form]), y)
    kernel_call.run(call, [Placed(x, ring)], [result], [(r, r + 1) for r in range(y.rows)], produce)
    check(node, layer, result)


def last_row_needed(node: Node, row: int) -> int:
    """Returns the last input row, counted over the batch, that a row of the result needs."""
    attrs = conv2d.attributes(node)
    in_height, out_height = node.input(0).shape[1], node.output.shape[1]
    image, y = divmod(row, out_height)
    last = y * attrs.strides[0] - attrs.padding.top + reach(conv2d.window(node)[0], attrs.dilations[0]) - 1
    return image * in_height + min(max(last, 0), in_height - 1)


@settings(max_examples=examples(15), deadline=None)
@given(st.data(), st.sampled_from(list(FORMS)))
def test_fully_connected_in_any_rows(data: st.DataObject, form: str) -> None:
    layer = data.draw(layers("FULLY_CONNECTED", form))
    node, call, x, y = lowered(layer)
    result = Placed.of(np.zeros(layer.shape_out, DTYPES[form]), y)
    kernel_call.run(call, [Placed.of(layer.input(), x)], [result], data.draw(kernel_call.row_ranges(call.rows, 1)))
    check(node, layer, result)


@settings(max_examples=examples(30), deadline=None)
@given(st.data(), st.sampled_from([*CONVOLUTIONS, "FULLY_CONNECTED"]))
def test_int16_for_the_dsp_extension(data: st.DataObject, kind: str) -> None:
    # The C that says what the assembly computes.
    target = Target("c -mcpu=cortex-m4 -runtime=standalone")
    layer = data.draw(layers(kind, "int16"))
    node = load(layer.model(), name="model").nodes[0]
    implementation = choose(node, target).implementation
    whole = kind == "FULLY_CONNECTED"
    x, y = (
        View.whole(shape, 2) if whole else data.draw(kernel_call.views(shape, 2))
        for shape in (layer.shape_in, layer.shape_out)
    )
    call = implementation.lower(node, [x, None, None], [y], target)
    result = Placed.of(np.zeros(layer.shape_out, np.int16), y)
    kernel_call.run(call, [Placed.of(layer.input(), x)], [result], data.draw(kernel_call.row_ranges(call.rows, 1)))
    check(node, layer, result)

"""Kernels of LSTM layers, called as C: results over their input, and the kernels for the DSP extension and Helium."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import Node
from aboard.kernels import of
from aboard.kernels.contract import Implementation, KernelCall
from aboard.kernels.view import View
from aboard.ops import get
from aboard.ops.lstm_steps import CELL, HIDDEN, INPUT
from aboard.target import Target
from ops.test_lstm import TYPES, Layer, layers
from support import kernel_call
from support.examples import examples
from support.kernel_call import Placed

M4 = Target("c -mcpu=cortex-m4 -runtime=standalone")


def state(layer: Layer, node: Node, seed: int) -> list[np.ndarray]:
    """Returns a hidden state and a cell state."""
    rng, found = np.random.default_rng(seed), []
    for index in (HIDDEN, CELL):
        shape, dtype = node.input(index).shape, np.dtype(node.input(index).dtype.numpy)
        if layer.is_float:
            found.append(rng.normal(0, 1, shape).astype(dtype))
        else:
            info = np.iinfo(dtype)
            found.append(rng.integers(info.min, info.max, shape, dtype, endpoint=True))
    return found


def check(layer: Layer, kernel: Implementation, behind: int | None = None) -> None:
    """Fails unless a kernel computes what the op does.

    Args:
        layer: The layer.
        kernel: The kernel; it accepts the layer.
        behind: Bytes from the start of the result to that of the input in the same memory; None for memory of its own.
    """
    (node,) = load(layer.model()).nodes
    x, (hidden, cell) = layer.runs()[0][0], state(layer, node, layer.seed)
    given = {INPUT: x, HIDDEN: hidden, CELL: cell}
    operands = [given.get(i, None if t is None else t.data) for i, t in enumerate(node.inputs)]
    expected = get("lstm").evaluate(node, operands)
    whole = [View.whole(t.shape, t.dtype.bytes) for t in node.outputs]
    views = [None if t is None else View.whole(t.shape, t.dtype.bytes) for t in node.inputs]
    source = View.whole(x.shape, x.itemsize)
    results = [Placed.of(np.zeros(t.shape, t.dtype.numpy), v) for t, v in zip(node.outputs, whole, strict=True)]
    places = {i: Placed.of(value, View.whole(value.shape, value.itemsize)) for i, value in given.items()}
    if behind is not None:
        source = replace(source, offset=behind)
        memory = np.full(max(whole[0].span, behind + source.span), kernel_call.GAP, np.uint8)
        places[INPUT], results[0] = Placed(source, memory), Placed(whole[0], memory)
        places[INPUT].pixels()[...] = x.reshape(source.rows, source.cols, -1).view(np.uint8)
    call = kernel.lower(node, views, whole, M4)
    assert isinstance(call, KernelCall)
    inputs = [places.get(i, places[INPUT]) for i in range(len(node.inputs))]
    kernel_call.run(call, inputs, results, [(0, call.rows)])
    for result, wanted in zip(results, expected, strict=True):
        tolerance = 1e-5 if layer.is_float else 0
        got = result.values(wanted.shape, wanted.dtype)
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def accepting(layer: Layer) -> list[Implementation]:
    (node,) = load(layer.model()).nodes
    return [kernel for kernel in of("lstm") if kernel.refuses(node, M4) is None]


@pytest.mark.parametrize("dtype", TYPES)
@settings(max_examples=examples(10), deadline=None)
@given(st.data())
def test_every_kernel_computes_the_same_over_its_input(dtype: type, data: st.DataObject) -> None:
    layer = data.draw(layers(dtype))
    (node,) = load(layer.model()).nodes
    x, y = (View.whole(t.shape, t.dtype.bytes) for t in (node.input(INPUT), node.output))
    rest = [None] * (len(node.inputs) - 1)
    for kernel in accepting(layer):
        check(layer, kernel)
        least = kernel.overlap(node, [x, *rest], [y])
        assert (least is None) == (layer.batch > 1 and layer.time_major)
        if least is not None:
            check(layer, kernel, least)
            check(layer, kernel, least + 3 * x.element_bytes)


@pytest.mark.parametrize(("inputs", "units"), [(16, 16), (33, 5), (240, 18)])
def test_inputs_and_units_of_many_vectors(inputs: int, units: int) -> None:
    for dtype in (np.int8, np.int16):
        layer = Layer(dtype, batch=2, inputs=inputs, units=units, gain=0.1, clip=2.0)
        for kernel in accepting(layer):
            check(layer, kernel)


def refusal(layer: Layer, name: str) -> str | None:
    (node,) = load(layer.model()).nodes
    return next(kernel for kernel in of("lstm") if kernel.name == name).refuses(node, M4)


def test_what_the_dsp_kernel_leaves_to_the_portable_one() -> None:
    assert refusal(Layer(), "dsp_s8") is None
    assert refusal(Layer(dtype=np.int16), "dsp_s8") == "is for int8"
    assert refusal(Layer(wrong={"b0": {"data": [2**31 - 1] * 4}}), "dsp_s8") == "sums of gates may exceed 31 bits"


@pytest.mark.parametrize(
    ("wrong", "refused"),
    [
        ({}, False),
        ({"b0": {"data": [2**30] * 4}}, False),
        ({"b0": {"data": [2**31 - 1] * 4}}, True),
        # Scales whose right shift is just small enough, and one more than the short form has.
        ({"w1": {"scale": 2.0**-16}}, False),
        ({"w1": {"scale": 2.0**-17}}, True),
        ({"w1": {"scale": 30.0}}, True),
    ],
)
def test_int16_layers_whose_sums_may_exceed_a_word_or_have_far_scales(wrong: dict[str, Any], refused: bool) -> None:
    layer = Layer(np.int16, wrong=wrong)
    for name in ("dsp_s16", "arm_mve_s16"):
        assert refusal(layer, name) == ("sums of gates may exceed 31 bits" if refused else None)
    for kernel in accepting(layer):
        check(layer, kernel)

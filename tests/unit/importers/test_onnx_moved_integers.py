"""Integers that a file moves before it states what they stand for."""

from __future__ import annotations

import numpy as np
import pytest

import aboard
from aboard.importers import load
from support.onnx_models import check, evaluated, expected, model, node, refusal

CONSTANTS = {"s": np.float32(0.5), "z": np.int8(3), "t": np.float32(0.25), "u": np.uint8(130)}
FEED = {"x": np.arange(-12, 12, dtype=np.int8).reshape(1, 2, 3, 4)}


def moved(*nodes):
    constants = {**CONSTANTS, "shape": np.array([4, 6]), "half": np.array([1, 1])}
    used = {name for each in nodes for name in each.input}
    return {name: value for name, value in constants.items() if name in used}


@pytest.mark.parametrize(
    "middle",
    [
        [node("Transpose", "x", "m", perm=[0, 2, 3, 1])],
        [node("Reshape", "x shape", "m")],
        [node("Transpose", "x", "p", perm=[0, 3, 1, 2]), node("Reshape", "p shape", "m")],
        [node("Split", "x half", "p r", axis=1), node("Concat", "r p", "m", axis=2)],
        [node("Concat", "x x", "m", axis=3)],
    ],
    ids=["transpose", "reshape", "two", "parts", "twice"],
)
def test_both_sides_have_one_quantisation(middle):
    nodes = [*middle, node("DequantizeLinear", "m s z")]
    data = model(nodes, FEED, moved(*nodes))
    graph = load(data, name="model")
    integers = [tensor for tensor in graph.tensors() if not tensor.dtype.is_float]
    assert {(tensor.quant.scale, tensor.quant.zero_point) for tensor in integers} == {(0.5, 3)}
    check(data, FEED, compiled=True)


def test_unsigned_integers_too():
    nodes = [node("Transpose", "x", "m", perm=[0, 2, 3, 1]), node("DequantizeLinear", "m t u")]
    feed = {"x": np.arange(116, 140, dtype=np.uint8).reshape(1, 2, 3, 4)}
    data = model(nodes, feed, moved(*nodes))
    np.testing.assert_array_equal(evaluated(data, feed)[0], expected(data, feed)[0])
    assert load(data, name="model").inputs[0].quant.zero_point == 130


def test_a_convolution_reads_an_image_with_channels_last():
    weights = {"w": np.ones((5, 2, 1, 1), np.int8), "v": np.float32(0.13)}
    nodes = [
        node("Transpose", "x", "m", perm=[0, 3, 1, 2]),
        node("DequantizeLinear", "m s z", "d"),
        node("DequantizeLinear", "w v", "k"),
        node("Conv", "d k", "c"),
        node("QuantizeLinear", "c s z"),
    ]
    feed = {"x": np.arange(-12, 12, dtype=np.int8).reshape(1, 3, 4, 2)}
    data = model(nodes, feed, {**moved(*nodes), **weights})
    check(data, feed)
    module = aboard.compile(data, target="c -runtime=host")
    assert [each.op for each in module.graph.nodes] == ["conv2d", "transpose"]
    assert np.abs(module.run(feed["x"]).astype(int) - expected(data, feed)[0]).max() <= 1


def test_two_quantisations_of_the_same_integers_are_refused():
    nodes = [node("Transpose", "x", "m", perm=[0, 2, 3, 1]), node("DequantizeLinear", "m s z", "a")]
    nodes += [node("Transpose", "x", "n", perm=[0, 3, 1, 2]), node("DequantizeLinear", "n v", "b")]
    data = model(nodes, FEED, {**moved(*nodes), "v": np.float32(0.125)})
    assert "transpose m: quantisation of x, got " in refusal(data)
    assert "expected one for the same integers. Export the model again" in refusal(data)

"""Layers between dequantize and quantize become integer layers that round as TensorFlow Lite Micro does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.importers import load
from aboard.ir import DType
from aboard.ops.interpreter import run
from aboard.passes import run_passes
from aboard.passes.pipeline import HOST, NEUTRAL, neutral
from support.examples import examples
from support.onnx_models import check, expected, model, node
from support.tflite_builder import ModelBuilder

CONSTANTS: dict[str, np.ndarray] = {
    "s": np.float32(0.05),
    "z": np.int8(-10),
    "t": np.float32(0.04),
    "u": np.int8(5),
    "low": np.int8(-128),
    "s8": np.float32(0.05),
    "z8": np.uint8(118),
}


def quantised(middle, constants=None, shape=(1, 3, 6, 6), scale="t u", seed=0):
    """Returns a model of nodes between `d`, the dequantised input, and `f`, which is quantised; and its input."""
    x = np.random.default_rng(seed).normal(0, 2, shape).astype(np.float32)
    nodes = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d"), *middle]
    nodes += [node("QuantizeLinear", f"f {scale}", "r"), node("DequantizeLinear", f"r {scale}")]
    used = {name for each in nodes for name in each.input}
    known = {**CONSTANTS, **(constants or {})}
    return model(nodes, {"x": x}, {name: value for name, value in known.items() if name in used}), {"x": x}


def fused(data, feed, steps=1.0, scale=0.04):
    """Runs the passes, compares with the reference evaluator within steps of the result, and returns the graph.

    With exact arithmetic, results are the evaluator's, but for some at ties, where it is off as it adds in float32.
    """
    graph, exact = load(data), load(data)
    run_passes(graph, (*NEUTRAL, *HOST))
    run_passes(exact, (*neutral("exact"), *HOST))
    (got,), (exactly,), (wanted,) = run(graph, feed).values(), run(exact, feed).values(), expected(data, feed)
    assert got.std() > 0
    assert np.abs(got - wanted).max() <= steps * scale * 1.001
    assert np.abs(exactly - wanted).max() <= scale * 1.001
    assert np.count_nonzero(np.abs(exactly - wanted) > scale / 2) <= wanted.size // 8
    return graph


def kinds(graph):
    return [each.op for each in graph.nodes]


def weights(shape, seed=1, channels=None):
    rng = np.random.default_rng(seed)
    stored = rng.integers(-127, 128, shape).astype(np.int8)
    scales = rng.uniform(0.002, 0.01, channels).astype(np.float32) if channels else np.float32(0.005)
    zeros = np.zeros(channels, np.int8) if channels else np.int8(0)
    return {"w": stored, "ws": scales, "wz": zeros}


@pytest.mark.parametrize("channels", [None, 4], ids=["per tensor", "per channel"])
@pytest.mark.parametrize("activation", ["", "Relu"])
def test_a_convolution(channels, activation):
    constants = {**weights((4, 3, 3, 3), channels=channels), "b": np.linspace(-1, 1, 4).astype(np.float32)}
    middle = [node("DequantizeLinear", "w ws wz", "v", axis=0), node("Conv", "d v b", "c" if activation else "f")]
    middle += [node(activation, "c", "f")] if activation else []
    graph = fused(*quantised(middle, constants))
    assert kinds(graph) == ["quantize", "transpose", "conv2d", "transpose", "dequantize"]
    assert all(tensor.dtype is not DType.FLOAT32 for each in graph.nodes[1:-1] for tensor in each.operands)


def test_a_depthwise_convolution_and_a_product():
    constants = {**weights((3, 1, 3, 3), channels=3), "p": weights((5, 108))["w"], "shape": np.array([1, -1])}
    middle = [
        node("DequantizeLinear", "w ws wz", "v", axis=0),
        node("Conv", "d v", "c", group=3, pads=[1, 1, 1, 1]),
        node("QuantizeLinear", "c t u", "cq"),
        node("DequantizeLinear", "cq t u", "cd"),
        node("Reshape", "cd shape", "flat"),
        node("DequantizeLinear", "p t", "pd"),
        node("Gemm", "flat pd", "f", transB=1),
    ]
    data, _ = quantised(middle, constants)
    graph = load(data)
    run_passes(graph, (*NEUTRAL, *HOST))
    assert kinds(graph) == ["quantize", "transpose", "depthwise_conv2d", "reshape", "fully_connected", "dequantize"]


@pytest.mark.parametrize(
    ("middle", "op"),
    [
        ([node("Add", "d d", "f")], "add"),
        ([node("Mul", "d d", "f")], "mul"),
        ([node("MaxPool", "d", "f", kernel_shape=[2, 2], strides=[2, 2])], "max_pool2d"),
        ([node("AveragePool", "d", "f", kernel_shape=[2, 2], strides=[2, 2])], "average_pool2d"),
        ([node("GlobalAveragePool", "d", "f")], "mean"),
        ([node("Concat", "d d", "f", axis=1)], "concatenation"),
        ([node("Sigmoid", "d", "f")], "lookup"),
        ([node("Sin", "d", "f")], "lookup"),
        ([node("HardSwish", "d", "f")], "hard_swish"),
        ([node("Gelu", "d", "f")], "lookup"),
        ([node("Sigmoid", "d", "e"), node("Mul", "d e", "f")], "lookup"),
        ([node("LeakyRelu", "d", "f", alpha=0.1)], "leaky_relu"),
        ([node("Relu", "d", "f")], "relu"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_layers(middle, op):
    graph = fused(*quantised(middle), steps=2)
    layer = next(each for each in graph.nodes if each.op == op)
    assert {tensor.dtype for tensor in (*layer.operands, *layer.outputs)} == {DType.INT8}


def test_movement_is_done_by_integers():
    middle: list[Any] = [node("Transpose", "d", "f", perm=[0, 3, 1, 2])]
    graph = fused(*quantised(middle))
    moved = next(each for each in graph.nodes if each.op == "transpose")
    assert moved.output.dtype is DType.INT8


def test_a_layer_that_integers_cannot_compute_stays():
    graph = fused(*quantised([node("LpNormalization", "d", "f", axis=1)]))
    assert "sqrt" in kinds(graph)


@pytest.mark.parametrize("kind", ["Exp", "Softplus", "Tanh", "Floor"])
def test_a_table_holds_what_the_file_computes_for_every_number(kind):
    x = ((np.arange(-128, 128) + 10) * np.float32(0.05)).astype(np.float32).reshape(1, 256)
    nodes = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d"), node(kind, "d", "f")]
    nodes += [node("QuantizeLinear", "f t u", "y")]
    data = model(nodes, {"x": x}, {name: CONSTANTS[name] for name in ("s", "z", "t", "u")})
    graph = load(data)
    run_passes(graph, (*NEUTRAL, *HOST))
    assert kinds(graph) == ["quantize", "lookup"]
    check(data, {"x": x}, compiled=True)


def test_a_function_of_two_numbers_stays_real():
    middle = [node("Sin", "d", "e"), node("DequantizeLinear", "r2 t u", "g"), node("Mul", "e g", "f")]
    middle = [node("Abs", "d", "b"), node("QuantizeLinear", "b t u", "r2"), *middle]
    graph = fused(*quantised(middle))
    assert {"sin", "mul"} <= set(kinds(graph))


def test_a_quantize_moves_before_a_join_whose_parts_integers_compute():
    constants = {**weights((4, 3, 3, 3)), "b": np.linspace(-1, 1, 4).astype(np.float32)}
    middle = [node("DequantizeLinear", "w ws wz", "v", axis=0), node("Conv", "d v b", "c"), node("Conv", "d v", "e")]
    middle += [node("Concat", "c e", "j", axis=1), node("Relu", "j", "f")]
    graph = fused(*quantised(middle, constants, scale="t low"), steps=1)
    assert "relu" not in kinds(graph)
    assert all(tensor.dtype is not DType.FLOAT32 for each in graph.nodes[1:-1] for tensor in each.operands)


def test_weights_with_a_zero_point_stay_real():
    constants = {**weights((4, 3, 1, 1)), "wz": np.int8(3)}
    graph = fused(*quantised([node("DequantizeLinear", "w ws wz", "v"), node("Conv", "d v", "f")], constants))
    layer = next(each for each in graph.nodes if each.op == "conv2d")
    assert layer.output.dtype is DType.FLOAT32


def test_a_value_that_another_node_reads_stays_real():
    x = np.linspace(-2, 2, 12, dtype=np.float32).reshape(1, 12)
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("DequantizeLinear", "q s z", "d"),
        node("Add", "d d", "f"),
        node("QuantizeLinear", "f t u", "r"),
        node("DequantizeLinear", "r t u", "y"),
        node("Sin", "f", "other"),
    ]
    known = {name: CONSTANTS[name] for name in ("s", "z", "t", "u")}
    data = model(nodes, {"x": x}, known)
    graph = load(data)
    run_passes(graph, (*NEUTRAL, *HOST))
    assert next(each for each in graph.nodes if each.op == "add").output.dtype is DType.FLOAT32
    for got, wanted in zip(run(graph, {"x": x}).values(), expected(data, {"x": x}), strict=True):
        np.testing.assert_allclose(got, wanted, atol=0.04)


def test_unsigned_integers_become_signed_ones():
    x = np.random.default_rng(3).normal(0, 2, (1, 3, 4, 4)).astype(np.float32)
    nodes = [
        node("QuantizeLinear", "x s8 z8", "q"),
        node("DequantizeLinear", "q s8 z8", "d"),
        node("Add", "d d", "f"),
        node("QuantizeLinear", "f s8 z8", "y"),
    ]
    data = model(nodes, {"x": x}, {name: CONSTANTS[name] for name in ("s8", "z8")})
    graph = load(data)
    run_passes(graph, (*NEUTRAL, *HOST))
    (got,), (wanted,) = run(graph, {"x": x}).values(), expected(data, {"x": x})
    assert got.dtype == np.uint8
    assert np.abs(got.astype(int) - wanted).max() <= 1
    assert next(each for each in graph.nodes if each.op == "add").output.dtype is DType.INT8


@given(st.integers(1, 4), st.integers(1, 5), st.sampled_from([1, 2, 3]), st.integers(0, 1), st.integers(0, 99))
@settings(max_examples=examples(40), deadline=None)
def test_any_convolution(inputs, outputs, taps, pad, seed):
    constants = weights((outputs, inputs, taps, taps), seed, outputs)
    middle = [node("DequantizeLinear", "w ws wz", "v", axis=0), node("Conv", "d v", "f", pads=[pad] * 4)]
    graph = fused(*quantised(middle, constants, (1, inputs, 5, 6), seed=seed))
    assert "conv2d" in kinds(graph)


@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_the_activation_of_a_layer_between_integers_stays(dtype):
    """A TFLite file has the activation in the layer; a zero point of 0 does not clamp negative numbers away."""
    builder = ModelBuilder()
    weights = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    builder.tensor("x", (1, 6), dtype, scale=0.01).tensor("y", (1, 4), dtype, scale=0.02)
    builder.tensor("a", (1, 6), np.float32).tensor("b", (1, 4), np.float32)
    builder.tensor("stored", (4, 6), np.int8, scale=0.03, data=np.rint(weights / 0.03).clip(-127, 127).astype(np.int8))
    builder.tensor("w", (4, 6), np.float32)
    data = (
        builder.op("DEQUANTIZE", ["x"], ["a"])
        .op("DEQUANTIZE", ["stored"], ["w"])
        .op("FULLY_CONNECTED", ["a", "w"], ["b"], {"FusedActivationFunction": "RELU"})
        .op("QUANTIZE", ["b"], ["y"])
        .build(["x"], ["y"])
    )
    graph = load(data, name="relu")
    x = np.random.default_rng(1).integers(-100, 100, (1, 6)).astype(dtype)
    (wanted,) = run(graph, {"x": x}).values()
    run_passes(graph, NEUTRAL)
    assert kinds(graph) == ["fully_connected"]
    (got,) = run(graph, {"x": x}).values()
    assert got.min() == 0
    assert np.abs(got.astype(int) - wanted.astype(int)).max() <= 1

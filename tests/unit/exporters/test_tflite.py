"""Graphs that are written as TFLite files and read again: the same graph, and the same bytes from tflite-micro."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.base import resources
from aboard.check.reference import Reference
from aboard.errors import ModelError
from aboard.exporters.tflite import write
from aboard.importers import load
from aboard.ir import Graph, Node, Tensor, TensorType
from aboard.ir.types import DType, Quantization
from aboard.ops import interpreter
from aboard.ops.conv2d import ConvAttributes
from aboard.ops.transpose import TransposeAttributes
from aboard.ops.verify import verify
from aboard.ops.window import Padding
from support import models, oracle, zoo
from support.examples import examples, part

WITHOUT_STATE = part(
    models.available(
        [
            "ad",
            "hello_world",
            "ic",
            "ic_f32",
            "keras_mnist",
            "kws",
            "kws_hybrid",
            "lstm_f32",
            "mcunet_vww",
            "person",
            "sww",
            "vww_f32",
        ]
    )
)


def drawn(graph: Graph, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        tensor.name: rng.standard_normal(tensor.shape).astype(np.float32)
        if tensor.dtype.is_float
        else rng.integers(0, 100, tensor.shape).astype(tensor.dtype.numpy)
        for tensor in graph.inputs
    }


def described(graph: Graph) -> list[tuple[str, list[str], list[str]]]:
    return [(n.op, [str(t.type) for t in n.operands], [str(t.type) for t in n.outputs]) for n in graph.nodes]


def assert_alike(model: bytes) -> None:
    graph = load(model, name="model")
    again = load(write(graph), name="model")
    assert [tensor.name for tensor in again.inputs] == [tensor.name for tensor in graph.inputs]
    inputs = drawn(graph)
    for name, value in interpreter.run(graph, inputs).items():
        np.testing.assert_array_equal(interpreter.run(again, inputs)[name], value)


@pytest.mark.parametrize("name", WITHOUT_STATE)
def test_models_are_the_same_after_they_were_written(name):
    model = models.read(name)
    graph = load(model, name="model")
    data = write(graph)
    assert described(load(data, name="model")) == described(graph)
    before, after = Reference.open(model), Reference.open(data)
    assert after.name == before.name
    inputs = drawn(graph)
    for output, value in before.run(inputs).items():
        np.testing.assert_array_equal(after.run(inputs)[output], value)


@pytest.mark.parametrize("name", ["digits", "digits_f32"])
def test_shipped_models(name):
    assert_alike((resources.models() / f"{name}.tflite").read_bytes())


def test_what_a_file_says_of_itself():
    graph = load(resources.models() / "digits.tflite")
    assert b"made for a test" in write(graph, "made for a test")
    assert write(graph)[4:8] == b"TFL3"


@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((1, 3, 3, 2, 2, 4), (0, 1, 3, 2, 4, 5)),
        ((2, 3, 1, 2, 2, 3), (4, 3, 2, 1, 0, 5)),
        ((2, 3, 4), (2, 0, 1)),
        ((1, 1, 1, 1, 1, 1), (5, 4, 3, 2, 1, 0)),
        ((1, 1, 3, 1, 1, 2), (5, 4, 3, 0, 1, 2)),
        ((1, 1, 3, 1, 1, 1), (5, 4, 3, 2, 1, 0)),
    ],
)
def test_transposes_of_many_axes_move_neighbours_together(shape, order):
    x = Tensor("x", TensorType(shape, DType.FLOAT32))
    y = Tensor("y", TensorType(tuple(shape[axis] for axis in order), DType.FLOAT32))
    graph = Graph("turned", [x], [y], [Node("transpose", "y", [x], [y], TransposeAttributes(order))])
    value = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    (got,) = interpreter.run(load(write(graph)), {"x": value}).values()
    np.testing.assert_array_equal(got, value.transpose(order))


@pytest.mark.parametrize("op", ["conv2d", "depthwise_conv2d"])
@pytest.mark.parametrize(("dtype", "zero"), [(DType.INT8, -128), (DType.INT8, 5), (DType.INT8, 0), (DType.FLOAT32, 0)])
def test_padding_that_is_neither_same_nor_valid(op, dtype, zero):
    rng = np.random.default_rng(1)
    real = dtype.is_float
    image, result = (1, 4, 5, 2), (1, 5, 5, 2)
    quant = None if real else Quantization((0.1,), (zero,))
    x, y = Tensor("x", TensorType(image, dtype, quant)), Tensor("y", TensorType(result, dtype, quant))
    shape = (1, 2, 3, 2) if op == "depthwise_conv2d" else (2, 2, 3, 2)
    values = rng.integers(-50, 50, shape).astype(np.float32 if real else np.int8)
    weights = Tensor("w", TensorType(shape, dtype, None if real else Quantization((0.01,), (0,))), values)
    attrs = ConvAttributes(padding=Padding(2, 2, 0, 0))
    graph = Graph("padded", [x], [y], [Node(op, "y", [x, weights], [y], attrs)])
    verify(graph)
    value = rng.integers(-100, 100, image).astype(dtype.numpy)
    (wanted,) = interpreter.run(graph, {"x": value}).values()
    data = write(graph)
    (got,) = interpreter.run(load(data), {"x": value}).values()
    np.testing.assert_array_equal(got, wanted)
    (other,) = oracle.tflm(data, value)
    np.testing.assert_allclose(other, wanted, rtol=1e-5)


def test_what_has_no_form_is_named_at_once():
    shape = (2,) * 6
    x = Tensor("x", TensorType(shape, DType.FLOAT32))
    made = [Tensor(name, TensorType(shape, DType.FLOAT32)) for name in ("a", "b", "y")]
    nodes = [
        Node("transpose", "a", [x], [made[0]], TransposeAttributes((5, 4, 3, 2, 1, 0))),
        Node("erf", "b", [made[0]], [made[1]]),
        Node("erf", "y", [made[1]], [made[2]]),
    ]
    message = (
        "six: a: transpose of 6 axes, of which TFLite moves 5, has no operator in it; b, y: erf has no operator in "
        "TFLite. Leave these nodes out, or keep the model in its own format"
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        write(Graph("six", [x], [made[2]], nodes))


def test_a_model_with_state_is_refused():
    with pytest.raises(ModelError, match=r"keeps state .* from run to run, which is not written to TFLite files\."):
        write(load(models.read("svdf")))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32])
def test_many_operators(dtype):
    assert_alike(zoo.many_ops(dtype))


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([zoo.drawn_layers, zoo.drawn_others]))
def test_drawn_networks(seed, draw):
    assert_alike(draw(seed))

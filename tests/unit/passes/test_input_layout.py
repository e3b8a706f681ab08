"""Images of ONNX files with their channels last: `-input-layout=nhwc`."""

from __future__ import annotations

import numpy as np
import pytest

import aboard
from aboard.importers import load
from aboard.ops.interpreter import run
from aboard.passes import neutral, run_passes
from support.onnx_models import evaluated, model, node
from support.tflite_builder import ModelBuilder

LAST = (0, 2, 3, 1)


def network(more: bool = False):
    """Returns a convolution and a product behind it, and inputs; `more` adds an input of two axes."""
    rng = np.random.default_rng(0)
    feed = {"x": rng.normal(size=(1, 3, 6, 5)).astype(np.float32)}
    constants = {
        "w": rng.normal(size=(4, 3, 3, 3)).astype(np.float32),
        "p": rng.normal(size=(48, 2)).astype(np.float32),
    }
    nodes = [node("Conv", "x w", "c"), node("Relu", "c", "r"), node("Flatten", "r", "f"), node("MatMul", "f p", "m")]
    if more:
        feed["a"] = rng.normal(size=(1, 2)).astype(np.float32)
        nodes.append(node("Add", "m a"))
    return model(nodes, feed, constants), feed


def passed(data: bytes):
    graph = load(data, name="model")
    run_passes(graph, neutral("tflite", "file", "nhwc"))
    return graph


@pytest.mark.parametrize("more", [False, True])
def test_the_transpose_is_gone_and_results_are_the_same(more: bool) -> None:
    data, feed = network(more)
    graph = passed(data)
    assert [each.op for each in graph.nodes if each.op == "transpose"] == []
    assert (graph.inputs[0].name, graph.inputs[0].shape, graph.inputs[0].order) == ("x", (1, 6, 5, 3), LAST)
    (wanted,) = evaluated(data, feed)
    (got,) = run(graph, {**feed, "x": feed["x"].transpose(LAST).copy()}).values()
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def test_the_generated_c_and_the_manifest() -> None:
    data, feed = network()
    module = aboard.compile(data, target="c -runtime=host -input-layout=nhwc", name="net")
    (record,) = module.manifest.inputs
    assert (record.shape, record.order) == ((1, 6, 5, 3), LAST)
    header = next(text for name, text in module.files.items() if name.endswith("net.h"))
    assert "/** Input 0, `x`: float32 1x6x5x3, axes 0, 2, 3, 1 of the model file. */" in header
    np.testing.assert_allclose(module.run(feed["x"].transpose(LAST)), evaluated(data, feed)[0], rtol=1e-5, atol=1e-5)


def test_with_integers_at_the_border() -> None:
    constants = {"s": np.float32(0.05), "z": np.int8(-10), "t": np.float32(0.2), "u": np.int8(0)}
    constants["w"] = np.random.default_rng(1).integers(-127, 128, (4, 3, 3, 3)).astype(np.int8)
    constants |= {"ws": np.float32(0.005), "wz": np.int8(0)}
    nodes = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d")]
    nodes += [node("DequantizeLinear", "w ws wz", "v"), node("Conv", "d v", "f")]
    nodes += [node("QuantizeLinear", "f t u", "r"), node("DequantizeLinear", "r t u")]
    graph = load(model(nodes, {"x": np.zeros((1, 3, 6, 6), np.float32)}, constants), name="model")
    run_passes(graph, neutral("tflite", "int8", "nhwc"))
    assert [each.op for each in graph.nodes] == ["conv2d", "transpose"]
    assert (graph.inputs[0].shape, graph.inputs[0].order, graph.inputs[0].dtype.value) == ((1, 6, 6, 3), LAST, "int8")


def test_a_tflite_file_stays_as_it_is() -> None:
    build = ModelBuilder().tensor("x", (1, 4, 3, 2), np.float32).tensor("y", (1, 4, 3, 2), np.float32)
    graph = passed(build.op("ABS", ["x"], ["y"]).build(["x"], ["y"]))
    assert ([each.op for each in graph.nodes], graph.inputs[0].order) == (["abs"], None)

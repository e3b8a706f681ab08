"""Networks that PyTorch's two exporters wrote: results beside onnxruntime, and no transpose left inside."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

import aboard
from aboard.check.reference import Reference
from aboard.passes.transposition import moved_bytes
from support import models
from support.onnx_models import model, node


def _files(*, quantised=False):
    found = models.folder()
    paths = sorted((found / "onnx").glob("*.onnx")) if found is not None and (found / "onnx").is_dir() else []
    return [path for path in paths if path.stem.endswith("_qdq") is quantised]


def _transposes(graph):
    return [each for each in graph.nodes if each.op == "transpose"]


@pytest.mark.parametrize("path", _files(), ids=lambda path: path.stem)
def test_as_onnxruntime(path):
    module = aboard.compile(path, target="c -runtime=host")
    reference, rng = Reference.open(path), np.random.default_rng(7)
    assert reference.name == "onnxruntime"
    for _ in range(3):
        feed = {t.name: rng.normal(size=t.shape).astype(np.float32) for t in reference.graph.inputs}
        got = module.run(feed if len(feed) > 1 else next(iter(feed.values())))
        results = got if isinstance(got, dict) else {module.manifest.outputs[0].name: got}
        for name, wanted in reference.run(feed).items():
            assert results[name].shape == wanted.shape
            np.testing.assert_allclose(results[name], wanted, atol=2e-5 * np.abs(wanted).max() + 1e-6)


def _step(graph):
    """Returns the largest step of what the last layers compute."""
    return max(each.input(0).quant.scale for each in graph.nodes if each.op == "dequantize")


@pytest.mark.parametrize("path", _files(quantised=True), ids=lambda path: path.stem)
def test_quantised_networks_are_integers_inside(path):
    module = aboard.compile(path, target="c -runtime=host")
    reference, rng = Reference.open(path), np.random.default_rng(7)
    inside = [each for each in module.graph.nodes if each.op not in ("quantize", "dequantize")]
    real = [t for each in inside for t in each.outputs if t.dtype.is_float and t not in module.graph.outputs]
    assert not real
    for _ in range(3):
        feed = {t.name: rng.normal(size=t.shape).astype(np.float32) for t in reference.graph.inputs}
        (wanted,) = reference.run(feed).values()
        got = module.run(next(iter(feed.values())))
        assert np.abs(got - wanted).max() <= 2 * _step(module.graph) * 1.001


@pytest.mark.parametrize("path", [p for p in _files() if p.stem.startswith(("dscnn", "digits", "resnet8"))])
def test_a_convolutional_network_has_no_transpose_inside(path):
    graph = aboard.compile(path, target="c -runtime=host").graph
    inside = [each for each in _transposes(graph) if each.input(0) not in graph.inputs]
    assert not inside
    assert moved_bytes(graph) <= sum(tensor.type.bytes for tensor in graph.inputs)


def test_inner_tensors_of_the_reference_are_those_of_the_file():
    feed = {"x": np.arange(6, dtype=np.float32).reshape(1, 2, 3)}
    data = model([node("Relu", "x", "inner"), node("Neg", "inner")], feed)
    reference = Reference.open(data)
    numbers = {tensor.name: tensor.source for each in reference.graph.nodes for tensor in each.outputs}
    np.testing.assert_array_equal(reference.tensors(feed)[numbers["inner"]], feed["x"])


def test_without_onnxruntime_the_numpy_semantics_are_the_reference(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    feed = {"x": np.array([[-1, 2]], np.float32)}
    reference = Reference.open(model([node("Relu", "x")], feed))
    assert (reference.name, "not installed" in reference.note) == ("numpy", True)
    np.testing.assert_array_equal(reference.run(feed)["y"], [[0, 2]])


def test_tflite_micro_runs_no_onnx_file():
    data = model([node("Relu", "x")], {"x": np.zeros((1, 2), np.float32)})
    with pytest.raises(aboard.errors.ModelError, match=r"got ONNX, expected TFLite for tflm\. Choose auto"):
        Reference.open(data, "tflm")


def test_a_named_dimension_gets_its_size():
    value = helper.make_tensor_value_info("x", 1, ["batch", "seq"])
    result = helper.make_tensor_value_info("y", 1, ["batch", "seq"])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value], [result])
    data = helper.make_model(graph).SerializeToString()
    module = aboard.compile(data, target="c -runtime=host", dimensions={"seq": 5})
    assert module.manifest.inputs[0].shape == (1, 5)
    assert module.graph.notes == ["input x: free dimension batch is fixed at 1, a batch of 1"]

"""Graphs that are written as ONNX files: onnxruntime computes the same, and so does the file when it is read again."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import onnxruntime
import pytest

import aboard
from aboard import ops
from aboard.base import resources
from aboard.errors import ModelError, ToolError
from aboard.exporters.onnx import layers, operators, write
from aboard.importers import load
from aboard.ir import Attributes, DType, Graph, Node, Tensor, TensorType
from aboard.ops import interpreter
from aboard.ops.conv2d import ConvAttributes
from aboard.ops.gather import GatherAttributes
from aboard.ops.pad import PadAttributes
from aboard.ops.strided_slice import AxisSlice, StridedSliceAttributes
from aboard.ops.transpose import TransposeAttributes
from aboard.ops.verify import verify
from aboard.passes import neutral, run_passes
from aboard.quantization.prepare import prepare
from support import float_models, models
from support.examples import part

SHAPE = (1, 4, 5, 3)

NETWORKS = part(
    [
        "digits_torch_dynamo",
        "dscnn_legacy",
        "lstm_dynamo",
        "resnet8_legacy",
        "tcn_dynamo",
        "tinyvit_dynamo",
        "unet_dynamo",
    ]
)


def ran(model: bytes, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    onnx.checker.check_model(onnx.load_from_string(model))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return [np.asarray(value) for value in session.run(None, inputs)]


def assert_alike(graph: Graph, tolerance: float = 2e-5, seed: int = 0) -> onnx.ModelProto:
    """Returns the written file, which onnxruntime and the importer understand alike."""
    rng = np.random.default_rng(seed)
    inputs = {
        tensor.name: rng.standard_normal(tensor.shape).astype(np.float32)
        if tensor.dtype.is_float
        else rng.integers(0, 2, tensor.shape).astype(tensor.dtype.numpy)
        for tensor in graph.inputs
    }
    data = write(graph)
    wanted = interpreter.run(graph, inputs)
    for right, got in zip(wanted.values(), ran(data, inputs), strict=True):
        np.testing.assert_allclose(got, right, rtol=tolerance, atol=tolerance)
    again = interpreter.run(load(data, name="again"), inputs)
    for name, right in wanted.items():
        np.testing.assert_allclose(again[name], right, rtol=tolerance, atol=tolerance)
    return onnx.load_from_string(data)


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name):
    graph = load((models.folder() / "onnx" / f"{name}.onnx").read_bytes(), name="network")
    prepare(graph)
    assert_alike(graph)


def test_a_chain_of_convolutions_has_no_transposes_inside():
    graph = load(models.read("ic_f32"), name="ic")
    prepare(graph)
    written = assert_alike(graph)
    kinds = [node.op_type for node in written.graph.node]
    assert kinds.count("Conv") == 9
    # Of the input, whose channels are last, and in front of what reads all channels at once.
    assert kinds.count("Transpose") <= 2


def tensor(name, shape=SHAPE, dtype=DType.FLOAT32, data=None):
    return Tensor(name, TensorType(shape, dtype), data)


ELEMENTWISE = sorted(
    name
    for name in operators.FORMS
    if ops.get(name).elementwise and ops.get(name).attributes is Attributes and not name.endswith("quantize")
)


@pytest.mark.parametrize("op", ELEMENTWISE)
@pytest.mark.parametrize("behind_a_convolution", [False, True])
def test_elementwise(op, behind_a_convolution):
    """As it is, and between images with their channels second."""
    binary = op in ("equal", "greater", "greater_equal", "less", "less_equal", "maximum", "minimum", "pow", "prelu")
    binary |= op in ("squared_difference", "logical_and", "logical_or", "select")
    logical = op.startswith("logical")
    x, y = tensor("x"), tensor("y")
    flags = [tensor(name, dtype=DType.BOOL) for name in ("p", "q")]
    nodes, operand = [], x
    if behind_a_convolution and not logical:
        window = np.zeros((3, 1, 1, 3), np.float32)
        window[range(3), 0, 0, range(3)] = 1
        operand = tensor("c")
        nodes.append(Node("conv2d", "c", [x, tensor("w", (3, 1, 1, 3), data=window)], [operand], ConvAttributes()))
    if op in ("log", "sqrt", "rsqrt", "pow", "acos", "asin"):
        small = tensor("small")
        nodes.append(Node("logistic", "small", [operand], [small]))
        operand = small
    constant = tensor("k", data=np.random.default_rng(3).standard_normal(SHAPE).astype(np.float32))
    slopes = tensor("slopes", (1, 1, 3), data=np.array([[[0.1, 0.2, -0.3]]], np.float32))
    operands = {
        "select": [flags[0], operand, constant],
        "prelu": [operand, slopes],
        "logical_and": flags,
        "logical_or": flags,
        "logical_not": flags[:1],
    }.get(op, [operand, constant] if binary else [operand])
    comparing = op in ("equal", "greater", "greater_equal", "less", "less_equal") or logical
    result = tensor("y", dtype=DType.BOOL) if comparing else y
    nodes.append(Node(op, "y", operands, [result]))
    used = [each for each in (x, *flags) if any(t is each for node in nodes for t in node.operands)]
    graph = Graph("one", used, [result], nodes)
    verify(graph)
    assert_alike(graph, 1e-4)


def test_movement():
    x = tensor("x", (2, 3, 4))
    made = {
        "turned": tensor("turned", (4, 2, 3)),
        "cut": tensor("cut", (2, 2)),
        "padded": tensor("padded", (3, 4)),
        "picked": tensor("picked", (3, 2)),
    }
    slices = (AxisSlice(3, -1, 1), AxisSlice(1, -1, 2), AxisSlice(0, 2, 2))
    places = tensor("places", (2,), DType.INT32, np.array([3, 1], np.int32))
    nodes = [
        Node("transpose", "turned", [x], [made["turned"]], TransposeAttributes((2, 0, 1))),
        Node("strided_slice", "cut", [made["turned"]], [made["cut"]], StridedSliceAttributes(slices, (2, 2))),
        Node("pad", "padded", [made["cut"]], [made["padded"]], PadAttributes(((1, 0), (0, 2)), 0.5)),
        Node("gather", "picked", [made["padded"], places], [made["picked"]], GatherAttributes(1)),
    ]
    graph = Graph("moved", [x], [made["picked"], made["turned"]], nodes)
    verify(graph)
    assert_alike(graph)


def test_integer_layers_are_layers_between_conversions():
    samples = float_models.images(40, 2)
    found = aboard.quantize(float_models.convolutional(2), samples, file_format="onnx")
    graph = load(found.model, name="quantised")
    run_passes(graph, neutral())
    integers = [node.op for node in graph.nodes if node.output.dtype is DType.INT8]
    assert [op for op in integers if op not in ("quantize", "transpose")] == [
        "conv2d",
        "depthwise_conv2d",
        "add",
        "mean",
        "fully_connected",
        "softmax",
    ]
    for image in samples[:10]:
        inputs = {"x": image[None]}
        (wanted,) = ran(found.model, inputs)
        (got,) = interpreter.run(graph, inputs).values()
        assert np.abs(got - wanted).max() <= 2 / 256 + 1e-6


def test_a_model_that_tflite_cannot_say_becomes_an_onnx_file(tmp_path):
    model = (models.folder() / "onnx" / "lstm_dynamo.onnx").read_bytes()
    samples = np.random.default_rng(0).standard_normal((12, 49, 10)).astype(np.float32)
    found = aboard.quantize(model, samples)
    assert found.file_format == "onnx"
    assert any("recurrent" in note for note in found.notes)
    found.save(tmp_path / "lstm_int8.onnx")
    with pytest.raises(aboard.InputError, match=r"lstm\.tflite: suffix of a quantised model, got \.tflite, expected"):
        found.save(tmp_path / "lstm.tflite")
    with pytest.raises(ModelError, match=r"recurrent has no operator in TFLite"):
        aboard.quantize(model, samples, file_format="tflite")


def test_what_is_not_written_is_named():
    x, y = tensor("x", (1, 4)), tensor("y", (1, 4))
    graph = Graph("one", [x], [y], [Node("cosine_of_a_kind", "y", [x], [y])])
    with pytest.raises(ModelError, match=r"^one: y: cosine_of_a_kind is not written to ONNX\. Leave these nodes out"):
        write(graph)
    with pytest.raises(ModelError, match=r"keeps state .* from run to run, which ONNX files cannot\. Write"):
        write(load(models.read("lstm_f32")))


def test_the_package_is_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ToolError, match=r"^onnx: not installed\. Install it with: pip install onnx$"):
        write(load(resources.models() / "digits_f32.tflite"))


def test_forms_are_of_known_ops():
    assert not set(operators.FORMS) & set(layers.FORMS)
    assert all(ops.get(name).name == name for name in (*operators.FORMS, *layers.FORMS))

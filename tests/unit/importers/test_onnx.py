"""What the importer of ONNX refuses, and how it says so."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from aboard.errors import ModelError
from aboard.importers import load
from support.onnx_models import model, node


def described(name, kind=TensorProto.FLOAT, shape=(1, 2)):
    return helper.make_tensor_value_info(name, kind, list(shape))


def built(nodes, inputs, outputs, weights=(), opset=20):
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def relu(kind=TensorProto.FLOAT, shape=(1, 2), opset=20):
    return built(
        [helper.make_node("Relu", ["x"], ["y"])],
        [described("x", kind, shape)],
        [described("y", kind, shape)],
        (),
        opset,
    )


def refused(data, message, **given):
    with pytest.raises(ModelError, match=message):
        load(data.SerializeToString() if isinstance(data, onnx.ModelProto) else data, **given)


def test_a_file_is_recognised_by_its_content():
    graph = load(relu().SerializeToString())
    assert (graph.format, graph.nodes[0].op, graph.nodes[0].name) == ("ONNX", "relu", "y")


def test_a_damaged_file():
    data = relu().SerializeToString()
    refused(data[:-9], "the file is not a valid ONNX model")


def test_the_package_is_missing(monkeypatch):
    data = relu().SerializeToString()
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    refused(data, r"an ONNX file, and the package onnx is not installed. Run: pip install onnx")


@pytest.mark.parametrize("opset", [6, 29])
def test_other_opsets(opset):
    made = relu()
    made.opset_import[0].version = opset
    refused(made, "opset, got|not a valid ONNX model")


def test_weights_in_another_file():
    weights = numpy_helper.from_array(np.zeros((1, 2), np.float32), "w")
    made = built([helper.make_node("Add", ["x", "w"], ["y"])], [described("x")], [described("y")], [weights])
    external = made.graph.initializer[0]
    external.ClearField("raw_data")
    external.data_location = TensorProto.EXTERNAL
    external.external_data.add(key="location", value="elsewhere.bin")
    refused(made, "in another file|not a valid ONNX model")


def test_free_dimensions_without_a_size():
    refused(relu(shape=(1, "seq")), r"without a size: axis 1 of x \(seq\); expected static shapes")


def test_an_unknown_dimension():
    refused(relu(shape=(1, "seq")), r"dimension sec: no input has it.*seq", dimensions={"sec": 4})


def test_dimensions_of_a_tflite_file():
    from support import models

    with pytest.raises(ModelError, match="dimension seq: TFLite files name no dimensions"):
        load(models.path(models.SHIPPED), dimensions={"seq": 3})


@pytest.mark.parametrize(
    ("kind", "name"),
    [(TensorProto.DOUBLE, "double"), (TensorProto.FLOAT16, "float16"), (TensorProto.UINT16, "uint16")],
)
def test_element_types_without_kernels(kind, name):
    refused(relu(kind), f"input x: element type, got {name}, expected one of bool, float32")


def test_tensors_without_elements():
    refused(relu(shape=(0, 2)), r"input x: shape, got \[0, 2\], expected a size from 1 for each axis")


def test_sequences():
    value = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, [2])
    made = built([helper.make_node("SequenceAt", ["x", "i"], ["y"])], [value], [described("y", shape=(2,))])
    made.graph.initializer.append(numpy_helper.from_array(np.int64(0), "i"))
    refused(made, "input x: got sequence, expected a tensor")


def test_all_unknown_operators_are_named_at_once():
    nodes = [helper.make_node("NonZero", ["x"], ["a"]), helper.make_node("Unique", ["x"], ["b"])]
    made = built(nodes, [described("x")], [described("a", TensorProto.INT64, (2, 3)), described("b", shape=(3,))])
    refused(made, r"2 operators are not supported: NonZero \(node 0\), Unique \(node 1\)")


def test_random_numbers_are_not_folded():
    made = built(
        [helper.make_node("RandomNormal", [], ["r"], shape=[1, 2]), helper.make_node("Add", ["x", "r"], ["y"])],
        [described("x")],
        [described("y")],
    )
    refused(made, "node 0 RandomNormal: operator is not supported")


def test_a_constant_that_cannot_be_computed():
    feed = {"x": np.zeros((2, 3), np.float32)}
    nodes = [node("Concat", "a b", "shape", axis=0), node("Reshape", "x shape")]
    made = onnx.load_from_string(model(nodes, feed, {"a": np.array([3], np.int64), "b": np.array([2], np.int64)}))
    made.graph.initializer[1].CopyFrom(numpy_helper.from_array(np.array([[2]], np.int64), "b"))
    refused(made, "its operands are constant and cannot be computed")


def test_a_large_constant_is_not_computed():
    shape = numpy_helper.from_array(np.array([1 << 20, 1 << 12], np.int64), "s")
    nodes = [helper.make_node("ConstantOfShape", ["s"], ["c"]), helper.make_node("Add", ["x", "c"], ["y"])]
    made = built(nodes, [described("x")], [described("y")], [shape])
    refused(made, r"got a result of 4,294,967,296 elements, expected at most")


def test_names_of_the_file_are_those_of_the_graph():
    feed = {"x": np.zeros((1, 2), np.float32)}
    graph = load(model([node("Relu", "x", "a"), node("Softsign", "a")], feed))
    assert [each.name for each in graph.nodes if each.output.source is not None] == ["a", "y"]
    assert [tensor.name for tensor in (*graph.inputs, *graph.outputs)] == ["x", "y"]


def test_an_input_that_is_an_output_is_copied():
    made = built([helper.make_node("Identity", ["x"], ["y"])], [described("x")], [described("y")])
    graph = load(made.SerializeToString())
    assert [(each.op, each.name) for each in graph.nodes] == [("reshape", "y")]

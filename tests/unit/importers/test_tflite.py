"""TFLite files: what is read, and what is refused with which words."""

import re

import flatbuffers
import numpy as np
import pytest
import tflite

from aboard.errors import ModelError
from aboard.importers import load
from aboard.ir import DType, Quantization
from support import models, zoo
from support.tflite_builder import ModelBuilder


def relu(**tensor):
    """Returns a builder with x and y, ready for a RELU."""
    kind = {"scale": 0.5, "zero_point": 3, **tensor}
    return ModelBuilder().tensor("x", (1, 4), np.int8, **kind).tensor("y", (1, 4), np.int8, scale=0.5, zero_point=3)


def refused(model: bytes, words: str):
    with pytest.raises(ModelError, match=words) as info:
        load(model)
    assert str(info.value).startswith("model (bytes): ")
    return str(info.value)


def test_tensors_nodes_and_quantisation():
    graph = load(zoo.many_ops())
    assert [t.name for t in graph.inputs] == ["t0"]
    assert graph.inputs[0].type.quant == Quantization((float(np.float32(zoo.SCALE)),), (zoo.ZERO_POINT,))
    conv = next(node for node in graph.nodes if node.op == "conv2d")
    weights = conv.input(1)
    assert weights.shape == (4, 3, 3, 4)
    assert weights.quant.per_channel
    assert weights.quant.axis == 0
    assert weights.data.dtype == np.int8
    assert weights.source is not None
    assert conv.sources == (1,)
    assert [node.sources for node in graph.nodes] == [(i,) for i in range(27)]


@pytest.mark.parametrize("name", models.available([models.SHIPPED, *models.INT8, *models.FLOAT, *models.HYBRID]))
def test_real_models_are_read(name):
    graph = load(models.path(name))
    assert graph.name == name
    assert len(graph.nodes) >= 3


def test_hybrid_weights_stay_int8():
    x = ModelBuilder().tensor("x", (1, 4), np.float32, scale=9.0)
    x.tensor("w", (2, 4), np.int8, scale=0.25, data=np.arange(8).reshape(2, 4)).tensor("y", (1, 2), np.float32)
    graph = load(x.op("FULLY_CONNECTED", ["x", "w", -1], ["y"], {}).build(["x"], ["y"]))
    node = graph.nodes[0]
    assert node.inputs[2] is None
    assert node.input(1).dtype is DType.INT8
    assert node.input(1).quant.scale == 0.25
    assert node.input(0).type.quant is None, "a scale on a float tensor means nothing"


def test_equal_and_empty_names_become_unique():
    model = ModelBuilder().tensor("a", (4,), np.float32).tensor("", (4,), np.float32).tensor("a", (4,), np.float32)
    model.tensor("a_2", (4,), np.float32)
    graph = load(model.op("RELU", [0], [1]).op("RELU", [1], [2]).op("RELU", [2], [3]).build([0], [3]))
    names = [tensor.name for tensor in graph.tensors()]
    assert names[:2] == ["a", "tensor_1"]
    assert len(set(names)) == 4


@pytest.mark.parametrize(("signature", "text"), [((-1, 4), "?x4"), ((1, -1), "1x?"), ((-1, -1), "?x?")])
def test_free_dimensions_are_taken_as_the_shape_says(signature, text):
    model = relu(signature=signature).op("RELU", ["x"], ["y"]).build(["x"], ["y"])
    graph = load(model)
    assert graph.inputs[0].shape == (1, 4)
    assert graph.notes == [f"input x: free dimensions are fixed, {text} is compiled as 1x4"]
    assert load(relu().op("RELU", ["x"], ["y"]).build(["x"], ["y"])).notes == []


def test_further_subgraphs_are_left_out():
    builder = relu().op("RELU", ["x"], ["y"])
    builder.subgraphs = 3
    left_out = "is left out: nothing calls it, and the first one is the model"
    assert load(builder.build(["x"], ["y"])).notes == [f"subgraph 1 {left_out}", f"subgraph 2 {left_out}"]


def test_constants_of_bool():
    model = ModelBuilder().tensor("x", (2,), np.bool_).tensor("s", (1,), np.int32, data=[2]).tensor("y", (2,), np.bool_)
    graph = load(model.op("RESHAPE", ["x", "s"], ["y"], {"NewShape": [2]}).build(["x"], ["y"]))
    assert graph.inputs[0].dtype is DType.BOOL


def test_a_missing_options_table_has_the_defaults():
    builder = relu().op("LEAKY_RELU", ["x"], ["y"])
    builder._operators[0].options_name = None
    assert load(builder.build(["x"], ["y"])).nodes[0].attrs.alpha == 0.0


# Unsupported: collected, and reported at once.


def test_unsupported_operators_are_reported_together():
    model = relu().tensor("a", (1, 4), np.int8, scale=0.5, zero_point=3).tensor("b", (1, 4), np.int8, scale=1.0)
    model.op("SIGN", ["x"], ["a"]).op("RELU", ["a"], ["b"]).op("CUSTOM", ["b"], ["y"], custom="MyOp")
    text = refused(model.build(["x"], ["y"]), r"2 operators are not supported: SIGN \(node 0\), CUSTOM MyOp \(node 2\)")
    assert text.endswith(". `aboard ops` lists the supported operators")


def test_unsupported_options_are_reported_with_the_node():
    model = relu().tensor("z", (1, 4), np.int8, scale=0.5)
    model.op("ADD", ["x", "x"], ["y"], {"FusedActivationFunction": "TANH"}).op("ATAN2", ["y"], ["z"])
    text = refused(model.build(["x"], ["z"]), "2 problems")
    assert re.search(r"\n  node 0 ADD: fused activation, got TANH, expected one of NONE, RELU", text)


def test_one_problem_stands_alone():
    text = refused(relu().op("SIGN", ["x"], ["y"]).build(["x"], ["y"]), "node 0 SIGN: operator is not supported")
    assert "\n" not in text


def test_an_unknown_operator_number(monkeypatch):
    monkeypatch.setattr(tflite.BuiltinOperator, "MADE_UP", 9999, raising=False)
    model = relu().op("MADE_UP", ["x"], ["y"]).build(["x"], ["y"])
    monkeypatch.undo()
    refused(model, "node 0 (operator number 9999|MADE_UP): operator is not supported")


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (
            {"type_number": tflite.TensorType.STRING},
            r"tensor 0 \(x\): element type, got STRING, expected one of .*INT8",
        ),
        ({"type_number": 99}, "element type, got number 99"),
        ({"variable": True}, "input x: is a variable, expected a tensor that the caller sets"),
        ({"sparse": True}, "sparse constants are not supported"),
    ],
)
def test_unsupported_tensors(tensor, words):
    refused(relu(**tensor).op("RELU", ["x"], ["y"]).build(["x"], ["y"]), words)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (
            (-1, 4),
            r"shape, got \[-1, 4\], expected dimensions of at least 1. Export the model with a fixed input shape",
        ),
        ((1,) * 7, "shape of 7 dimensions, expected at most 6"),
        ((1 << 16, 1 << 16), "expected less than 2 GB in all"),
    ],
)
def test_unsupported_shapes(shape, words):
    model = ModelBuilder().tensor("x", shape, np.float32).tensor("y", shape, np.float32)
    refused(model.op("RELU", ["x"], ["y"]).build(["x"], ["y"]), words)


# Corrupt: the first thing found ends the import.


def test_other_versions_and_subgraphs():
    builder = relu().op("RELU", ["x"], ["y"])
    builder.version = 2
    refused(builder.build(["x"], ["y"]), "version of the schema, got 2, expected 3")
    builder.version, builder.subgraphs = 3, 0
    refused(builder.build(["x"], ["y"]), "subgraphs, got none, expected at least 1. Export or download")


def test_no_operators():
    words = r"the model's outputs: reads tensor 1 \(y\), which is neither an input, nor a constant, nor computed"
    refused(relu().build(["x"], ["y"]), words)
    refused(relu().build([], ["y"]), "inputs and outputs, got 0 and 1, expected at least 1 each")
    refused(relu().build(["x"], []), "inputs and outputs, got 1 and 0, expected at least 1 each")


@pytest.mark.parametrize(
    ("inputs", "outputs", "words"),
    [
        ([5], ["y"], "the model's inputs name tensor 5, expected 0 to 1"),
        (["x"], [-1], "the model's outputs name tensor -1, expected 0 to 1"),
        (["x", "x"], ["y"], r"the model's inputs: got tensors \[0, 0\], expected each once. Export the model again"),
    ],
)
def test_inputs_and_outputs_of_the_model(inputs, outputs, words):
    refused(relu().op("RELU", ["x"], ["y"]).build(inputs, outputs), words)


def test_operands_that_do_not_exist():
    refused(relu().op("RELU", [7], ["y"]).build(["x"], ["y"]), "operands of node 0 RELU name tensor 7, expected 0 to 1")
    refused(relu().op("RELU", ["x"], [9]).build(["x"], ["y"]), "results of node 0 RELU name tensor 9, expected 0 to 1")
    refused(relu().op("RELU", ["x"], [-1]).build(["x"], ["y"]), r"node 0 RELU: results, got \[-1\], expected tensors")
    refused(relu().op("RELU", ["x"], []).build(["x"], ["y"]), r"node 0 RELU: results, got \[\], expected tensors")


def test_order_of_operators():
    builder = relu().tensor("z", (1, 4), np.int8, scale=0.5, zero_point=3)
    words = r"node 0 RELU reads tensor 1 \(y\) before node 1 computes it: operators are not in execution order"
    refused(builder.op("RELU", ["y"], ["z"]).op("RELU", ["x"], ["y"]).build(["x"], ["z"]), words)
    cycle = relu().op("ADD", ["x", "y"], ["y"], {}).build(["x"], ["y"])
    refused(cycle, "before node 0 computes it: operators are not in execution order, or in a cycle")


def test_a_tensor_nobody_computes():
    words = r"node 0 ADD: reads tensor 2 \(z\), which is neither an input, nor a constant, nor computed"
    builder = relu().tensor("z", (1, 4), np.int8, scale=0.5, zero_point=3)
    refused(builder.op("ADD", ["x", "z"], ["y"], {}).build(["x"], ["y"]), words)


def test_a_tensor_with_two_values():
    builder = relu().op("RELU", ["x"], ["y"]).op("RELU", ["x"], ["y"])
    refused(builder.build(["x"], ["y"]), r"node 1 RELU: computes tensor 1 \(y\), which has a value already")
    again = relu().op("RELU", ["y"], ["x"]).op("RELU", ["x"], ["y"])
    refused(again.build(["x", "y"], ["y"]), r"node 0 RELU: computes tensor 0 \(x\), which has a value already")
    refused(relu(data=[1, 2, 3, 4]).op("RELU", ["x"], ["y"]).build(["x"], ["y"]), "input x: holds constant values")


def test_a_result_with_the_buffer_of_a_constant():
    """tflite-micro would write the result into the file."""
    builder = ModelBuilder().tensor("x", (1, 4), np.float32).tensor("y", (1, 4), np.float32, data=[1, 2, 3, 4])
    words = r"node 0 RELU: computes tensor 1 \(y\), which holds constant values, expected none"
    refused(builder.op("RELU", ["x"], ["y"]).build(["x"], ["y"]), words)


def test_constants_of_another_size():
    builder = relu().tensor("z", (1, 4), np.int8, scale=0.5, zero_point=3, data=b"123")
    refused(
        builder.op("ADD", ["x", "z"], ["y"], {}).build(["x"], ["y"]),
        r"constant tensor 2 \(z\) of type int8\[1x4\] q\(0.5, 3\), got 3 bytes, expected 4",
    )


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        ({"scale": 0.0}, r"tensor 0 \(x\): scale, got 0.0, expected a positive number"),
        ({"scale": -1.0}, "scale, got -1.0, expected a positive number"),
        ({"scale": float("nan")}, "scale, got nan, expected a positive number"),
        ({"zero_point": 300}, "zero point, got 300, expected a value of int8"),
        ({"scale": None, "scales": [1.0, 2.0], "zero_points": [0, 1, 0]}, "got 2 scales and 3 zero points"),
        (
            {"scale": None, "scales": [1.0, 2.0], "axis": 1},
            r"got 2 scales along axis 1 of shape \[1, 4\], expected one for each index",
        ),
        ({"scale": None, "scales": [1.0, 2.0], "axis": -9}, "got 2 scales along axis -9"),
        ({"scale": None, "scales": [1.0], "zero_points": []}, "got 1 scales without zero points, expected as many of"),
        ({"details": 2}, "quantisation, got BlockwiseQuantization, expected scales and zero points"),
        ({"details": 7}, "quantisation, got quantisation details number 7, expected scales and zero points"),
    ],
)
def test_quantisation_that_is_not_supported(tensor, words):
    text = refused(relu(**tensor).op("RELU", ["x"], ["y"]).build(["x"], ["y"]), words)
    assert "\n" not in text
    assert "corrupt" not in text


def test_a_result_of_another_shape():
    model = ModelBuilder().tensor("x", (1, 4), np.float32).tensor("y", (2, 2), np.float32)
    refused(
        model.op("RELU", ["x"], ["y"]).build(["x"], ["y"]),
        r"node 0 RELU: relu y: type of y, got float32\[2x2\], expected float32\[1x4\]",
    )


def test_buffers_that_do_not_exist():
    builder = relu().tensor("z", (1, 4), np.int8, scale=0.5, zero_point=3, data=[1, 2, 3, 4])
    good = builder.op("ADD", ["x", "z"], ["y"], {}).build(["x"], ["y"])
    tensor = tflite.Model.GetRootAs(good, 0).Subgraphs(0).Tensors(2)
    corrupt = bytearray(good)
    position = tensor._tab.Pos + tensor._tab.Offset(8)
    flatbuffers.encode.Write(flatbuffers.packer.uint32, corrupt, position, 77)
    refused(bytes(corrupt), "got .* bytes in which buffer 77 of 2 is asked for")


def test_buffers_behind_the_flatbuffer():
    values = np.arange(4, dtype=np.int8)
    model = relu().tensor("z", (1, 4), np.int8, scale=0.5, zero_point=3, data=values)
    model.op("ADD", ["x", "z"], ["y"], {})
    plain = model.build(["x"], ["y"])
    moved = model.build(["x"], ["y"], external=True)
    assert moved[-4:] == values.tobytes()
    for data in (plain, moved):
        np.testing.assert_array_equal(load(data).nodes[0].input(1).data, values[None])
    refused(moved[:-2], f"a buffer ends at byte {len(moved)}")

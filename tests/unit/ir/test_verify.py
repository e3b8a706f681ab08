"""Every rule of the IR has a graph that breaks it."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from aboard.errors import VerifyError
from aboard.importers import load
from aboard.ir import Attributes, DType, Graph, Node, Quantization, Tensor, TensorType
from aboard.ir.verify import verify_structure
from aboard.ops.verify import check_node, verify
from support import zoo

FLOAT = TensorType((1, 4), DType.FLOAT32)


def tensor(name, kind=FLOAT, data=None):
    return Tensor(name, kind, data)


@pytest.fixture
def graph():
    """x -> relu -> y -> add c -> z."""
    x, y, z = tensor("x"), tensor("y"), tensor("z")
    c = tensor("c", data=np.ones((1, 4), np.float32))
    relu = Node("relu", "y", [x], [y])
    add = Node("relu", "z", [c], [z])
    add.inputs = [y]
    return Graph("net", [x], [z], [relu, add])


def broken(graph, words):
    with pytest.raises(VerifyError, match=words):
        verify_structure(graph)


def quantised(scales, zero_points, axis=None, dtype=DType.INT8):
    return TensorType((1, 4), dtype, Quantization(scales, zero_points, axis))


def test_a_valid_graph(graph):
    verify(graph)
    verify(load(zoo.many_ops()))


def test_name_of_the_graph(graph):
    graph.name = "My Net"
    broken(graph, "graph: name, got 'My Net', expected a C identifier in lower case")


def test_node_names_are_unique(graph):
    graph.nodes[1].name = "y"
    broken(graph, "node y: name is used 2 times, expected unique names")


def test_tensor_names_are_unique(graph):
    graph.outputs[0].name = "x"
    broken(graph, "tensor x: name is used 2 times")


def test_shapes_are_known(graph):
    graph.inputs[0].type = TensorType((0, 4), DType.FLOAT32)
    broken(graph, r"tensor x: shape, got \(0, 4\), expected dimensions of at least 1")


def test_constants_have_their_type(graph):
    graph.nodes[0].inputs.append(tensor("c", data=np.ones((2, 2), np.float32)))
    broken(graph, r"tensor c: constant, got float32\[2, 2\], expected float32\[1x4\]")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (
            quantised((1.0,), (0,), dtype=DType.FLOAT32),
            "tensor x: got a quantisation for float32, expected an integer type",
        ),
        (quantised((1.0,), ()), "tensor x: got 1 scales and 0 zero points, expected as many of both, at least 1"),
        (quantised((1.0, 2.0), (0, 0), 1), r"got 2 scales for axis 1 of \(1, 4\), expected one for each index"),
        (quantised((1.0, 2.0), (0, 0), None), "got 2 scales for axis None"),
        (quantised((1.0, 2.0), (0, 0), 7), "got 2 scales for axis 7"),
    ],
)
def test_quantisation(graph, kind, words):
    graph.inputs[0].type = kind
    broken(graph, words)


def test_attributes_are_attributes(graph):
    graph.nodes[0].attrs = SimpleNamespace()
    broken(graph, "relu y: attributes, got SimpleNamespace, expected Attributes")


def test_order(graph):
    graph.nodes.reverse()
    broken(graph, "relu z: operand y is read before it has a value")


def test_nodes_have_results(graph):
    graph.nodes[1].outputs = []
    broken(graph, "relu z: has no results, expected at least 1")


def test_results_are_no_constants(graph):
    graph.outputs[0].data = np.ones((1, 4), np.float32)
    broken(graph, "relu z: result z is a constant")


def test_one_producer(graph):
    graph.nodes[1].outputs = [graph.inputs[0]]
    broken(graph, "relu z: result x has a value already")


@pytest.mark.parametrize("what", ["inputs", "outputs"])
def test_interface_is_not_empty(graph, what):
    tensors = getattr(graph, what)
    graph.nodes = graph.nodes if what == "outputs" else []
    setattr(graph, what, [])
    broken(graph, f"graph net: got no {what}, expected at least 1")
    setattr(graph, what, tensors * 2)
    graph.nodes = graph.nodes if what == "outputs" else []
    broken(graph, f"graph net: {what} name a tensor twice, expected each once")


def test_inputs_are_free(graph):
    graph.inputs[0].data = np.ones((1, 4), np.float32)
    broken(graph, "graph net: input x is a constant")


def test_outputs_are_computed(graph):
    graph.outputs = [graph.inputs[0]]
    broken(graph, "graph net: output x is computed by no node")


# The ops' part.


def conv():
    return next(node for node in load(zoo.many_ops()).nodes if node.op == "conv2d")


def test_unknown_op(graph):
    graph.nodes[0].op = "rulu"
    with pytest.raises(VerifyError, match=r"op rulu: unknown\. Did you mean relu"):
        verify(graph)


def test_attribute_class():
    node = conv()
    node.attrs = Attributes()
    with pytest.raises(VerifyError, match="attributes, got Attributes, expected ConvAttributes"):
        check_node(node)


def test_types_follow_from_operands():
    node = conv()
    node.output.type = dataclasses.replace(node.output.type, shape=(1, 7, 8, 4))
    with pytest.raises(VerifyError, match=r"type of t4, got int8\[1x7x8x4\] .*, expected int8\[1x8x8x4\]"):
        check_node(node)


def test_number_of_results():
    node = conv()
    node.outputs.append(tensor("more"))
    with pytest.raises(VerifyError, match="results, got 2, expected 1"):
        check_node(node)

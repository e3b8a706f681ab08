"""Every rule of the IR has a graph that breaks it."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from aboard.errors import VerifyError
from aboard.importers import load
from aboard.ir import Attributes, DType, Graph, Node, Quantization, State, Tensor, TensorType
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


# States.


@pytest.fixture
def counter():
    """s -> relu -> n, the next value of s; x -> relu -> y."""
    x, y, s, n = tensor("x"), tensor("y"), tensor("s"), tensor("n")
    nodes = [Node("relu", "y", [x], [y]), Node("relu", "n", [s], [n])]
    zeros = np.zeros((1, 4), np.float32)
    return Graph("net", [x], [y], nodes, states=[State("count", s, n, zeros)])


def test_a_graph_with_a_state(counter):
    verify(counter)
    (state,) = counter.states
    assert [t.name for t in counter.entries] == ["x", "s"]
    assert [t.name for t in counter.results] == ["y", "n"]
    assert counter.is_result(state.write)
    assert not counter.is_output(state.write)
    assert state.changes


def test_a_state_that_no_run_changes(counter):
    (state,) = counter.states
    state.write = state.read
    verify(counter)
    assert not state.changes


def test_other_readers_get_the_next_value(counter):
    (state,) = counter.states
    other = tensor("other")
    counter.nodes[1].outputs = [other]
    counter.replace_uses(state.write, other)
    assert state.write is other
    verify(counter)


def test_states_are_unique(counter):
    counter.states.append(dataclasses.replace(counter.states[0]))
    broken(counter, "state count: name is used 2 times")


def test_a_state_has_a_tensor_of_its_own(counter):
    counter.states.append(dataclasses.replace(counter.states[0], name="other"))
    broken(counter, "state count: reads s, expected a tensor that nothing else sets")
    counter.states = [dataclasses.replace(counter.states[0], read=counter.inputs[0])]
    counter.nodes[1].inputs = counter.inputs[:1]
    broken(counter, "state count: reads x, expected a tensor that nothing else sets")


def test_a_state_is_not_computed_by_a_node(counter):
    counter.nodes[1].outputs = [counter.states[0].read]
    broken(counter, "relu n: result s has a value already")


def test_the_next_value_is_computed(counter):
    counter.states[0].write = tensor("nowhere")
    broken(counter, "state count: next value nowhere is computed by no node")


def test_types_of_a_state(counter):
    state = counter.states[0]
    state.initial = np.zeros(4, np.float32)
    broken(counter, r"state count: initial value, got float32\[4\], expected float32\[1x4\]")
    state.write.type = TensorType((4, 1), DType.FLOAT32)
    broken(counter, r"state count: next value, got float32\[4x1\], expected float32\[1x4\]")

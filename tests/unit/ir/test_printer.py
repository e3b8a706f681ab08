"""The text of a graph."""

import numpy as np
import pytest

from aboard.importers import load
from aboard.ir import DType, State, Tensor, TensorType
from aboard.ir.printer import dump
from support import zoo
from support.tflite_builder import ModelBuilder


def small():
    model = ModelBuilder().tensor("x", (1, 4, 4, 1), np.int8, scale=0.5, zero_point=-3)
    model.tensor("w", (1, 3, 3, 1), np.int8, scale=0.25, data=np.arange(9)).tensor("b", (1,), np.int32, data=[7])
    model.tensor("y", (1, 2, 2, 1), np.int8, scale=1.0)
    options = {"StrideH": 2, "StrideW": 2, "Padding": "SAME", "FusedActivationFunction": "RELU"}
    return load(model.op("CONV_2D", ["x", "w", "b"], ["y"], options).build(["x"], ["y"]), name="net")


def test_every_line():
    assert dump(small()) == (
        "graph net from model (bytes) {\n"
        "  input %x: int8[1x4x4x1] q(0.5, -3)\n"
        "  const %w: int8[1x3x3x1] q(0.25, 0) = sha256:f8348e0b1df00833\n"
        "  const %b: int32[1] = [7]\n"
        "  %y = conv2d(%x, %w, %b) {strides=[2, 2], padding=(top=0, left=0, bottom=1, right=1), dilations=[1, 1], "
        "activation=relu} : int8[1x2x2x1] q(1, 0) from 0\n"
        "  output %y\n"
        "}\n"
    )


def test_absent_operands_and_bare_nodes():
    graph = small()
    node = graph.nodes[0]
    node.inputs[2], node.sources = None, ()
    assert "%y = conv2d(%x, %w, -) {" in dump(graph)
    assert dump(graph).splitlines()[-3].endswith("q(1, 0)")


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_the_same_model_gives_the_same_text(dtype):
    first, second = dump(load(zoo.many_ops(dtype))), dump(load(zoo.many_ops(dtype)))
    assert first == second
    assert dump(load(zoo.many_ops(dtype, seed=1))) != first


def test_names_cannot_be_taken_for_lines_of_the_text():
    graph = small()
    graph.inputs[0].name = 'x: int8[1] }\n  output "%y"\x1b[2J'
    line = dump(graph).splitlines()[1]
    assert line == r'  input %"x: int8[1] }\n  output \"%y\"\u001b[2J": int8[1x4x4x1] q(0.5, -3)'
    graph.source = "a\u202eb"
    assert dump(graph).startswith(r"graph net from a\u202eb {")


def test_states():
    graph = small()
    read = Tensor("s", TensorType((1, 2, 2, 1), DType.INT8))
    graph.states.append(State("stream", read, graph.outputs[0], np.full((1, 2, 2, 1), -3, np.int8)))
    assert "\n  state %s: int8[1x2x2x1] = [-3, -3, -3, -3] then %y\n  const %w" in dump(graph)

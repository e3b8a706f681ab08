from __future__ import annotations

import numpy as np

from aboard.ir import DType, Graph, Node, Quantization, Tensor, TensorType
from aboard.kernels.contract import Implementation, KernelCall
from aboard.kernels.view import View
from aboard.schedule.buffer_assigner import assign_buffers

Q = Quantization((0.5,), (0,))


class Elementwise(Implementation):
    op, name, in_place, strided = "relu", "test", ((0, 0),), True

    def lower(self, node: object, inputs: object, outputs: object, target: object) -> KernelCall:
        raise AssertionError("assigning buffers must not lower")


def tensor(name: str, *shape: int) -> Tensor:
    return Tensor(name, TensorType(shape, DType.INT8, Q))


def relu(name: str, x: Tensor) -> Node:
    return Node("relu", name, [x], [tensor(f"{name}_out", *x.shape)])


def test_elementwise_nodes_write_over_an_operand_that_dies() -> None:
    x = tensor("x", 1, 4, 4, 2)
    first = relu("a", x)
    second = relu("b", first.output)
    graph = Graph("m", [x], [second.output], [first, second])
    assignment = assign_buffers(graph, {n: Elementwise() for n in graph.nodes}, keep_inputs=False)
    assert len(assignment.buffers) == 1
    kept = assign_buffers(graph, {n: Elementwise() for n in graph.nodes}, keep_inputs=True)
    assert len(kept.buffers) == 2, "the input must survive"


def test_an_operand_that_is_read_again_is_not_overwritten() -> None:
    x = tensor("x", 1, 4)
    first, second = relu("a", x), relu("b", x)
    graph = Graph("m", [x], [first.output, second.output], [first, second])
    assignment = assign_buffers(graph, {n: Elementwise() for n in graph.nodes}, keep_inputs=False)
    assert assignment.locations[first.output].buffer is not assignment.locations[x].buffer
    assert assignment.locations[second.output].buffer is assignment.locations[x].buffer


def test_an_output_of_the_model_is_not_overwritten() -> None:
    x = tensor("x", 1, 4)
    first = relu("a", x)
    second = relu("b", first.output)
    graph = Graph("m", [x], [first.output, second.output], [first, second])
    assignment = assign_buffers(graph, {n: Elementwise() for n in graph.nodes}, keep_inputs=False)
    assert assignment.locations[second.output].buffer is not assignment.locations[first.output].buffer


def test_views_are_spans_of_bytes() -> None:
    view = View.whole((1, 3, 5, 2), 4)
    assert (view.rows, view.cols, view.channels, view.row_stride, view.pixel_stride) == (3, 5, 2, 40, 8)
    assert view.contiguous
    assert view.span == 3 * 5 * 2 * 4 == np.zeros((3, 5, 2), np.float32).nbytes

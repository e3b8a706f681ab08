"""No pass drops a state, or changes what it holds: graphs of many ops with states are run for some steps."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from aboard.importers import load
from aboard.ir import DType, Graph, Node, Quantization, State, Tensor, TensorType
from aboard.ir.printer import dump
from aboard.ops.interpreter import initial_states, next_states, run_all
from aboard.ops.relu import Relu
from aboard.ops.reshape import ReshapeAttributes
from aboard.ops.verify import verify
from aboard.partition import pipeline
from aboard.partition.pattern import DevicePattern, op
from aboard.passes import run_passes
from aboard.passes.pipeline import HOST, NEUTRAL
from aboard.target import Target
from support import fake_device, zoo
from support.device import device
from support.rewrites import inputs_of

TARGETS = ("c -runtime=host", "c -mcpu=cortex-m4", "c -mcpu=cortex-m55")
INT8 = TensorType((1, 4, 4, 8), DType.INT8, Quantization((0.5,), (3,)))


def with_states(graph: Graph, seed: int, count: int = 6) -> Graph:
    """Makes some nodes read what another tensor of the graph held in the step before."""
    rng = np.random.default_rng(seed)
    uses = [(node, i) for node in graph.nodes for i, t in enumerate(node.inputs) if t is not None and not t.is_constant]
    made = [tensor for node in graph.nodes for tensor in node.outputs]
    for number in rng.permutation(len(uses)):
        node, index = uses[number]
        same = [t for t in made if t.type == node.input(index).type and t not in graph.results]
        if same and len(graph.states) < count:
            write = same[rng.integers(len(same))]
            name = f"state{len(graph.states)}"
            read = Tensor(f"{name}_read", write.type)
            initial = rng.integers(-100, 100, write.shape).astype(write.dtype.numpy)
            graph.states.append(State(name, read, write, initial))
            node.inputs[index] = read
    return graph


def outputs_of_steps(graph: Graph, count: int = 3) -> list[dict[str, np.ndarray]]:
    """Returns the outputs of some steps, with the states after each."""
    states, seen = initial_states(graph), []
    for step in range(count):
        values = run_all(graph, inputs_of(graph, seed=step), states)
        states = next_states(graph, values)
        seen.append({tensor.name: values[tensor.name] for tensor in graph.outputs} | states)
    return seen


def check(graph: Graph, expected: list[dict[str, np.ndarray]]) -> None:
    verify(graph)
    for step, (got, wanted) in enumerate(zip(outputs_of_steps(graph), expected, strict=True)):
        assert set(got) == set(wanted)
        for name, value in wanted.items():
            np.testing.assert_array_equal(got[name], value, err_msg=f"step {step}, {name}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_every_prefix_of_the_pipeline(dtype: type, target: str) -> None:
    graph = with_states(load(zoo.many_ops(dtype)), seed=len(target))
    assert len(graph.states) > 2
    expected = outputs_of_steps(graph)
    last = dump(graph)

    def visit(after: Graph, *_: str | None) -> None:
        nonlocal last
        if dump(after) != last:
            last = dump(after)
            check(after, expected)

    pipeline.run(graph, Target(target), visit)
    check(graph, expected)


def test_a_graph_of_which_a_device_claims_a_part() -> None:
    graph = with_states(load(zoo.many_ops()), 1)
    expected = outputs_of_steps(graph)
    patterns = [DevicePattern("all", op("relu6", "add", "conv2d", "sub"), merge=True)]
    with device(patterns, codegen=fake_device.codegen):
        pipeline.run(graph, Target("c -runtime=host + fake"))
    assert any(node.op == "subgraph" for node in graph.nodes)
    check(graph, expected)


def chain(*kinds: str) -> Graph:
    """Returns x -> ... -> y beside s -> ... -> n, the next value of s, both through nodes of some kinds."""
    x, s = Tensor("x", INT8), Tensor("s", INT8)
    nodes, ends = [], []
    for name, tensor in (("y", x), ("n", s)):
        for number, kind in enumerate(kinds):
            result = Tensor(f"{name}{number}", INT8)
            attrs = ReshapeAttributes(INT8.shape) if kind == "reshape" else Relu.attributes()
            nodes.append(Node(kind, result.name, [tensor], [result], attrs))
            tensor = result
        ends.append(tensor)
    return Graph("net", [x], [ends[0]], nodes, states=[State("s", s, ends[1], np.ones(INT8.shape, np.int8))])


@pytest.mark.parametrize("kinds", [("reshape",), ("relu", "reshape"), ("reshape", "relu"), ("relu", "relu6", "relu")])
def test_nodes_that_change_nothing_are_removed_up_to_the_state(kinds: tuple[str, ...]) -> None:
    graph = chain(*kinds)
    expected = outputs_of_steps(graph)
    before = copy.deepcopy(graph)
    run_passes(graph, (*NEUTRAL, *HOST))
    check(graph, expected)
    assert graph.states[0].name == before.states[0].name
    assert graph.states[0].write.name == before.states[0].write.name


def test_a_next_value_that_is_constant_is_not_folded_away() -> None:
    graph = chain("relu")
    graph.nodes[1].inputs = [Tensor("c", INT8, np.full(INT8.shape, 7, np.int8))]
    expected = outputs_of_steps(graph)
    run_passes(graph, NEUTRAL)
    check(graph, expected)
    assert [node.name for node in graph.nodes] == ["y0", "n0"]

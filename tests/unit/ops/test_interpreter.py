"""Graphs are run in numpy."""

import numpy as np
import pytest

from aboard.importers import load
from aboard.ir import DType, Graph, Node, State, Tensor, TensorType
from aboard.ops.arithmetic import ArithmeticAttributes
from aboard.ops.interpreter import evaluate, initial_states, next_states, run, run_all
from support import zoo
from support.oracle import tflm


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_model_of_many_ops(dtype, seed):
    model = zoo.many_ops(dtype, seed)
    x = np.random.default_rng(seed).integers(-128, 128, (1, 8, 8, 4)).astype(dtype)
    got = run(load(model), {"t0": x})
    for value, expected in zip(got.values(), tflm(model, x), strict=True):
        if dtype is np.int8:
            np.testing.assert_array_equal(value, expected)
        else:
            np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)


def test_all_tensors():
    graph = load(zoo.many_ops())
    values = run_all(graph, {"t0": np.zeros((1, 8, 8, 4), np.int8)})
    assert set(values) == {t.name for t in graph.tensors() if not t.is_constant}


def test_results_of_another_type_are_our_bug():
    node = load(zoo.many_ops()).nodes[2]
    with pytest.raises(ValueError, match=r"relu t5: evaluate gave int8\[3\], expected int8\[1x8x8x4\]"):
        evaluate(node, [np.zeros(3, np.int8)])


def test_states_pass_from_step_to_step():
    kind = TensorType((1, 2), DType.FLOAT32)
    x, s, total, y = (Tensor(name, kind) for name in ("x", "s", "total", "y"))
    fixed = Tensor("fixed", kind)
    nodes = [
        Node("add", "total", [x, s], [total], ArithmeticAttributes()),
        Node("add", "y", [total, fixed], [y], ArithmeticAttributes()),
    ]
    states = [
        State("sum", s, total, np.array([[10, 20]], np.float32)),
        State("offset", fixed, fixed, np.array([[100, 200]], np.float32)),
    ]
    graph = Graph("net", [x], [y], nodes, states=states)
    known = initial_states(graph)
    seen = []
    for step in range(3):
        values = run_all(graph, {"x": np.full((1, 2), step + 1, np.float32)}, known)
        known = next_states(graph, values)
        seen.append(values["y"].tolist())
    assert seen == [[[111, 221]], [[113, 223]], [[116, 226]]]
    assert {name: value.tolist() for name, value in known.items()} == {"sum": [[16, 26]], "offset": [[100, 200]]}
    assert run(graph, {"x": np.zeros((1, 2), np.float32)})["y"].tolist() == [[110, 220]]

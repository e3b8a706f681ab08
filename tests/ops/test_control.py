"""IF and WHILE against tflite-micro."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.check.reference import Reference
from aboard.errors import ModelError
from aboard.importers import load
from aboard.ops import control, interpreter
from support import control_models, one_op, oracle
from support.examples import examples
from support.tflite_builder import ModelBuilder

SHAPES = st.tuples(st.just(1), st.integers(1, 5), st.integers(1, 5), st.integers(1, 4))


def activations(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


@settings(max_examples=examples(16), deadline=None)
@given(st.integers(0, 1 << 30), SHAPES, st.tuples(st.integers(0, 3), st.integers(0, 3)), st.integers(0, 1))
def test_branches(seed: int, shape: tuple[int, ...], layers: tuple[int, int], after: int) -> None:
    model, x = control_models.chosen(seed, shape, layers, after), activations(seed, shape)
    for flag in (True, False):
        one_op.check_equal(model, np.array([flag]), x)


@settings(max_examples=examples(16), deadline=None)
@given(st.integers(0, 1 << 30), SHAPES, st.integers(0, 2), st.integers(-1, 6))
def test_loops(seed: int, shape: tuple[int, ...], layers: int, iterations: int) -> None:
    model, x = control_models.looped(seed, shape, layers), activations(seed, shape)
    one_op.check_equal(model, np.array([iterations], np.int32), x)


@settings(max_examples=examples(16), deadline=None)
@given(st.integers(0, 1 << 30), SHAPES, st.integers(0, 5), st.sampled_from(["size", "balanced", "speed"]))
def test_a_branch_in_a_loop(seed: int, shape: tuple[int, ...], iterations: int, opt: str) -> None:
    model, x = control_models.nested(seed, shape), activations(seed, shape)

    def compiled(data: bytes, *inputs: np.ndarray) -> list[np.ndarray]:
        return one_op.compiled(data, *inputs, attributes=f"-opt={opt}")

    one_op.check_equal(model, np.array([iterations], np.int32), x, run=compiled)


@pytest.mark.parametrize("attributes", ["-input=kept -opt=size", "-ram-max=4K", "-flash-max=200K"])
def test_limits_of_the_model_leave_results_as_they_are(attributes: str) -> None:
    x = activations(7, (1, 3, 4, 2))
    one_op.check_equal(
        control_models.nested(7),
        np.array([4], np.int32),
        x,
        run=lambda model, *inputs: one_op.compiled(model, *inputs, attributes=attributes),
    )


def test_several_arenas() -> None:
    model, x, n = control_models.nested(8), activations(8, (1, 3, 4, 2)), np.array([4], np.int32)
    module = aboard.compile(model, target=f"{one_op.HOST} -arena=fast:64,slow:2K")
    assert [arena.region for arena in module.manifest.arenas] == ["fast", "slow"]
    outputs = module.run({"n": n, "x": x})
    for name, wanted in zip(("count", "y"), oracle.tflm(model, n, x), strict=True):
        np.testing.assert_array_equal(outputs[name], wanted)


def _constants(then: int, otherwise: int) -> bytes:
    """Returns a model whose branches take no operands."""
    branches = [
        ModelBuilder(border=([], ["c"])).tensor("c", (3,), np.int32, data=[value] * 3) for value in (then, otherwise)
    ]
    builder = ModelBuilder(called=branches).tensor("flag", (), np.bool_).tensor("y", (3,), np.int32)
    builder.op("IF", ["flag"], ["y"], {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2})
    return builder.build(["flag"], ["y"])


@pytest.mark.parametrize(("flag", "expected"), [(True, 5), (False, -9)])
def test_branches_without_operands(flag: bool, expected: int) -> None:
    model = _constants(5, -9)
    one_op.check_equal(model, np.array(flag))
    assert one_op.evaluate(model, np.array(flag))[0].tolist() == [expected] * 3


def _swapping() -> bytes:
    """Returns a loop that swaps two values in each iteration, with floats and equal bytes in other shapes."""
    condition = ModelBuilder(border=(["a", "b", "i"], ["more"]))
    body = ModelBuilder(border=(["a", "b", "i"], ["b", "a", "next"]))
    for builder in (condition, body):
        builder.tensor("a", (2, 2), np.float32).tensor("b", (4,), np.float32).tensor("i", (1,), np.float32)
    condition.tensor("limit", (1,), np.float32, data=[3.0]).tensor("more", (1,), np.bool_)
    condition.op("LESS", ["i", "limit"], ["more"])
    body.tensor("one", (1,), np.float32, data=[1.0]).tensor("next", (1,), np.float32)
    body.op("ADD", ["i", "one"], ["next"])
    builder = ModelBuilder(called=[condition, body])
    builder.tensor("i", (1,), np.float32).tensor("last", (1,), np.float32)
    for name in ("a", "b", "y", "z"):
        builder.tensor(name, (1, 4), np.float32)
    options = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}
    return builder.op("WHILE", ["a", "b", "i"], ["y", "z", "last"], options).build(["a", "b", "i"], ["y", "z", "last"])


@pytest.mark.parametrize("start", [0.0, 1.0, 5.0])
def test_values_that_change_places(start: float) -> None:
    a, b = np.array([[1, 2, 3, 4]], np.float32), np.array([[5, 6, 7, 8]], np.float32)
    i = np.array([start], np.float32)
    one_op.check_equal(_swapping(), a, b, i)
    y = one_op.evaluate(_swapping(), a, b, i)[0]
    np.testing.assert_array_equal(y, b if start == 0.0 else a)


def test_a_subgraph_that_two_nodes_call_is_compiled_once() -> None:
    rng, shape = np.random.default_rng(3), (1, 2, 2, 2)
    builder = ModelBuilder(called=[control_models.branch(shape, 1, rng), control_models.branch(shape, 2, rng)])
    builder.tensor("flag", (1,), np.bool_)
    for name in ("x", "y", "z"):
        control_models.values(builder, name, shape)
    builder.op("IF", ["flag", "x"], ["y"], {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2})
    builder.op("IF", ["flag", "y"], ["z"], {"ThenSubgraphIndex": 2, "ElseSubgraphIndex": 1})
    model, x = builder.build(["flag", "x"], ["z"]), activations(3, shape)
    for flag in (True, False):
        one_op.check_equal(model, np.array([flag]), x)
    module = aboard.compile(model, target="c -mcpu=cortex-m4", name="twice")
    assert sorted(path for path in module.files if "subgraph" in path and path.endswith(".c")) == [
        "src/twice_subgraph_1.c",
        "src/twice_subgraph_2.c",
    ]
    assert len(control.graphs(load(model))) == 2


def test_a_subgraph_that_two_nodes_call_with_different_constants() -> None:
    """Constants go into copies of the subgraph, each of which is a function of its own."""
    shape = (1, 4)
    branch = ModelBuilder(border=(["x", "c"], ["t"]))
    builder = ModelBuilder(called=[branch]).tensor("flag", (1,), np.bool_)
    for graph, names in ((branch, "xct"), (builder, "xyz")):
        for name in names:
            graph.tensor(name, shape, np.int32)
    branch.op("ADD", ["x", "c"], ["t"])
    for name, value in (("five", 5), ("nine", 9)):
        builder.tensor(name, shape, np.int32, data=[[value] * 4])
    options = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 1}
    builder.op("IF", ["flag", "x", "five"], ["y"], options).op("IF", ["flag", "y", "nine"], ["z"], options)
    model = builder.build(["flag", "x"], ["y", "z"])
    one_op.check_equal(model, np.array([True]), np.array([[1, 2, 3, 4]], np.int32))


def test_records_of_the_layers_inside() -> None:
    manifest = aboard.compile(control_models.nested(1), target="c -mcpu=cortex-m4").manifest
    loop = manifest.nodes[-1]
    condition, body = loop.bodies
    assert (loop.op, condition.role, body.role) == ("while", "condition", "body")
    assert [node.op for node in body.nodes] == ["add", "add", "less", "if"]
    branch = body.nodes[-1]
    assert [each.role for each in branch.bodies] == ["then", "else"]
    assert loop.macs == sum(node.macs for node in (*condition.nodes, *body.nodes))
    assert branch.macs == max(sum(node.macs for node in each.nodes) for each in branch.bodies)
    assert loop.scratch_bytes == max(condition.ram_bytes, body.ram_bytes)
    assert 0 < sum(node.weights_bytes for node in body.nodes) <= loop.weights_bytes <= manifest.weights_bytes


# Loops that do not end.


def _endless() -> bytes:
    condition = ModelBuilder(border=(["x"], ["more"]))
    condition.tensor("x", (1,), np.int32).tensor("zero", (1,), np.int32, data=[0]).tensor("more", (1,), np.bool_)
    condition.op("GREATER", ["x", "zero"], ["more"])
    body = ModelBuilder(border=(["x"], ["x"])).tensor("x", (1,), np.int32)
    builder = ModelBuilder(called=[condition, body]).tensor("x", (1,), np.int32).tensor("y", (1,), np.int32)
    builder.op("WHILE", ["x"], ["y"], {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})
    return builder.build(["x"], ["y"])


@pytest.mark.parametrize("kind", ["tflm", "numpy"])
def test_the_reference_ends_an_endless_loop(kind: str) -> None:
    reference = Reference.open(_endless(), kind)
    assert reference.run({"x": np.array([0], np.int32)})["y"].tolist() == [0]
    with pytest.raises(ModelError, match="while y: is not at its end after 10000 iterations in numpy"):
        reference.run({"x": np.array([1], np.int32)})


def test_iterations_of_loops_inside_loops_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "MOST_ITERATIONS", 3)
    inner = ModelBuilder(border=(["x"], ["y"])).tensor("x", (1,), np.int32).tensor("y", (1,), np.int32)
    inner.op("WHILE", ["x"], ["y"], {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})
    condition = ModelBuilder(border=(["x"], ["more"])).tensor("x", (1,), np.int32).tensor("more", (1,), np.bool_)
    condition.tensor("limit", (1,), np.int32, data=[2]).op("LESS", ["x", "limit"], ["more"])
    body = ModelBuilder(border=(["x"], ["y"])).tensor("x", (1,), np.int32).tensor("y", (1,), np.int32)
    body.tensor("one", (1,), np.int32, data=[1]).op("ADD", ["x", "one"], ["y"])
    builder = ModelBuilder(called=[condition, body, inner]).tensor("x", (1,), np.int32).tensor("y", (1,), np.int32)
    builder.op("WHILE", ["x"], ["y"], {"CondSubgraphIndex": 1, "BodySubgraphIndex": 3})
    graph = load(builder.build(["x"], ["y"]))
    assert interpreter.run(graph, {"x": np.array([1], np.int32)})["y"].tolist() == [2]
    with pytest.raises(ModelError, match="is not at its end"):
        interpreter.run(graph, {"x": np.array([-2], np.int32)})


def test_constant_operands_of_a_loop_are_left_to_the_device() -> None:
    """A loop is never computed while compiling: it may be endless."""
    builder = ModelBuilder(called=[])
    builder.called = [
        ModelBuilder(border=(["x"], ["t"])).tensor("x", (1,), np.int32).tensor("t", (1,), np.bool_, data=[True]),
        ModelBuilder(border=(["x"], ["x"])).tensor("x", (1,), np.int32),
    ]
    builder.tensor("one", (1,), np.int32, data=[1]).tensor("i", (1,), np.int32).tensor("x", (1,), np.int32)
    builder.tensor("y", (1,), np.int32)
    builder.op("WHILE", ["one"], ["i"], {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})
    model = builder.op("ADD", ["i", "x"], ["y"]).build(["x"], ["y"])
    assert [node.op for node in aboard.compile(model, target="c -mcpu=cortex-m4").manifest.nodes] == ["while", "add"]


def test_the_oracle_takes_the_branch_too() -> None:
    model, x = control_models.chosen(5, layers=(1, 2)), activations(5, (1, 4, 5, 3))
    one, other = (oracle.tflm(model, np.array([flag]), x)[0] for flag in (True, False))
    assert (one != other).any(), "the comparison would not see the branch"

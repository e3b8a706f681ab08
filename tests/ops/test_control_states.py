"""State inside of branches and loops, over several runs, against tflite-micro: variable tensors, layers with state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import aboard
from aboard.importers import load
from ops.test_lstm import Layer
from ops.test_svdf import Filter
from support import signal_models
from support.control_models import values
from support.signal_models import check_steps
from support.tflite_builder import ModelBuilder

SHAPE = (1, 4)
FLAGS = (False, True, True, False, True, True, False, True)
IF = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2}
WHILE = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}


def body(*operands: str) -> ModelBuilder:
    """Returns a graph without operators, with int8 operands."""
    builder = ModelBuilder(border=(list(operands), ["y"]))
    for name in operands:
        values(builder, name, SHAPE)
    return builder


def variable(builder: ModelBuilder, name: str = "v") -> ModelBuilder:
    return builder.tensor(name, SHAPE, np.int8, scale=0.05, zero_point=-3, variable=True)


def summing() -> ModelBuilder:
    """Returns a graph that adds its operand to a variable tensor, which is its result too."""
    builder = variable(body("x"))
    builder.border = (["x"], ["v"])
    return builder.op("ADD", ["x", "v"], ["v"])


def telling() -> ModelBuilder:
    """Returns a graph that reads a variable tensor which it never sets."""
    builder = variable(body("x"))
    values(builder, "y", SHAPE)
    return builder.op("ADD", ["x", "v"], ["y"])


def delaying() -> ModelBuilder:
    """Returns a graph of an operator that keeps state without a tensor of the file."""
    builder = ModelBuilder(border=(["x"], ["y"])).tensor("x", (6,), np.int16).tensor("y", (6,), np.int16)
    signal_models.add(builder, "Delay", ["x"], ["y"], {"delay_length": 4})
    return builder


def forgetting(like: ModelBuilder) -> ModelBuilder:
    """Returns a graph with the border of another one, and a constant result."""
    builder = ModelBuilder(border=(["x"], ["y"])).like(like, "x")
    (result,) = (tensor for tensor in like._tensors if tensor.name == like.border[1][0])
    quant: dict[str, Any] = {"scale": 0.5} if result.scales else {}
    return builder.tensor("y", result.shape, result.dtype, data=np.full(result.shape, 7), **quant)


LAYERS: dict[str, Callable[[], ModelBuilder]] = {
    "variable tensor": summing,
    "variable tensor that is only read": telling,
    "svdf": lambda: Filter().builder(),
    "svdf int16": lambda: Filter(state=np.int16, batch=2).builder(),
    "lstm": lambda: Layer().builder(),
    "lstm int16": lambda: Layer(np.int16, batch=2).builder(),
    "state of an operator": delaying,
}


def drawn(builder: ModelBuilder, seed: int) -> np.ndarray:
    """Returns values of the operand of a graph."""
    (x,) = (tensor for tensor in builder._tensors if tensor.name == "x")
    info = np.iinfo(x.dtype)
    return np.random.default_rng(seed).integers(info.min, info.max, x.shape, x.dtype, endpoint=True)


def branches(then: ModelBuilder, otherwise: ModelBuilder, result: str) -> ModelBuilder:
    """Returns a model of an IF; `result` is the tensor of `then` whose type its result has."""
    model = ModelBuilder(called=[then, otherwise]).tensor("flag", (1,), np.bool_).like(then, "x")
    (tensor,) = (tensor for tensor in then._tensors if tensor.name == result)
    model.tensor("out", tensor.shape, tensor.dtype, scales=tensor.scales, zero_points=tensor.zero_points)
    return model.op("IF", ["flag", "x"], ["out"], IF)


@pytest.mark.parametrize("name", [name for name in LAYERS if "int16" not in name])
def test_branches(name: str) -> None:
    then = LAYERS[name]()
    model = branches(then, forgetting(then), str(then.border[1][0])).build(["flag", "x"], ["out"])
    found = check_steps(model, [[np.array([flag]), drawn(then, step)] for step, flag in enumerate(FLAGS)])
    assert len({y.tobytes() for (y,) in found}) > 2, "the comparison would not see the state"


@pytest.mark.parametrize("name", ["variable tensor", "svdf int16", "lstm int16", "state of an operator"])
def test_loops(name: str) -> None:
    layer = LAYERS[name]()
    result = str(layer.border[1][0])
    (tensor,) = (tensor for tensor in layer._tensors if tensor.name == result)
    kind = {"scales": tensor.scales, "zero_points": tensor.zero_points}
    condition = ModelBuilder(border=(["i", "n", "x", "before"], ["more"])).tensor("more", (1,), np.bool_)
    model = ModelBuilder(called=[condition, layer]).tensor("out", tensor.shape, tensor.dtype, **kind).like(layer, "x")
    for builder in (condition.like(layer, "x"), layer, model):
        builder.tensor("i", (1,), np.int32).tensor("n", (1,), np.int32)
        builder.tensor("before", tensor.shape, tensor.dtype, **kind)
    condition.op("LESS", ["i", "n"], ["more"])
    layer.tensor("one", (1,), np.int32, data=[1]).tensor("j", (1,), np.int32).op("ADD", ["i", "one"], ["j"])
    layer.border = (["i", "n", "x", "before"], ["j", "n", "x", result])
    model.tensor("zero", (1,), np.int32, data=[0]).tensor("count", (1,), np.int32).tensor("limit", (1,), np.int32)
    model.tensor("left", *_shape_of(layer))
    model.op("WHILE", ["zero", "n", "x", "before"], ["count", "limit", "left", "out"], WHILE)
    steps = [
        [np.array([count], np.int32), drawn(layer, step), np.zeros(tensor.shape, tensor.dtype)]
        for step, count in enumerate((2, 0, 3, 1))
    ]
    found = check_steps(model.build(["n", "x", "before"], ["count", "out"]), steps)
    assert [int(count[0]) for count, _ in found] == [2, 0, 3, 1]


def _shape_of(layer: ModelBuilder) -> tuple[tuple[int, ...], np.dtype]:
    (x,) = (tensor for tensor in layer._tensors if tensor.name == "x")
    return x.shape, x.dtype


def test_a_subgraph_that_two_operators_call_has_one_state() -> None:
    model = ModelBuilder(called=[summing(), telling()]).tensor("flag", (1,), np.bool_)
    for name in "xyz":
        values(model, name, SHAPE)
    model.op("IF", ["flag", "x"], ["y"], IF)
    model.op("IF", ["flag", "y"], ["z"], {"ThenSubgraphIndex": 2, "ElseSubgraphIndex": 1})
    data = model.build(["flag", "x"], ["y", "z"])
    check_steps(data, _flagged())
    assert [state.name for state in load(data).states] == ["v", "v_2"]


def _flagged() -> list[list[np.ndarray]]:
    rng = np.random.default_rng(3)
    return [[np.array([flag]), rng.integers(-9, 9, SHAPE).astype(np.int8)] for flag in FLAGS]


def test_a_branch_in_a_branch() -> None:
    inner = body("x").tensor("yes", (1,), np.bool_, data=[True])
    values(inner, "y", SHAPE)
    inner.op("IF", ["yes", "x"], ["y"], {"ThenSubgraphIndex": 3, "ElseSubgraphIndex": 4})
    model = ModelBuilder(called=[inner, telling(), summing(), telling()]).tensor("flag", (1,), np.bool_)
    for name in "xy":
        values(model, name, SHAPE)
    check_steps(model.op("IF", ["flag", "x"], ["y"], IF).build(["flag", "x"], ["y"]), _flagged())


def test_a_condition_with_state() -> None:
    """The condition of a loop adds 7 each time it is computed, until it has the operand; its second result is void."""
    condition = ModelBuilder(border=(["x"], ["more", "void"])).tensor("x", (1,), np.int32)
    condition.tensor("sum", (1,), np.int32, variable=True).tensor("seven", (1,), np.int32, data=[7])
    condition.tensor("more", (1,), np.bool_).tensor("void", (1,), np.int32)
    condition.op("ADD", ["sum", "seven"], ["sum"]).op("LESS", ["sum", "x"], ["more"]).op("ADD", ["x", "x"], ["void"])
    loop = ModelBuilder(border=(["x"], ["x"])).tensor("x", (1,), np.int32)
    model = ModelBuilder(called=[condition, loop]).tensor("x", (1,), np.int32).tensor("y", (1,), np.int32)
    data = model.op("WHILE", ["x"], ["y"], WHILE).build(["x"], ["y"])
    steps = [[np.array([x], np.int32)] for x in (20, 25, 10, 50)]
    check_steps(data, steps)
    module = aboard.compile(data, target="c -runtime=host", name="model")
    sums = []
    for (x,) in steps:
        module.run(x)
        sums.append(int(module.state()["sum"][0]))
    assert sums == [21, 28, 35, 56]


@pytest.mark.parametrize("name", ["svdf", "lstm int16"])
def test_the_state_is_reset_saved_and_restored(name: str) -> None:
    then = LAYERS[name]()
    data = branches(then, forgetting(then), "y").build(["flag", "x"], ["out"])
    module = aboard.compile(data, target="c -runtime=host", name="model")
    feed = {"flag": np.array([True]), "x": drawn(then, 1)}
    first = module.run(feed)
    kept = module.state()
    assert list(kept) == {"svdf": ["s"], "lstm int16": ["h", "c"]}[name]
    second = module.run(feed)
    assert np.any(first != second)
    module.set_state(kept)
    np.testing.assert_array_equal(module.run(feed), second)
    module.reset_state()
    np.testing.assert_array_equal(module.run(feed), first)

"""Variables that branches and loops read and assign, over several runs, against tflite-micro."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import aboard
from aboard.check.reference import Reference
from aboard.errors import ModelError
from aboard.importers import load
from aboard.ops import interpreter
from support.tflite_builder import ModelBuilder

SHAPE = (1, 4)
SCALE = 0.05
FLAGS = (True, False, True, True, False, True)


class Body(ModelBuilder):
    """A graph with variables: `x` is its first operand."""

    def __init__(self, operands: Sequence[str] = ("x",)) -> None:
        super().__init__()
        self.operands = list(operands)
        if "x" in operands:
            self.values("x")

    def values(self, name: str) -> str:
        self.tensor(name, SHAPE, np.int8, scale=SCALE, zero_point=0)
        return name

    def handle(self, variable: str = "v") -> str:
        name = f"h_{variable}"
        self.tensor(name, (), np.int32).op("VAR_HANDLE", [], [name], {"SharedName": variable})
        return name

    def read(self, name: str, variable: str = "v") -> str:
        self.op("READ_VARIABLE", [self.handle(variable)], [self.values(name)])
        return name

    def sum(self, one: str, other: str, name: str) -> str:
        self.op("ADD", [one, other], [self.values(name)])
        return name

    def assign(self, value: str, variable: str = "v") -> None:
        self.op("ASSIGN_VARIABLE", [self.handle(variable), value], [])

    def giving(self, *results: str) -> Body:
        self.border = (self.operands, list(results))
        return self


def adding(variable: str = "v", assign: bool = True) -> Body:
    """Returns a graph that gives the sum of its operand and a variable, and assigns it."""
    body = Body()
    total = body.sum("x", body.read("r", variable), "t")
    if assign:
        body.assign(total, variable)
    return body.giving(total)


def plain() -> Body:
    body = Body()
    return body.giving(body.sum("x", "x", "t"))


def branches(then: Body, otherwise: Body, before: bool = False, after: bool = True) -> bytes:
    """Returns a model of an IF; `before` and `after` read the variable in the model itself too."""
    model = Body()
    model.called = [then, otherwise]
    model.tensor("flag", (1,), np.bool_)
    if before:
        model.sum("x", model.read("b"), "given")
    options = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2}
    model.op("IF", ["flag", "given" if before else "x"], [model.values("y")], options)
    outputs = ["y", model.read("a")] if after else ["y"]
    return model.build(["flag", "x"], outputs)


def check(data: bytes, feed: Callable[[int], dict[str, np.ndarray]]) -> None:
    """Fails unless numpy and the generated C give tflite-micro's outputs in a sequence of runs."""
    reference, graph = Reference.open(data, "tflm"), load(data, name="model")
    module = aboard.compile(data, target="c -runtime=host", name="model")
    states = interpreter.initial_states(graph)
    for step, _flag in enumerate(FLAGS):
        inputs = feed(step)
        wanted = reference.run(inputs)
        values = interpreter.run_all(graph, inputs, states)
        states = interpreter.next_states(graph, values)
        got = module.run(inputs)
        for name, value in wanted.items():
            np.testing.assert_array_equal(values[name], value, err_msg=f"numpy, step {step}, {name}")
            made = got[name] if isinstance(got, dict) else got
            np.testing.assert_array_equal(made, value, err_msg=f"generated C, step {step}, {name}")


def flagged(step: int) -> dict[str, np.ndarray]:
    x = np.random.default_rng(step).integers(-20, 20, SHAPE).astype(np.int8)
    return {"flag": np.array([FLAGS[step]]), "x": x}


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("then", "otherwise"),
    [
        (adding, plain),
        (plain, adding),
        (adding, adding),
        (adding, lambda: adding(assign=False)),
        (adding, lambda: adding("w")),
    ],
    ids=["then", "else", "both", "one reads", "two variables"],
)
def test_branches(then: Callable[[], Body], otherwise: Callable[[], Body], before: bool, after: bool) -> None:
    check(branches(then(), otherwise(), before, after), flagged)


def test_the_state_is_the_variable() -> None:
    (state,) = load(branches(adding(), plain()), name="model").states
    assert (state.name, state.changes) == ("v", True)


def test_subgraphs_that_two_nodes_call_with_different_variables() -> None:
    """The copies of a subgraph for each node are functions of their own."""
    model = Body()
    model.called = [adding(), adding("w"), plain()]
    model.tensor("flag", (1,), np.bool_)
    for x, y, others in (("x", "y", (1, 2)), ("y", "z", (2, 1)), ("z", "u", (3, 1))):
        options = dict(zip(("ThenSubgraphIndex", "ElseSubgraphIndex"), others, strict=True))
        model.op("IF", ["flag", x], [model.values(y)], options)
    check(model.build(["flag", "x"], ["y", "z", "u"]), flagged)


def looped(inner: Body | None = None) -> bytes:
    """Returns a model of a loop that adds the input to a variable as often as `n` says; `inner` is called inside."""
    condition = Body(["i", "n", "x"])
    condition.tensor("i", (1,), np.int32).tensor("n", (1,), np.int32).tensor("more", (1,), np.bool_)
    condition.op("LESS", ["i", "n"], ["more"]).giving("more")
    body = Body(["i", "n", "x"])
    body.tensor("i", (1,), np.int32).tensor("n", (1,), np.int32).tensor("one", (1,), np.int32, data=[1])
    body.tensor("j", (1,), np.int32).op("ADD", ["i", "one"], ["j"])
    if inner is None:
        body.assign(body.sum("x", body.read("r"), "t"))
    else:
        body.tensor("flag", (1,), np.bool_).tensor("two", (1,), np.int32, data=[2])
        body.op("LESS", ["i", "two"], ["flag"])
        options = {"ThenSubgraphIndex": 3, "ElseSubgraphIndex": 4}
        body.op("IF", ["flag", "x"], [body.values("t")], options)
    body.giving("j", "n", "x")
    model = Body()
    model.called = [condition, body, *([] if inner is None else [inner, plain()])]
    model.tensor("n", (1,), np.int32).tensor("zero", (1,), np.int32, data=[0])
    model.tensor("count", (1,), np.int32).tensor("limit", (1,), np.int32)
    options = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}
    model.op("WHILE", ["zero", "n", "x"], ["count", "limit", model.values("y")], options)
    return model.build(["n", "x"], ["count", "y", model.read("a")])


def counted(step: int) -> dict[str, np.ndarray]:
    x = np.random.default_rng(step).integers(-4, 4, SHAPE).astype(np.int8)
    return {"n": np.array([(3, 0, 1, 5, 2, 4)[step]], np.int32), "x": x}


def test_loops() -> None:
    check(looped(), counted)


def test_a_branch_in_a_loop() -> None:
    check(looped(adding()), counted)


def test_a_condition_that_assigns() -> None:
    """The condition assigns a variable that the model has set to a constant: the constant stays outside of the loop."""
    condition = Body()
    condition.assign(condition.sum("x", condition.read("r"), "t"))
    condition.tensor("most", SHAPE, np.int8, scale=SCALE, data=[[90] * 4]).tensor("less", SHAPE, np.bool_)
    condition.tensor("axes", (1,), np.int32, data=[1]).tensor("more", (1,), np.bool_)
    condition.op("LESS", ["t", "most"], ["less"]).op("REDUCE_ALL", ["less", "axes"], ["more"]).giving("more")
    model = Body()
    model.called = [condition, Body().giving("x")]
    model.tensor("start", SHAPE, np.int8, scale=SCALE, data=[[10, 20, 30, 40]])
    model.assign("start")
    model.op("WHILE", ["x"], [model.values("y")], {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})
    data = model.build(["x"], ["y", model.read("a")])
    check(data, lambda step: {"x": np.full(SHAPE, 5 + step, np.int8)})


# Handles that are operands.


def handled() -> Body:
    """Returns a graph that adds its operand to the variable that its other operand names."""
    body = Body(["h", "x"])
    body.tensor("h", (), np.int32)
    body.op("READ_VARIABLE", ["h"], [body.values("r")]).op("ASSIGN_VARIABLE", ["h", body.sum("x", "r", "t")], [])
    return body.giving("t")


def handling(*variables: str) -> Body:
    """Returns a model without operators that has initial values for variables."""
    model = Body()
    initial = Body(())
    initial.tensor("c", SHAPE, np.int8, scale=SCALE, data=[[1, 2, 3, 4]])
    for variable in variables:
        initial.assign("c", variable)
    model.called = [initial]
    model.op("CALL_ONCE", [], [], {"InitSubgraphIndex": 1})
    return model


def test_handles_as_operands_of_branches() -> None:
    """Two nodes call the same branches with the handles of two variables."""
    model = handling("v", "w")
    model.called += [handled(), handled()]
    model.tensor("flag", (1,), np.bool_)
    options = {"ThenSubgraphIndex": 2, "ElseSubgraphIndex": 3}
    model.op("IF", ["flag", model.handle("v"), "x"], [model.values("y")], options)
    model.op("IF", ["flag", model.handle("w"), "y"], [model.values("z")], options)
    check(model.build(["flag", "x"], ["y", "z"]), flagged)


def passing(results: Sequence[str]) -> bytes:
    """Returns a model of a loop with two handles among its values."""
    operands = ["i", "n", "x", "h_v", "h_w"]
    condition, body, model = Body(operands), Body(operands), handling("v", "w")
    for each in (condition, body, model):
        each.tensor("n", (1,), np.int32)
    for each in (condition, body):
        each.tensor("i", (1,), np.int32).tensor("h_v", (), np.int32).tensor("h_w", (), np.int32)
    condition.tensor("more", (1,), np.bool_).op("LESS", ["i", "n"], ["more"]).giving("more")
    body.tensor("one", (1,), np.int32, data=[1]).tensor("j", (1,), np.int32).op("ADD", ["i", "one"], ["j"])
    body.op("READ_VARIABLE", ["h_v"], [body.values("r")])
    body.op("ASSIGN_VARIABLE", ["h_v", body.sum("x", "r", "t")], []).op("ASSIGN_VARIABLE", ["h_w", "r"], [])
    model.called += [condition, body.giving("j", "n", "x", *results)]
    model.tensor("zero", (1,), np.int32, data=[0])
    for name, shape in (("count", (1,)), ("limit", (1,)), ("one", ()), ("other", ())):
        model.tensor(name, shape, np.int32)
    given = ["zero", "n", "x", model.handle("v"), model.handle("w")]
    left = ["count", "limit", model.values("y"), "one", "other"]
    model.op("WHILE", given, left, {"CondSubgraphIndex": 2, "BodySubgraphIndex": 3})
    model.op("READ_VARIABLE", ["other"], [model.values("a")])
    return model.build(["n", "x"], ["count", "a"])


def test_handles_as_values_of_a_loop() -> None:
    check(passing(["h_v", "h_w"]), counted)


def test_handles_that_change_places_are_refused() -> None:
    with pytest.raises(ModelError) as caught:
        load(passing(["h_w", "h_v"]))
    assert (
        "node 3 WHILE: computes tensor 5 (one), which is not always the handle of one variable, expected the same. "
        "Export the model again"
    ) in str(caught.value)


def test_the_first_assignment_in_the_file_fills_a_variable() -> None:
    """That of the model, though the branch is called before it."""
    then = adding()
    model = Body()
    model.called = [then, plain()]
    model.tensor("flag", (1,), np.bool_).tensor("moved", SHAPE, np.int8, scale=SCALE, zero_point=9)
    model.op("IF", ["flag", "x"], [model.values("y")], {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2})
    model.op("ADD", ["x", "x"], ["moved"])
    model.assign("moved")
    check(model.build(["flag", "x"], ["y"]), flagged)

"""Subgraphs that IF and WHILE call: what is refused, and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aboard.errors import ModelError
from aboard.importers import load, tflite_control
from support.tflite_builder import ModelBuilder

IF = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2}
WHILE = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}


def body(shape: tuple[int, ...] = (4,), dtype: Any = np.int32) -> ModelBuilder:
    """Returns a graph that gives its input."""
    return ModelBuilder(border=(["x"], ["x"])).tensor("x", shape, dtype)


def condition(shape: tuple[int, ...] = (1,), dtype: Any = np.bool_) -> ModelBuilder:
    """Returns a graph that gives a constant."""
    builder = body().tensor("more", shape, dtype, data=np.zeros(shape))
    builder.border = (["x"], ["more"])
    return builder


def model(
    kind: str, called: list[ModelBuilder], options: dict[str, int], flag: Any = np.bool_, flags: tuple[int, ...] = (1,)
) -> bytes:
    builder = ModelBuilder(called=called).tensor("flag", flags, flag)
    builder.tensor("x", (4,), np.int32).tensor("y", (4,), np.int32)
    operands = ["flag", "x"] if kind == "IF" else ["x"]
    return builder.op(kind, operands, ["y"], options).build(["flag", "x"], ["y"])


def refused(data: bytes) -> str:
    with pytest.raises(ModelError) as caught:
        load(data)
    return str(caught.value).removeprefix("model (bytes): ")


def test_what_is_right_is_read() -> None:
    assert [node.op for node in load(model("IF", [body(), body()], IF)).nodes] == ["if"]
    graph = load(model("WHILE", [condition(), body()], WHILE), name="net")
    assert [node.op for node in graph.nodes] == ["while"]
    assert [each.name for each in graph.nodes[0].attrs.bodies.values()] == ["net_subgraph_1", "net_subgraph_2"]
    assert graph.notes == []


def _with(builder: ModelBuilder, inputs: list[str], outputs: list[str]) -> ModelBuilder:
    builder.border = (inputs, outputs)
    return builder


CASES = {
    "condition of another type": (
        model("IF", [body(), body()], IF, np.int8),
        "the condition, got int8[1], expected one bool",
    ),
    "condition of two elements": (
        model("IF", [body(), body()], IF, flags=(2,)),
        "the condition, got bool[2], expected one bool",
    ),
    "branch without an input": (
        model("IF", [_with(body().tensor("c", (4,), np.int32, data=[1] * 4), [], ["c"]), body()], IF),
        "operands of the then branch, got 1, expected 0",
    ),
    "branch with two outputs": (
        model("IF", [body(), _with(body(), ["x"], ["x", "x"])], IF),
        "results of the else branch, got 1, expected 2",
    ),
    "branch of another shape": (
        model("IF", [body(), body((5,))], IF),
        "number 0, got int32[4], expected the element type and as many elements as int32[5]. A value must keep its",
    ),
    "branch of another type": (
        model("IF", [body(dtype=np.float32), body()], IF),
        "operands of the then branch: number 0, got int32[4], expected the element type and as many elements as flo",
    ),
    "condition of a loop of another type": (
        model("WHILE", [condition(dtype=np.int32), body()], WHILE),
        "the result of the condition, got int32[1], expected one bool",
    ),
    "loop whose value grows": (
        model("WHILE", [condition(), _with(body().tensor("c", (8,), np.int32, data=[1] * 8), ["x"], ["c"])], WHILE),
        "results of the body: number 0, got int32[4], expected the element type and as many elements as int32[8]",
    ),
    "subgraph that does not exist": (
        model("IF", [body()], IF),
        "calls subgraph 2 of 2, expected one from 1 on",
    ),
    "the model itself": (
        model("IF", [body(), body()], {"ThenSubgraphIndex": 0, "ElseSubgraphIndex": 1}),
        "calls subgraph 0 of 3, expected one from 1 on",
    ),
    "no outputs": (
        model("IF", [body(), _with(body(), ["x"], [])], IF),
        "subgraph 2's outputs: got none, expected at least 1",
    ),
    "input that holds values": (
        model("IF", [_with(ModelBuilder().tensor("x", (4,), np.int32, data=[0] * 4), ["x"], ["x"]), body()], IF),
        "subgraph 1's input x: holds constant values, expected none",
    ),
    "operator that is not supported": (
        model("IF", [body().tensor("z", (4,), np.int32).op("WHERE", ["x"], ["z"]), body()], IF),
        "subgraph 1, node 0 WHERE: operator is not supported",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refusals(name: str) -> None:
    data, expected = CASES[name]
    assert expected in refused(data)


def test_recursion_is_refused() -> None:
    builder = body().tensor("f", (1,), np.bool_, data=[True]).tensor("y", (4,), np.int32)
    again = _with(builder.op("IF", ["f", "x"], ["y"], IF), ["x"], ["y"])
    assert refused(model("IF", [again, body()], IF)) == (
        "subgraph 1, node 0 IF: calls subgraph 1, which contains this call, expected no recursion. Write a loop"
    )


def _chain(depth: int, calls: int) -> bytes:
    """Returns a model in which each subgraph calls the next one several times."""
    called = []
    for number in range(1, depth):
        inner = body().tensor("f", (1,), np.bool_, data=[True])
        options = {"ThenSubgraphIndex": number + 1, "ElseSubgraphIndex": number + 1}
        for call in range(calls):
            inner.tensor(f"y{call}", (4,), np.int32).op("IF", ["f", "x"], [f"y{call}"], options)
        called.append(_with(inner, ["x"], ["y0"]))
    return model("IF", [*called, body()], {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 1})


def test_depth_is_limited() -> None:
    assert load(_chain(tflite_control.MOST_DEPTH, 1)).nodes
    assert "calls subgraph 9 within 8 calls, expected at most 8" in refused(_chain(tflite_control.MOST_DEPTH + 1, 1))


def test_the_number_of_calls_is_limited() -> None:
    text = refused(_chain(5, 6))
    assert "calls of subgraphs within calls, got" in text
    assert f"expected at most {tflite_control.MOST_CALLS}. Export the model with fewer" in text

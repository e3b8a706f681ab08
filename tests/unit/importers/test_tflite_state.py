"""State in TFLite files: what a run reads that the run before has left, and files that misuse it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from aboard.errors import ModelError
from aboard.importers import load
from aboard.ir import Array, Attributes, Node, TensorType
from aboard.ops import Op, SourceNode, registry
from support import models, oracle, streams
from support.streams import QUANT, Stream

STEPS = streams.draws([(1, 4)], 5)
RAMP = np.array([[1, 2, 3, 4]], np.int8)


def check(model: bytes, steps: Sequence[Sequence[np.ndarray]] = STEPS) -> None:
    """Fails unless the graph computes what the reference does, run by run."""
    pairs = zip(streams.evaluated(model, steps), oracle.tflm_steps(model, steps), strict=True)
    for number, (got, expected) in enumerate(pairs):
        for mine, wanted in zip(got, expected, strict=True):
            np.testing.assert_array_equal(mine, wanted, err_msg=f"step {number}")


def refused(model: bytes) -> str:
    with pytest.raises(ModelError) as caught:
        load(model)
    return str(caught.value).removeprefix("model (bytes): ")


# Resource variables.


def test_a_sum_over_runs() -> None:
    model = streams.accumulator()
    (state,) = load(model).states
    assert (state.name, state.read.name, state.write.name) == ("sum", "s", "y")
    assert state.initial.tolist() == [[3, 3, 3, 3]], "the zero point, as the reference has it"
    check(model)


def test_initial_values_of_call_once() -> None:
    model = streams.accumulator(RAMP)
    graph = load(model)
    assert graph.states[0].initial.tolist() == RAMP.tolist()
    assert [node.op for node in graph.nodes] == ["add"]
    assert graph.notes == []
    check(model)


def test_windows_over_a_stream() -> None:
    model = streams.window()
    assert [state.name for state in load(model).states] == ["stream0", "stream1"]
    check(model, streams.draws([(1, 2, 1, 6)], 6))


def test_a_computed_initial_value() -> None:
    further = Stream().quantised("a", "b").tensor("c", (1, 4), np.int8, data=RAMP, **QUANT)
    further.op("ADD", ["c", "c"], ["a"], {}).op("RELU", ["a"], ["b"])
    further.assign("sum", "b")
    build = Stream(called=[further]).quantised("x", "s", "y")
    build.op("CALL_ONCE", [], [], {"InitSubgraphIndex": 1}).read("sum", "s").op("ADD", ["x", "s"], ["y"], {})
    model = build.assign("sum", "y").build(["x"], ["y"])
    check(model)


def test_a_read_after_an_assignment_gives_the_assigned_value() -> None:
    build = Stream().quantised("x", "s", "t", "u", "y")
    build.read("v", "s").op("ADD", ["x", "s"], ["t"], {}).assign("v", "t")
    build.read("v", "u").op("ADD", ["u", "x"], ["y"], {})
    check(build.build(["x"], ["y", "u", "s"]))


def test_the_last_assignment_counts() -> None:
    build = Stream().quantised("x", "s", "y")
    build.read("v", "s").assign("v", "x").op("ADD", ["x", "s"], ["y"], {}).assign("v", "y")
    check(build.build(["x"], ["y"]))


def test_two_reads_and_another_quantisation() -> None:
    build = Stream().quantised("x", "s", "y", "z").tensor("t", (1, 4), np.int8, scale=0.25, zero_point=-7)
    build.read("v", "s").read("v", "t").op("ADD", ["s", "t"], ["y"], {}).op("RELU", ["t"], ["z"])
    check(build.assign("v", "x").build(["x"], ["y", "z"]))


def test_a_delay_line_assigns_inputs_states_and_constants() -> None:
    build = Stream().quantised("x", "a", "b", "c", "y", "z").tensor("k", (1, 4), np.int8, data=RAMP, **QUANT)
    for name in "abc":
        build.read(name, name)
    build.op("ADD", ["a", "b"], ["y"], {}).op("ADD", ["y", "c"], ["z"], {})
    build.assign("b", "a").assign("a", "x").assign("c", "k")
    model = build.build(["x"], ["z", "b"])
    check(model)
    assert [state.write.name for state in load(model).states] == ["a/next", "b/next", "c/next"]


def test_a_state_that_is_assigned_what_was_read() -> None:
    build = Stream().quantised("x", "s", "y").initial("v", RAMP)
    model = build.read("v", "s").assign("v", "s").op("ADD", ["x", "s"], ["y"], {}).build(["x"], ["y"])
    assert not load(model).states[0].changes
    check(model)


def test_a_variable_that_is_assigned_before_it_is_read_is_no_state() -> None:
    build = Stream().quantised("x", "s", "y")
    model = build.assign("v", "x").read("v", "s").op("ADD", ["x", "s"], ["y"], {}).build(["x"], ["y"])
    assert load(model).states == []
    check(model)


def test_containers_are_parts_of_names() -> None:
    build = Stream().quantised("x", "s", "t", "y")
    for container, tensor in (("left", "s"), ("right", "t")):
        handle = build.handle("v", container)
        build.op("READ_VARIABLE", [handle], [tensor]).op("ASSIGN_VARIABLE", [handle, "x"], [])
    model = build.op("SUB", ["s", "t"], ["y"], {}).build(["x"], ["y"])
    assert [state.name for state in load(model).states] == ["left/v", "right/v"]


@pytest.mark.parametrize("name", models.available(["wake_jarvis", "wake_vad"]))
def test_real_models(name: str) -> None:
    data = models.read(name)
    check(data, streams.draws([load(data).inputs[0].shape], 3))


# Variable tensors.


def test_variable_tensors_start_at_their_zero_point() -> None:
    build = Stream().quantised("x", "y").tensor("v", (1, 4), np.int8, variable=True, **QUANT)
    model = build.op("ADD", ["x", "v"], ["y"], {}).build(["x"], ["y"])
    (state,) = load(model).states
    assert (state.name, state.changes, state.initial.tolist()) == ("v", False, [[3, 3, 3, 3]])
    check(model)


def test_a_variable_tensor_keeps_what_an_operator_computes() -> None:
    build = Stream().quantised("x", "y", "z").tensor("v", (1, 4), np.int8, variable=True, **QUANT)
    build.op("ADD", ["x", "v"], ["y"], {}).op("RELU", ["y"], ["v"]).op("ADD", ["v", "x"], ["z"], {})
    model = build.build(["x"], ["z"])
    (state,) = load(model).states
    assert (state.read.name, state.write.name) == ("v", "v_2")
    check(model)


def test_an_operator_that_changes_a_variable_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    class Delay(Op):
        """result = state; next state = operand."""

        name = "delay"
        tflite = ("SIGN",)
        tflite_updates = (1,)

        def from_tflite(self, source: SourceNode) -> Node:
            return source.node(self.name, source.inputs, Attributes())

        def infer(self, node: Node) -> list[TensorType]:
            return [node.input(1).type, node.input(0).type]

        def verify(self, node: Node) -> None:
            assert len(node.outputs) == 2

        def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
            return [np.asarray(operands[1]), np.asarray(operands[0])]

    monkeypatch.setitem(registry._all(), "delay", Delay())
    build = Stream().quantised("x", "y").tensor("v", (1, 4), np.int8, variable=True, **QUANT)
    model = build.op("SIGN", ["x", "v"], ["y"]).build(["x"], ["y"])
    (state,) = load(model).states
    assert (state.read.name, state.write.name) == ("v", "v_2")
    outputs = [step[0] for step in streams.evaluated(model, STEPS)]
    assert outputs[0].tolist() == [[3, 3, 3, 3]]
    np.testing.assert_array_equal(np.stack(outputs[1:]), np.stack([x for (x,) in STEPS[:-1]]))
    wrong = Stream().quantised("x", "y", "v").op("SIGN", ["x", "v"], ["y"]).build(["x", "v"], ["y"])
    assert refused(wrong) == (
        "node 0 SIGN: operand 1, got tensor 2 (v), expected a variable tensor. Export the model again"
    )


# What is refused.


def base() -> Stream:
    return Stream().quantised("x", "s", "y").op("RELU", ["x"], ["y"])  # type: ignore[return-value]


def unknown_handle(build: Stream) -> None:
    build.op("ASSIGN_VARIABLE", ["s", "x"], [])


def unknown_handle_read(build: Stream) -> None:
    build.op("READ_VARIABLE", ["x"], ["s"])


def missing_subgraph(build: Stream) -> None:
    build.op("CALL_ONCE", [], [], {"InitSubgraphIndex": 7})


def negative_subgraph(build: Stream) -> None:
    build.op("CALL_ONCE", [], [], {"InitSubgraphIndex": -1})


def itself(build: Stream) -> None:
    build.op("CALL_ONCE", [], [], {"InitSubgraphIndex": 0})


def cycle(build: Stream) -> None:
    build.called.append(Stream().op("CALL_ONCE", [], [], {"InitSubgraphIndex": 1}))  # type: ignore[arg-type]
    build.op("CALL_ONCE", [], [], {"InitSubgraphIndex": 1})


def called_twice(build: Stream) -> None:
    build.initial("v", RAMP).op("CALL_ONCE", [], [], {"InitSubgraphIndex": 1})


def two_initialisers(build: Stream) -> None:
    build.initial("v", RAMP).initial("v", RAMP)


def initialised_late(build: Stream) -> None:
    build.read("v", "s").initial("v", RAMP)


def initialised_by_a_variable(build: Stream) -> None:
    further = Stream().quantised("a")
    build.called.append(further.read("w", "a"))
    build.op("CALL_ONCE", [], [], {"InitSubgraphIndex": 1})


def never_assigned(build: Stream) -> None:
    build.read("v", "s")


def other_shape(build: Stream) -> None:
    build.quantised("t", shape=(1, 5))
    build.read("v", "s").tensor("k", (1, 5), np.int8, data=[[1, 2, 3, 4, 5]], **QUANT)
    build.assign("v", "k")


def other_type_of_a_read(build: Stream) -> None:
    build.tensor("t", (1, 4), np.int16, scale=0.5)
    build.assign("v", "x").read("v", "t")


def other_initial_shape(build: Stream) -> None:
    build.initial("v", np.zeros((2, 2), np.int8)).read("v", "s").assign("v", "x")


def wrong_operands(build: Stream) -> None:
    build.op("ASSIGN_VARIABLE", [build.handle("v")], [])


def absent_operand(build: Stream) -> None:
    build.op("ASSIGN_VARIABLE", [build.handle("v"), -1], [])


def wrong_table(build: Stream) -> None:
    build.tensor("h", (), np.int32, type_number=13)
    build.op("VAR_HANDLE", [], ["h"], {}, options_type="AddOptions")


def handle_as_operand(build: Stream) -> None:
    build.quantised("z").op("ADD", ["x", build.handle("v")], ["z"], {})


def filled_variable(build: Stream) -> None:
    build.quantised("z").tensor("v", (1, 4), np.int8, variable=True, data=RAMP, **QUANT)
    build.op("ADD", ["x", "v"], ["z"], {})


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (unknown_handle, "node 1 ASSIGN_VARIABLE: tensor 1 (s) is no variable, expected the result of VAR_HANDLE."),
        (unknown_handle_read, "node 1 READ_VARIABLE: tensor 0 (x) is no variable, expected the result of VAR_HANDLE."),
        (missing_subgraph, "node 1 CALL_ONCE: calls subgraph 7 of 1, expected one from 1 on. Export"),
        (negative_subgraph, "node 1 CALL_ONCE: calls subgraph -1 of 1, expected one from 1 on. Export"),
        (itself, "node 1 CALL_ONCE: calls subgraph 0 of 1, expected one from 1 on. Export"),
        (
            cycle,
            "subgraph 1, node 0 CALL_ONCE: is inside of a subgraph that an operator calls, expected it in the model",
        ),
        (called_twice, "node 2 CALL_ONCE: calls subgraph 1, which another CALL_ONCE calls, expected one of them."),
        (
            two_initialisers,
            "subgraph 2, node 1 ASSIGN_VARIABLE: variable v has an initial value already, expected one.",
        ),
        (
            initialised_late,
            "subgraph 1, node 1 ASSIGN_VARIABLE: variable v is used before CALL_ONCE sets its initial value",
        ),
        (initialised_by_a_variable, "subgraph 1, node 1 READ_VARIABLE: an initial value depends on a variable."),
        (never_assigned, "variable v: is read, and no operator assigns a value. Export the model again"),
        (other_shape, "node 4 ASSIGN_VARIABLE: type of v, got int8[1x5] q(0.5, 3), expected int8[1x4] q(0.5, 3)."),
        (other_type_of_a_read, "node 4 READ_VARIABLE: type of v, got int16[1x4] q(0.5, 0), expected int8[1x4]"),
        (other_initial_shape, "variable v: initial value, got int8[2x2] q(0.5, 3), expected int8[1x4] q(0.5, 3)."),
        (wrong_operands, "node 2 ASSIGN_VARIABLE: operands and results, got (1, 0), expected (2, 0) tensors."),
        (absent_operand, "node 2 ASSIGN_VARIABLE: operands and results, got (2, 0), expected (2, 0) tensors."),
        (wrong_table, "node 1 VAR_HANDLE: options table, got AddOptions, expected VarHandleOptions."),
        (handle_as_operand, "node 2 ADD: reads tensor 4 (handle4), the handle of a variable, expected values."),
        (filled_variable, "node 1 ADD: tensor 4 (v) is a variable and holds constant values, expected none."),
    ],
)
def test_misuse_is_refused(spoil: Callable[[Stream], None], words: str) -> None:
    build = base()
    spoil(build)
    assert refused(build.build(["x"], ["y"])).startswith(words)


def test_an_initialising_subgraph_has_no_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    build = base()
    build.subgraphs = 2
    build.op("CALL_ONCE", [], [], {"InitSubgraphIndex": 1})
    text = refused(build.build(["x"], ["y"]))
    assert text.startswith("node 1 CALL_ONCE: inputs of the initialising subgraph 1, got 1, expected none.")


def test_an_initial_value_is_constant() -> None:
    build = base()
    further = Stream().quantised("a").tensor("v", (1, 4), np.int8, variable=True, **QUANT)
    further.op("ADD", ["v", "v"], ["a"], {})
    build.called.append(further)
    build.op("CALL_ONCE", [], [], {"InitSubgraphIndex": 1})
    assert refused(build.build(["x"], ["y"])).startswith("subgraph 1, node 0 ADD: an initial value is not constant.")

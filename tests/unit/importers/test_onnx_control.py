"""If, Loop and Scan of ONNX, operators that the standard defines by others, and tensors without elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from aboard.importers import load
from support.examples import examples
from support.onnx_models import check, evaluated, model, node, refusal, unchecked

X = np.linspace(-2, 3, 6, dtype=np.float32).reshape(3, 2)


def body(nodes: Sequence[onnx.NodeProto], inputs: Sequence[str], outputs: Sequence[str], **constants: np.ndarray):
    """Returns an inner graph; names stand for float32, except `i`, an int64, and `more`, a bool."""
    kinds = {"i": (TensorProto.INT64, []), "more": (TensorProto.BOOL, []), "again": (TensorProto.BOOL, [])}
    described = [
        [helper.make_tensor_value_info(name, *kinds.get(name, (TensorProto.FLOAT, None))) for name in names]
        for names in (inputs, outputs)
    ]
    for value in (value for values in described for value in values if value.name not in kinds):
        value.type.tensor_type.shape.SetInParent()
        value.type.tensor_type.shape.dim.add(dim_param=f"{value.name}_size")
    stored = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    return helper.make_graph(list(nodes), "body", *described, stored)


def branches(condition: str = "flag") -> onnx.NodeProto:
    then = body([node("Mul", "x two", "t")], [], ["t"], two=np.array(2, np.float32))
    otherwise = body([node("Neg", "x", "e")], [], ["e"])
    return node("If", condition, then_branch=then, else_branch=otherwise)


@pytest.mark.parametrize("flag", [True, False])
def test_a_known_condition_takes_one_branch(flag):
    data = unchecked([branches()], {"x": X}, "y", {"flag": np.array(flag)})
    assert [each.op for each in load(data).nodes] == ["mul" if flag else "neg"]
    np.testing.assert_array_equal(evaluated(data, {"x": X})[0], 2 * X if flag else -X)


@pytest.mark.parametrize("flag", [True, False])
def test_a_condition_of_run_time_selects(flag):
    feed = {"flag": np.array([flag]), "x": X}
    data = unchecked([branches()], feed, "y")
    check(data, feed, wanted=[2 * X if flag else -X], compiled=True)


def test_branches_of_two_shapes_are_refused():
    then = body([node("Identity", "x", "t")], [], ["t"])
    otherwise = body([node("Transpose", "x", "e")], [], ["e"])
    nodes = [node("If", "flag", then_branch=then, else_branch=otherwise)]
    message = refusal(unchecked(nodes, {"flag": np.array([True]), "x": X}, "y"))
    assert "results of branches, got float32[3x2] and float32[2x3], expected one shape and type" in message


def loop(again: str = "more") -> onnx.NodeProto:
    """Returns a loop that adds its row of a table to a state, and notes the states."""
    nodes = [node("Identity", again, "again"), node("Gather", "table i", "row"), node("Add", "state row", "next")]
    nodes.append(node("Identity", "next", "noted"))
    inner = body(nodes, ["i", "more", "state"], ["again", "next", "noted"])
    return node("Loop", "count _ start", "last all", body=inner)


@given(st.integers(1, 5))
@settings(max_examples=examples(20), deadline=None)
def test_a_loop_of_known_length(count):
    table, start = np.arange(10, dtype=np.float32).reshape(5, 2), np.ones(2, np.float32)
    data = unchecked([loop()], {"start": start}, "last all", {"count": np.array(count), "table": table})
    sums = 1 + np.cumsum(table[:count], axis=0)
    check(data, {"start": start}, wanted=[sums[-1], sums])


def test_a_loop_ends_when_its_condition_is_false():
    inner = body(
        [node("Less", "i two", "again"), node("Add", "state state", "next")],
        ["i", "more", "state"],
        ["again", "next"],
        two=np.array(2, np.int64),
    )
    data = unchecked([node("Loop", "_ yes start", "y", body=inner)], {"start": X[0]}, "y", {"yes": np.array(True)})
    np.testing.assert_array_equal(evaluated(data, {"start": X[0]})[0], 8 * X[0])


@pytest.mark.parametrize("is_reverse", [False, True])
def test_a_scan_as_c(is_reverse):
    inner = body([node("Add", "state row", "next"), node("Mul", "next row", "product")], ["state", "row"], [])
    inner.output.extend(body([], [], ["next", "product"]).output)
    way = int(is_reverse)
    scan = node(
        "Scan", "start x", "y z", num_scan_inputs=1, body=inner, scan_input_directions=[way], scan_output_axes=[1]
    )
    feed = {"start": np.ones(2, np.float32), "x": X}
    rows = X[::-1] if is_reverse else X
    sums = 1 + np.cumsum(rows, axis=0, dtype=np.float32)
    data = unchecked([scan], feed, "y z")
    check(data, feed, wanted=[sums[-1], (sums * rows).T], compiled=True)


def scanned(**attributes) -> str:
    """Returns why a scan over two operands is refused."""
    inner = body([node("Add", "a b", "sum")], ["a", "b"], ["sum"])
    feed = {"x": X, "z": attributes.pop("z", X)}
    return refusal(unchecked([node("Scan", "x z", "y", num_scan_inputs=2, body=inner, **attributes)], feed, "y"))


def test_loops_that_are_refused():
    table, start = np.zeros((5, 2), np.float32), np.ones(2, np.float32)
    counted = {"count": np.array([2]), "start": start}
    message = "iterations, got a number or condition that is computed at run time, expected a constant"
    assert message in refusal(unchecked([loop()], counted, "last all", {"table": table}))
    many = refusal(unchecked([loop()], {"start": start}, "last all", {"count": np.array(5000), "table": table}))
    assert "iterations, got 5,000 of 4 nodes, expected at most 1,024" in many
    none = refusal(unchecked([loop()], {"start": start}, "last all", {"count": np.array(0), "table": table}))
    assert "rows of a loop's result, got shapes [], expected one shape for all" in none
    assert "steps of scanned operands, got [2, 3], expected one number" in scanned(scan_input_axes=[0, 1])
    assert "axis, got 2, expected a number in [-2, 1]" in scanned(scan_input_axes=[2, 2])
    assert "scan_output_directions, got [0, 0], expected 1 numbers" in scanned(scan_output_directions=[0, 0])


def test_an_unknown_operator_inside_is_named():
    inner = body([node("NonZero", "row", "next")], ["row"], ["next"])
    message = refusal(unchecked([node("Scan", "x", "y", num_scan_inputs=1, body=inner)], {"x": X}, "y"))
    assert "inside Scan, node 0 NonZero: operator is not supported" in message


def test_a_problem_before_a_loop_is_reported_once():
    table, start = np.zeros((5, 2), np.float32), np.ones(2, np.float32)
    nodes = [node("NonZero", "start", "table"), loop()]
    message = refusal(unchecked(nodes, {"start": start}, "last all", {"count": np.array(2)}))
    assert "node 0 NonZero: operator is not supported" in message
    assert "Loop" not in message
    assert table.size


def test_definitions_with_an_absent_operand_and_with_defaults():
    rng = np.random.default_rng(0)
    x, past = (rng.normal(0, 1, shape).astype(np.float32) for shape in ((1, 4, 8), (1, 4, 2)))
    kernel = rng.normal(0, 1, (4, 1, 3)).astype(np.float32)
    feed = {"x": x, "past": past}
    data = model([node("CausalConvWithState", "x w _ past", "y state")], feed, {"w": kernel}, opset=27)
    check(data, feed, compiled=True)


def test_tensors_without_elements_are_joined_with_others():
    sizes, ends = np.array([3, 0], np.int64), np.array([0], np.int64)
    nodes = [node("Split", "x sizes", "a b"), node("Slice", "x zero ends", "c"), node("Concat", "c a b", axis=0)]
    data = model(nodes, {"x": X}, {"sizes": sizes, "zero": ends, "ends": ends})
    np.testing.assert_array_equal(evaluated(data, {"x": X})[0], X)


def test_tensors_without_elements_are_refused_elsewhere():
    ends = np.array([0], np.int64)
    constants = {"zero": ends, "ends": ends}
    cut = node("Slice", "x zero ends", "c")
    assert "got float32[0x2], expected float32 with elements" in refusal(model([cut], {"x": X}, constants))
    nodes = [cut, node("MatMul", "c t")]
    feed = {"x": X, "t": X.T.copy()}
    message = refusal(model(nodes, feed, constants))
    assert "operands or results, got one of shape [0, 2], expected elements" in message

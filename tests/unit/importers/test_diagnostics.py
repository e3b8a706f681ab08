"""One cause gives one line, whatever the number of operators that have it."""

import re

import numpy as np
import pytest
import tflite

from aboard.errors import ModelError
from aboard.importers import load
from aboard.importers.diagnostics import Diagnostics
from support.tflite_builder import ModelBuilder


def message(model: bytes) -> str:
    with pytest.raises(ModelError) as caught:
        load(model)
    return str(caught.value)


def test_nothing_noted_raises_nothing() -> None:
    Diagnostics("m.tflite").report()


def test_one_problem_stands_in_the_first_line() -> None:
    problems = Diagnostics("m.tflite")
    problems.add("node 1 ADD", "alpha, got 3, expected 4. Change it")
    problems.add("node 1 ADD", "alpha, got 3, expected 4. Change it")
    with pytest.raises(ModelError) as caught:
        problems.report()
    assert str(caught.value) == "m.tflite: node 1 ADD: alpha, got 3, expected 4. Change it"


def test_names_figures_and_findings_do_not_make_another_cause() -> None:
    problems = Diagnostics("m.tflite")
    problems.add("node 1 ADD", "scale of a_1, got 3, expected [1, 2]. Change it", ["a", "a_1"])
    problems.add("node 2 SUB", "scale of b, got nan, expected [1, 4]. Change it", ["b", ""])
    problems.add("node 3 SUB", "axis of b, got 5, expected [1, 4]. Change it", ["b"])
    with pytest.raises(ModelError) as caught:
        problems.report()
    assert str(caught.value).splitlines() == [
        "m.tflite: 2 problems, all of which have to be solved:",
        "  node 1 ADD: scale of a_1, got 3, expected [1, 2]. Change it. The same at node 2 SUB",
        "  node 3 SUB: axis of b, got 5, expected [1, 4]. Change it",
    ]


def test_a_line_names_the_first_few_and_counts_the_rest() -> None:
    problems = Diagnostics("m.tflite")
    for number in range(6):
        problems.add(f"node {number} ADD", f"scale, got {number}, expected 7. Change it")
    with pytest.raises(ModelError) as caught:
        problems.report()
    assert str(caught.value).endswith("Change it. The same at node 1 ADD, node 2 ADD, node 3 ADD and 2 more")


def test_operators_that_are_not_supported_are_one_line_by_kind() -> None:
    builder = ModelBuilder()
    for index in range(5):
        builder.tensor(f"t{index}", (1, 4), np.float32)
    for index, kind in enumerate(("SIGN", "ATAN2", "SIGN", "SIGN")):
        builder.op(kind, [index], [index + 1])
    text = message(builder.build(["t0"], ["t4"]))
    kinds = "4 operators are not supported: SIGN (3 times, first node 0), ATAN2 (node 1)"
    assert text == f"model (bytes): {kinds}. `aboard ops` lists the supported operators"


def test_element_types_that_no_operator_takes_are_one_cause() -> None:
    """Of a model of TensorFlow 1, which is uint8 throughout."""
    builder = ModelBuilder()
    for name, shape in (("x", (1, 4, 4, 2)), ("a", (1, 4, 4, 2)), ("b", (1, 2, 2, 2)), ("y", (1, 2, 2, 2))):
        builder.tensor(name, shape, np.uint8, scale=0.5, zero_point=128)
    builder.tensor("w", (2, 1, 1, 2), np.uint8, scale=0.1, data=np.zeros((2, 1, 1, 2)))
    builder.op("CONV_2D", ["x", "w"], ["a"], {"StrideH": 1, "StrideW": 1})
    builder.op(
        "AVERAGE_POOL_2D",
        ["a"],
        ["b"],
        {"FilterHeight": 2, "FilterWidth": 2, "StrideH": 2, "StrideW": 2, "Padding": "VALID"},
    )
    builder.op("SOFTMAX", ["b"], ["y"], {"Beta": 1.0})
    text = message(builder.build(["x"], ["y"]))
    assert "\n" not in text
    assert re.match(r"model \(bytes\): node 0 CONV_2D: element types .*, got uint8, uint8, uint8, expected int8", text)
    assert text.endswith("The same at node 1 AVERAGE_POOL_2D, node 2 SOFTMAX")


def test_an_unsupported_operator_hides_what_is_odd_about_its_tensors() -> None:
    builder = ModelBuilder().tensor("x", (1, 4), np.float32).tensor("y", (1, 4), np.float32)
    builder.tensor("s", (1, 4), np.float32, variable=True)
    builder.tensor("t", (4,), np.int8, type_number=tflite.TensorType.STRING)
    text = message(builder.op("CUSTOM", ["x", "s", "t"], ["y"], custom="Mine").build(["x"], ["y"]))
    advice = "`aboard ops` lists the supported operators"
    assert text == f"model (bytes): node 0 CUSTOM Mine: operator is not supported. {advice}"

"""Which operator a file means, and whether its options are those of the operator."""

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import tflite

from aboard import ops
from aboard.errors import ModelError
from aboard.importers import load
from aboard.importers.tflite_options import expected_table, numbers
from support import models, oracle
from support.one_op import evaluate
from support.tflite_builder import ModelBuilder


def binary(kind: str, options_type: str | None = None) -> ModelBuilder:
    model = ModelBuilder()
    for name in "xzy":
        model.tensor(name, (1, 8), np.int8, scale=0.1, zero_point=3)
    return model.op(kind, ["x", "z"], ["y"], {}, options_type=options_type)


@pytest.mark.parametrize("fields", ["both", "old", "new"])
@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
def test_an_operator_is_the_same_whichever_field_names_it(kind: str, fields: str) -> None:
    builder = binary(kind)
    builder.code_fields = fields
    model = builder.build(["x", "z"], ["y"])
    assert [node.op for node in load(model).nodes] == [kind.lower()]
    rng = np.random.default_rng(1)
    x, z = rng.integers(-128, 128, (2, 1, 8)).astype(np.int8)
    np.testing.assert_array_equal(evaluate(model, x, z)[0], oracle.tflm(model, x, z)[0])


def test_a_custom_operator_in_the_new_field_alone_is_not_add() -> None:
    builder = ModelBuilder().tensor("x", (1, 4), np.float32).tensor("y", (1, 4), np.float32)
    builder.op("CUSTOM", ["x", "x"], ["y"], custom="Mine").code_fields = "new"
    with pytest.raises(ModelError, match="node 0 CUSTOM Mine: operator is not supported"):
        load(builder.build(["x"], ["y"]))


def irregular_accessors() -> set[str]:
    """Returns the accessors of the schema package that are not of one of the forms that flatc generates.

    Those read a field and return it, or the default. A form has at least two members in a package of 165 tables.
    """
    forms: dict[str, list[str]] = {}
    for path in Path(inspect.getfile(tflite)).parent.glob("[A-Z]*.py"):
        for cls in ast.parse(path.read_text()).body:
            for method in cls.body if isinstance(cls, ast.ClassDef) else ():
                if isinstance(method, ast.FunctionDef) and "BufferHasIdentifier" not in method.name:
                    body = ast.unparse(method.body).replace(cls.name, "Table")
                    body = re.sub(r"from tflite\.(\w+) import \1\n(\s*)obj = \1", r"import\n\2obj = Table", body)
                    form = re.sub(r"\w+Flags", "Flags", re.sub(r"\b\d+\b", "0", body))
                    forms.setdefault(form, []).append(f"{cls.name}.{method.name}")
    return {members[0] for members in forms.values() if len(members) == 1}


def test_the_schema_package_has_one_accessor_that_returns_another_field() -> None:
    assert irregular_accessors() == {"OperatorCode.BuiltinCode"}, "read the field itself, as tflite_file.py does"


# Options tables.


def test_every_supported_operator_has_its_table() -> None:
    """As TFLite's `flatbuffer_conversions.cc` has them."""
    without = {"BROADCAST_ARGS", "EMBEDDING_LOOKUP", "LOGISTIC", "RELU", "RELU6", "RELU_N1_TO_1", "TANH"}
    without |= {"CEIL", "ELU", "FLOOR", "LOG", "PRELU", "ROUND", "RSQRT", "SIN", "SQRT"}
    shared = dict.fromkeys(("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D"), "Pool2DOptions")
    shared |= dict.fromkeys(("MAXIMUM", "MINIMUM"), "MaximumMinimumOptions") | {"L2_NORMALIZATION": "L2NormOptions"}
    shared |= dict.fromkeys(("MEAN", "SUM", "REDUCE_ALL", "REDUCE_MAX", "REDUCE_MIN"), "ReducerOptions")
    for kind in ops.tflite_kinds():
        plain = kind.replace("_", "").lower() + "options"
        wanted = "NONE" if kind in without or kind.startswith("CUSTOM ") else shared.get(kind)
        assert expected_table(kind) == wanted or (wanted is None and expected_table(kind).lower() == plain), kind


def test_every_table_of_the_schema_belongs_to_an_operator() -> None:
    kinds = numbers(tflite.BuiltinOperator).values()
    tables = {*numbers(tflite.BuiltinOptions).values(), *numbers(tflite.BuiltinOptions2).values()}
    assert {expected_table(kind) for kind in kinds} == tables


@pytest.mark.parametrize(
    ("kind", "table", "expected"),
    [
        ("ADD", "MulOptions", "AddOptions"),
        ("MUL", "AddOptions", "MulOptions"),
        ("SUB", "Conv2DOptions", "SubOptions"),
    ],
)
def test_a_table_of_another_operator_is_refused(kind: str, table: str, expected: str) -> None:
    model = binary(kind, table).build(["x", "z"], ["y"])
    words = rf"^model \(bytes\): node 0 {kind}: options table, got {table}, expected {expected}\. The file is corrupt"
    with pytest.raises(ModelError, match=words):
        load(model)


def test_a_table_where_the_operator_has_none_is_refused() -> None:
    builder = ModelBuilder().tensor("x", (1, 4), np.float32).tensor("y", (1, 4), np.float32)
    model = builder.op("RELU", ["x"], ["y"], options_type="LeakyReluOptions").build(["x"], ["y"])
    with pytest.raises(ModelError, match="node 0 RELU: options table, got LeakyReluOptions, expected NONE"):
        load(model)


def test_a_table_of_the_second_union_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def second(builder: object, _number: int) -> None:
        tflite.OperatorAddBuiltinOptions2Type(builder, tflite.BuiltinOptions2.DilateOptions)

    monkeypatch.setattr(tflite, "OperatorAddBuiltinOptionsType", second)
    model = binary("ADD").build(["x", "z"], ["y"])
    monkeypatch.undo()
    with pytest.raises(ModelError, match="node 0 ADD: options table, got DilateOptions, expected AddOptions"):
        load(model)


def test_a_table_that_is_newer_than_the_schema_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tflite.BuiltinOptions, "AddOptions", 200)
    model = binary("ADD").build(["x", "z"], ["y"])
    monkeypatch.undo()
    with pytest.raises(ModelError, match="options table, got table number 200, expected AddOptions"):
        load(model)


@pytest.mark.parametrize("kind", ["ADD", "AVERAGE_POOL_2D", "LEAKY_RELU"])
def test_a_table_that_is_left_out_has_the_defaults(kind: str) -> None:
    builder = ModelBuilder()
    for name in "xzy":
        builder.tensor(name, (1, 4, 4, 1), np.int8, scale=0.1, zero_point=3)
    inputs = ["x", "z"] if kind == "ADD" else ["x"]
    builder.op(kind, inputs, ["y"])
    builder._operators[0].options_name = None
    model = builder.build(inputs, ["y"])
    if kind == "AVERAGE_POOL_2D":
        with pytest.raises(ModelError, match=r"strides, dilations and window, got \(0, 0\), \(1, 1\) and \(0, 0\)"):
            load(model)
    else:
        assert load(model).nodes[0].op == kind.lower()


@pytest.mark.parametrize("name", models.available([models.SHIPPED, *models.INT8, *models.FLOAT, *models.HYBRID]))
def test_no_real_model_states_a_table_of_another_operator(name: str) -> None:
    assert load(models.path(name)).nodes

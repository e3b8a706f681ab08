"""Arithmetic on shapes is done when a file is read, so that Keras' Flatten is a RESHAPE."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aboard.errors import ModelError
from aboard.importers import load
from support import models, one_op, oracle, streams
from support.tflite_builder import ModelBuilder

QUANT = {"scale": 0.5, "zero_point": 3}


def flatten() -> ModelBuilder:
    """Returns Flatten as Keras' converter writes it."""
    build = ModelBuilder().tensor("x", (1, 2, 3, 4), np.int8, signature=(-1, 2, 3, 4), **QUANT)
    build.tensor("shape", (4,), np.int32).tensor("zero", (1,), np.int32, data=[0]).tensor(
        "one", (1,), np.int32, data=[1]
    )
    build.tensor("batch", (), np.int32).tensor("rest", (), np.int32, data=[24]).tensor("wanted", (2,), np.int32)
    build.tensor("y", (1, 24), np.int8, signature=(-1, 24), **QUANT)
    build.op("SHAPE", ["x"], ["shape"], {"OutType": "INT32"})
    build.op("STRIDED_SLICE", ["shape", "zero", "one", "one"], ["batch"], {"ShrinkAxisMask": 1})
    build.op("PACK", ["batch", "rest"], ["wanted"], {"ValuesCount": 2})
    return build.op("RESHAPE", ["x", "wanted"], ["y"], {})


def test_flatten_is_a_reshape() -> None:
    model = flatten().build(["x"], ["y"])
    graph = load(model)
    assert [node.op for node in graph.nodes] == ["reshape"]
    assert graph.nodes[0].sources == (3,)
    one_op.check_equal(model, np.arange(24, dtype=np.int8).reshape(1, 2, 3, 4))


def test_a_computed_shape_may_be_an_output() -> None:
    graph = load(flatten().build(["x"], ["y", "wanted"]))
    values = streams.evaluated(flatten().build(["x"], ["y", "wanted"]), [[np.zeros((1, 2, 3, 4), np.int8)]])
    assert values[0][1].tolist() == [1, 24]
    assert graph.outputs[1].dtype.value == "int32"


@pytest.mark.parametrize("name", models.available(["keras_mnist"]))
def test_real_models(name: str) -> None:
    data = models.read(name)
    rng = np.random.default_rng(0)
    x = rng.integers(-128, 128, load(data).inputs[0].shape).astype(np.int8)
    np.testing.assert_array_equal(streams.evaluated(data, [[x]])[0][0], oracle.tflm(data, x)[0])


def computed(kind: str, operands: list[Any], shape: tuple[int, ...], options: dict[str, Any], dtype: Any) -> np.ndarray:
    """Returns the result of an operator with constant operands."""
    build = ModelBuilder().tensor("x", (1, 4), np.int8, **QUANT).tensor("y", (1, 4), np.int8, **QUANT)
    names = []
    for value in operands:
        array = np.array(value, np.int32) if not isinstance(value, np.ndarray) else value
        names.append(f"c{len(names)}")
        build.tensor(names[-1], array.shape, array.dtype, data=array)
    build.tensor("r", shape, dtype).op("RELU", ["x"], ["y"]).op(kind, names, ["r"], options)
    return streams.evaluated(build.build(["x"], ["y", "r"]), [[np.zeros((1, 4), np.int8)]])[0][1]


BIG = 2**31 - 1
CASES: list[tuple[str, list[Any], dict[str, Any], Any]] = [
    ("RANK", [[[1, 2], [3, 4]]], {}, 2),
    ("SHAPE", [[[1, 2], [3, 4], [5, 6]]], {}, [3, 2]),
    ("ADD", [[1, BIG], [2, 1]], {}, [3, -(2**31)]),
    ("SUB", [[1, 2], 5], {}, [-4, -3]),
    ("MUL", [[3, 1 << 20], [4, 1 << 20]], {}, [12, 0]),
    ("DIV", [[7, -7, 7], [2, 2, -2]], {}, [3, -3, -3]),
    ("FLOOR_DIV", [[7, -7, 7], [2, 2, -2]], {}, [3, -4, -4]),
    ("FLOOR_MOD", [[7, -7], 3], {}, [1, 2]),
    ("MAXIMUM", [[1, 9], [5, 5]], {}, [5, 9]),
    ("MINIMUM", [[1, 9], [5, 5]], {}, [1, 5]),
    ("GATHER", [[5, 6, 7], [2, 0]], {"Axis": 0}, [7, 5]),
    ("CONCATENATION", [[5, 6], [7]], {"Axis": 0}, [5, 6, 7]),
    ("PACK", [5, 6, 7], {"Axis": 0}, [5, 6, 7]),
    ("SLICE", [[5, 6, 7, 8], [1], [-1]], {}, [6, 7, 8]),
    ("SLICE", [[5, 6, 7, 8], [1], [2]], {}, [6, 7]),
    ("STRIDED_SLICE", [[5, 6, 7, 8], [0], [0], [2]], {"EndMask": 1}, [5, 7]),
    ("STRIDED_SLICE", [[5, 6, 7, 8], [-1], [0], [1]], {"ShrinkAxisMask": 1}, 8),
    ("STRIDED_SLICE", [[5, 6], [0], [0], [1]], {"NewAxisMask": 1}, [[5, 6]]),
    ("STRIDED_SLICE", [[[5, 6], [7, 8]], [0, 1], [0, 2], [1, 1]], {"EllipsisMask": 1}, [[6], [8]]),
    ("REDUCE_PROD", [[[2, 3], [4, 5]], [1]], {}, [6, 20]),
    ("REDUCE_PROD", [[[2, 3], [4, 5]], [0, 1]], {"KeepDims": True}, [[120]]),
    ("REDUCE_MAX", [[2, 3], [0]], {}, 3),
    ("REDUCE_MIN", [[2, 3], [0]], {}, 2),
    ("SUM", [[2, 3], [0]], {}, 5),
    ("RANGE", [2, 9, 3], {}, [2, 5, 8]),
    ("FILL", [[2, 1], 7], {}, [[7], [7]]),
    ("RESHAPE", [[1, 2], [2, 1]], {}, [[1], [2]]),
    ("EXPAND_DIMS", [[1, 2], 0], {}, [[1, 2]]),
    ("SQUEEZE", [[[1, 2]]], {}, [1, 2]),
    ("SELECT_V2", [np.array([True, False]), [1, 2], [3, 4]], {}, [1, 4]),
]


@pytest.mark.parametrize(("kind", "operands", "options", "expected"), CASES)
def test_operators(kind: str, operands: list[Any], options: dict[str, Any], expected: Any) -> None:
    wanted = np.array(expected, np.int32)
    got = computed(kind, operands, wanted.shape, options, np.int32)
    assert got.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("EQUAL", [False, True, False]),
        ("NOT_EQUAL", [True, False, True]),
        ("LESS", [True, False, False]),
        ("GREATER", [False, False, True]),
    ],
)
def test_comparisons(kind: str, expected: list[bool]) -> None:
    assert computed(kind, [[1, 2, 3], [2, 2, 2]], (3,), {}, np.bool_).tolist() == expected


def test_other_element_types() -> None:
    options = {"InDataType": "INT32", "OutDataType": "INT64"}
    assert computed("CAST", [[1, -2]], (2,), options, np.int64).dtype == np.int64
    filled = computed("FILL", [[3], np.array(0.5, np.float32)], (3,), {}, np.float32)
    assert filled.tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    ("kind", "operands", "shape", "options", "words"),
    [
        ("PACK", [5, 6], (3,), {}, r"got a result of shape \[2\], expected \[3\] as stated"),
        ("PACK", [5, [6, 7]], (2,), {}, "same shape"),
        ("FILL", [[1 << 30], 1], (4,), {}, r"got a result of shape \[1073741824\], expected \[4\] as stated"),
        ("FILL", [np.array([2.0], np.float32), 1], (2,), {}, "got float32, expected integers"),
        ("RANGE", [0, 1 << 30, 1], (4,), {}, "got 0 to 1073741824 by 1, expected 4 values as stated"),
        ("RANGE", [0, 4, 0], (4,), {}, "division by zero"),
        ("DIV", [[1], [0]], (1,), {}, "division by 0"),
        ("GATHER", [[5, 6], [2]], (1,), {"Axis": 0}, "out of bounds"),
        ("GATHER", [[5, 6], [0]], (1,), {"BatchDims": 1}, "got batch dimensions, expected none"),
        ("CONCATENATION", [[5, 6], [7]], (3,), {"Axis": 3}, "out of bounds"),
        ("STRIDED_SLICE", [[5, 6], [0], [1], [0]], (1,), {}, "step cannot be zero"),
        ("STRIDED_SLICE", [[5, 6], [0, 1], [1], [1]], (1,), {}, "shorter"),
    ],
)
def test_operands_that_do_not_fit(
    kind: str, operands: list[Any], shape: tuple[int, ...], options: dict[str, Any], words: str
) -> None:
    start = rf"model \(bytes\): node 1 {kind}: constant operands do not fit the operator, .*{words}"
    with pytest.raises(ModelError, match=f"{start}.*Export the model with a fixed input shape"):
        computed(kind, operands, shape, options, np.int32)


def test_large_constants_and_values_of_a_run_are_left_to_the_ops() -> None:
    build = ModelBuilder().tensor("x", (4,), np.int32).tensor("many", (1 << 15,), np.int32, data=np.zeros(1 << 15))
    build.tensor("y", (8,), np.int32).tensor("z", (1 << 16,), np.int32)
    build.op("CONCATENATION", ["x", "x"], ["y"], {}).op("CONCATENATION", ["many", "many"], ["z"], {})
    assert [node.op for node in load(build.build(["x"], ["y", "z"])).nodes] == ["concatenation", "concatenation"]

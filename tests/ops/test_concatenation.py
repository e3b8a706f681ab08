"""Concatenation against tflite-micro."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.errors import ModelError
from aboard.importers import load
from support import one_op, oracle
from support.examples import examples
from support.tflite_builder import ModelBuilder

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def quant(dtype: type) -> dict[str, float]:
    return {"scale": 0.25, "zero_point": 3} if dtype == np.int8 else {}


def builder(parts: list[tuple[int, ...]], result: tuple[int, ...], dtype: type) -> ModelBuilder:
    build = ModelBuilder().tensor("y", result, dtype, **quant(dtype))
    for index, shape in enumerate(parts):
        build.tensor(f"x{index}", shape, dtype, **quant(dtype))
    return build


@settings(max_examples=examples(25), deadline=None)
@given(st.data(), shapes, st.lists(st.integers(1, 3), min_size=1, max_size=5), st.sampled_from([np.int8, np.float32]))
def test_concatenation(data: st.DataObject, shape: tuple[int, ...], sizes: list[int], dtype: type) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    at = axis % len(shape)
    parts = [(*shape[:at], size, *shape[at + 1 :]) for size in sizes]
    build = builder(parts, (*shape[:at], sum(sizes), *shape[at + 1 :]), dtype)
    names = [f"x{index}" for index in range(len(parts))]
    model = build.op("CONCATENATION", names, ["y"], {"Axis": axis}).build(names, ["y"])
    rng = np.random.default_rng(0)
    one_op.check_equal(model, *(rng.integers(-128, 128, part).astype(dtype) for part in parts))


@pytest.mark.parametrize("parts", [11, 17, 24, 100])
@pytest.mark.parametrize("axis", [1, 3])
@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_more_operands_than_the_reference_takes(parts: int, axis: int, dtype: type) -> None:
    """Which are ten; LiteRT takes any number."""
    shapes = [(1, 2, 3, 2) if index % 3 else (1, 2 + (axis == 1), 3, 2 + (axis == 3)) for index in range(parts)]
    result = [1, 2, 3, 2]
    result[axis] = sum(shape[axis] for shape in shapes)
    names = [f"x{index}" for index in range(parts)]
    model = builder(shapes, tuple(result), dtype).op("CONCATENATION", names, ["y"], {"Axis": axis}).build(names, ["y"])
    rng = np.random.default_rng(parts)
    inputs = [rng.integers(-128, 128, shape).astype(dtype) for shape in shapes]
    one_op.check_equal(model, *inputs, reference=oracle.litert_ref)


def test_one_operand_twice_and_a_constant() -> None:
    build = builder([(1, 2, 2, 3)], (1, 2, 2, 9), np.int8)
    build.tensor("c", (1, 2, 2, 3), np.int8, data=np.arange(12), scale=0.25, zero_point=3)
    model = build.op("CONCATENATION", ["x0", "c", "x0"], ["y"], {"Axis": 3}).build(["x0"], ["y"])
    one_op.check_equal(model, np.arange(-6, 6, dtype=np.int8).reshape(1, 2, 2, 3))


def test_requantisations_that_change_nothing_take_no_code() -> None:
    # Both halves are computed where they belong, and no operator is left of four.
    build = builder([(1, 2, 2, 4)] * 5, (1, 2, 2, 8), np.int8)
    for index, source in enumerate(["x1", "x2"]):
        build.op("LEAKY_RELU", ["x0"], [source], {"Alpha": 0.25 * (index + 1)})
        build.op("QUANTIZE", [source], [f"x{index + 3}"], {})
    model = build.op("CONCATENATION", ["x3", "x4"], ["y"], {"Axis": 3}).build(["x0"], ["y"])
    assert [node.op for node in aboard.compile(model, target=one_op.HOST, name="m").manifest.nodes] == [
        "leaky_relu"
    ] * 2
    one_op.check_equal(model, np.arange(-8, 8, dtype=np.int8).reshape(1, 2, 2, 4))


def refusal(build: ModelBuilder, names: list[str], options: dict[str, int]) -> str:
    with pytest.raises(ModelError) as caught:
        load(build.op("CONCATENATION", names, ["y"], options).build(names, ["y"]), name="model")
    return str(caught.value)


def test_refuses_what_the_reference_refuses() -> None:
    build = builder([(1, 2), (1, 2)], (1, 4), np.int8)
    message = refusal(build, ["x0", "x1"], {"Axis": 1, "FusedActivationFunction": 1})
    assert "fused activation, got number 1, expected none. Export the activation as an operator of its own" in message
    build = builder([(1, 2)], (1, 4), np.int8).tensor("z", (1, 2), np.int8, scale=0.5, zero_point=3)
    message = refusal(build, ["x0", "z"], {"Axis": 1})
    assert (
        "quantisation of operand z, got int8[1x2] q(0.5, 3), expected that of the result int8[1x4] q(0.25, 3)"
        in message
    )
    build = builder([(1, 2), (2, 2)], (1, 4), np.int8)
    assert "operand x1, got int8[2x2]" in refusal(build, ["x0", "x1"], {"Axis": 1})
    build = builder([(1, 2), (1, 2)], (1, 4), np.int8)
    assert "axis, got 2 for shape (1, 2), expected less than 2" in refusal(build, ["x0", "x1"], {"Axis": 2})

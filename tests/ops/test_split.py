"""Split against tflite-micro."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import ModelError
from aboard.importers import load
from support import one_op
from support.examples import examples
from support.tflite_builder import ModelBuilder

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
dtypes = st.sampled_from([np.int8, np.float32])


def builder(shape: tuple[int, ...], axis: int, sizes: list[int], dtype: type) -> ModelBuilder:
    quant = {"scale": 0.25, "zero_point": 3} if dtype == np.int8 else {}
    build = ModelBuilder().tensor("x", shape, dtype, **quant).tensor("a", (), np.int32, data=[axis])
    for index, size in enumerate(sizes):
        part = list(shape)
        part[axis] = size
        build.tensor(f"y{index}", part, dtype, **quant)
    return build


def names(count: int) -> list[str]:
    return [f"y{index}" for index in range(count)]


def values(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    return np.random.default_rng(0).integers(-128, 128, shape).astype(dtype)


@settings(max_examples=examples(25), deadline=None)
@given(st.data(), shapes, st.integers(1, 4), st.integers(1, 3), dtypes)
def test_split(data: st.DataObject, shape: tuple[int, ...], count: int, size: int, dtype: type) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    whole = list(shape)
    whole[axis] = size * count
    build = builder(tuple(whole), axis, [size] * count, dtype)
    model = build.op("SPLIT", ["a", "x"], names(count), {"NumSplits": count}).build(["x"], names(count))
    one_op.check_equal(model, values(tuple(whole), dtype))


@settings(max_examples=examples(15), deadline=None)
@given(st.data(), shapes, st.lists(st.integers(1, 3), min_size=1, max_size=4), dtypes)
def test_split_v(data: st.DataObject, shape: tuple[int, ...], sizes: list[int], dtype: type) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    whole = list(shape)
    whole[axis] = sum(sizes)
    build = builder(tuple(whole), axis, sizes, dtype).tensor("s", (len(sizes),), np.int32, data=sizes)
    model = build.op("SPLIT_V", ["x", "s", "a"], names(len(sizes)), {"NumSplits": len(sizes)})
    one_op.check_equal(model.build(["x"], names(len(sizes))), values(tuple(whole), dtype))


@pytest.mark.parametrize("parts", [16, 17, 40])
@pytest.mark.parametrize("axis", [0, 2])
def test_more_results_than_a_kernel_has(parts: int, axis: int) -> None:
    shape = [2, 3, 2]
    shape[axis] = 2 * parts
    model = builder(tuple(shape), axis, [2] * parts, np.int8)
    model.op("SPLIT", ["a", "x"], names(parts), {"NumSplits": parts})
    one_op.check_equal(model.build(["x"], names(parts)), values(tuple(shape), np.int8))


def refusal(build: ModelBuilder, count: int, inputs: tuple[str, ...] = ("x",)) -> str:
    with pytest.raises(ModelError) as caught:
        load(build.op("SPLIT", ["a", "x"], names(count)).build(inputs, names(count)), name="model")
    return str(caught.value)


def test_refuses_parts_that_are_not_the_whole() -> None:
    message = refusal(builder((1, 5), 1, [2, 2], np.int8), 2)
    assert "sizes, got [2, 2] for 2 results and an extent of 5" in message
    build = ModelBuilder().tensor("x", (1, 4), np.int8).tensor("a", (), np.int32, data=[2])
    assert "axis, got [2], expected one number in [-2, 1]" in refusal(build.tensor("y0", (1, 4), np.int8), 1)
    build = ModelBuilder().tensor("x", (1, 4), np.int8).tensor("a", (), np.int32).tensor("y0", (1, 4), np.int8)
    assert "operand 0 (a) is computed at run time, expected a constant" in refusal(build, 1, ("x", "a"))

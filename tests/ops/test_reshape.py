"""Reshape, squeeze and expand_dims against tflite-micro."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import ModelError
from aboard.importers import load
from aboard.ops import get
from aboard.ops.sharing import Share
from support import one_op
from support.examples import examples
from support.tflite_builder import ModelBuilder

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
dtypes = st.sampled_from([np.int8, np.float32])


def values(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    return np.random.default_rng(0).integers(-128, 128, shape).astype(dtype)


def builder(shape: tuple[int, ...], result: tuple[int, ...], dtype: type) -> ModelBuilder:
    scale = 0.5 if dtype == np.int8 else None
    return ModelBuilder().tensor("x", shape, dtype, scale=scale).tensor("y", result, dtype, scale=scale)


@settings(max_examples=examples(15), deadline=None)
@given(st.data(), shapes, dtypes)
def test_reshape(data: st.DataObject, shape: tuple[int, ...], dtype: type) -> None:
    factors = data.draw(st.permutations(shape))
    cut = data.draw(st.integers(0, len(factors)))
    result = (*factors[:cut], math.prod(factors[cut:]))
    wanted = [-1 if index == len(result) - 1 and data.draw(st.booleans()) else n for index, n in enumerate(result)]
    build = builder(shape, result, dtype).tensor("s", (len(result),), np.int32, data=wanted)
    one_op.check_equal(build.op("RESHAPE", ["x", "s"], ["y"]).build(["x"], ["y"]), values(shape, dtype))


@settings(max_examples=examples(15), deadline=None)
@given(st.data(), shapes, dtypes)
def test_squeeze(data: st.DataObject, shape: tuple[int, ...], dtype: type) -> None:
    ones = [axis for axis, extent in enumerate(shape) if extent == 1]
    chosen = sorted(data.draw(st.sets(st.sampled_from(ones)))) if ones else []
    dropped = chosen or ones
    result = tuple(extent for axis, extent in enumerate(shape) if axis not in dropped)
    axes = [axis - len(shape) if data.draw(st.booleans()) else axis for axis in chosen]
    build = builder(shape, result, dtype).op("SQUEEZE", ["x"], ["y"], {"SqueezeDims": axes})
    one_op.check_equal(build.build(["x"], ["y"]), values(shape, dtype))


@settings(max_examples=examples(15), deadline=None)
@given(st.data(), shapes, dtypes)
def test_expand_dims(data: st.DataObject, shape: tuple[int, ...], dtype: type) -> None:
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    at = axis + len(shape) + 1 if axis < 0 else axis
    build = builder(shape, (*shape[:at], 1, *shape[at:]), dtype).tensor("a", (1,), np.int32, data=[axis])
    one_op.check_equal(build.op("EXPAND_DIMS", ["x", "a"], ["y"]).build(["x"], ["y"]), values(shape, dtype))


def test_operand_and_result_are_the_same_memory() -> None:
    model = builder((2, 3), (6,), np.int8).op("RESHAPE", ["x"], ["y"]).build(["x"], ["y"])
    made = load(model, name="model").nodes[0]
    assert get("reshape").shares(made) == [Share(0, 0, True, None)]


def refusal(build: ModelBuilder) -> str:
    with pytest.raises(ModelError) as caught:
        load(build.build(["x"], ["y"]), name="model")
    return str(caught.value)


def test_refuses_what_does_not_fit() -> None:
    message = refusal(builder((2, 3), (5,), np.int8).op("RESHAPE", ["x"], ["y"]))
    assert "RESHAPE" in message
    assert "got (5,) for an operand of (2, 3), expected as many elements" in message
    message = refusal(builder((2, 3), (6,), np.int8).op("SQUEEZE", ["x"], ["y"], {"SqueezeDims": [1]}))
    assert "got [1] of shape (2, 3), expected axes with one element" in message
    message = refusal(builder((2, 1), (2, 1), np.int8).op("SQUEEZE", ["x"], ["y"], {"SqueezeDims": []}))
    assert "result shape, got (2, 1), expected (2,)" in message
    build = builder((2, 3), (2, 3, 1), np.int8).tensor("a", (1,), np.int32, data=[3])
    assert "got [3] for shape (2, 3), expected one number in [-3, 2]" in refusal(
        build.op("EXPAND_DIMS", ["x", "a"], ["y"])
    )

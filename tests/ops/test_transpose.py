"""Transpose against tflite-micro."""

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


def builder(shape: tuple[int, ...], order: list[int], result: list[int], dtype: type) -> ModelBuilder:
    quant = {"scale": 0.25, "zero_point": 3} if dtype == np.int8 else {}
    return (
        ModelBuilder()
        .tensor("x", shape, dtype, **quant)
        .tensor("o", (len(order),), np.int32, data=order)
        .tensor("y", result, dtype, **quant)
        .op("TRANSPOSE", ["x", "o"], ["y"])
    )


@settings(max_examples=examples(25), deadline=None)
@given(
    st.data(),
    st.lists(st.integers(1, 4), min_size=1, max_size=5).map(tuple),
    st.sampled_from([np.int8, np.float32]),
)
def test_transpose(data: st.DataObject, shape: tuple[int, ...], dtype: type) -> None:
    order = list(data.draw(st.permutations(range(len(shape)))))
    model = builder(shape, order, [shape[axis] for axis in order], dtype).build(["x"], ["y"])
    one_op.check_equal(model, np.random.default_rng(0).integers(-128, 128, shape).astype(dtype))


@pytest.mark.parametrize("order", [[0, 0], [0, 2], [0], [-1, 0]])
def test_refuses_what_is_no_permutation(order: list[int]) -> None:
    with pytest.raises(ModelError) as caught:
        load(builder((2, 3), order, [2, 3], np.int8).build(["x"], ["y"]), name="model")
    assert f"order of axes, got {order} for shape (2, 3), expected a permutation of all its axes" in str(caught.value)


def test_refuses_an_order_of_floats() -> None:
    build = ModelBuilder().tensor("x", (2, 3), np.int8).tensor("o", (2,), np.float32, data=[np.nan, 0])
    build.tensor("y", (3, 2), np.int8).op("TRANSPOSE", ["x", "o"], ["y"])
    with pytest.raises(ModelError) as caught:
        load(build.build(["x"], ["y"]), name="model")
    assert "operand 1, got float32, expected integers. Export the model again" in str(caught.value)

"""Resize by nearest neighbour against tflite-micro, index by index."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import ModelError
from aboard.importers import load
from aboard.ops.resize_nearest_neighbor import nearest
from support import one_op, oracle
from support.examples import examples
from support.tflite_builder import ModelBuilder


def builder(shape: tuple[int, ...], size: list[int], dtype: type, align: bool, half: bool) -> ModelBuilder:
    quant = {"scale": 0.25, "zero_point": 3} if dtype == np.int8 else {}
    result = (shape[0], *size, shape[-1])
    return (
        ModelBuilder()
        .tensor("x", shape, dtype, **quant)
        .tensor("s", (len(size),), np.int32, data=size)
        .tensor("y", result, dtype, **quant)
        .op("RESIZE_NEAREST_NEIGHBOR", ["x", "s"], ["y"], {"AlignCorners": align, "HalfPixelCenters": half})
    )


@settings(max_examples=examples(25), deadline=None)
@given(
    st.tuples(st.integers(1, 2), st.integers(1, 9), st.integers(1, 9), st.integers(1, 5)),
    st.lists(st.integers(1, 20), min_size=2, max_size=2),
    st.sampled_from([np.int8, np.float32]),
    st.booleans(),
    st.booleans(),
)
def test_resize(shape: tuple[int, ...], size: list[int], dtype: type, align: bool, half: bool) -> None:
    model = builder(shape, size, dtype, align, half).build(["x"], ["y"])
    one_op.check_equal(model, np.random.default_rng(0).integers(-128, 128, shape).astype(dtype))


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(1, 300), st.integers(1, 600), st.booleans(), st.booleans())
def test_indices_of_long_axes(before: int, after: int, align: bool, half: bool) -> None:
    model = builder((1, 1, before, 1), [1, after], np.float32, align, half).build(["x"], ["y"])
    expected = oracle.tflm(model, np.arange(before, dtype=np.float32).reshape(1, 1, before, 1))[0].ravel()
    assert nearest(before, after, align, half).tolist() == expected.tolist()


def test_refuses_what_is_no_size() -> None:
    with pytest.raises(ModelError) as caught:
        load(builder((1, 2, 2, 1), [0, 4], np.int8, False, False).build(["x"], ["y"]), name="model")
    assert "expected" in str(caught.value)
    build = ModelBuilder().tensor("x", (2, 2, 1), np.int8).tensor("s", (2,), np.int32, data=[4, 4])
    build.tensor("y", (4, 4, 1), np.int8).op("RESIZE_NEAREST_NEIGHBOR", ["x", "s"], ["y"])
    with pytest.raises(ModelError) as caught:
        load(build.build(["x"], ["y"]), name="model")
    assert "operand and size, got (2, 2, 1) and [4, 4], expected an operand with four axes" in str(caught.value)

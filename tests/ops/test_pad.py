"""Padding against tflite-micro."""

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

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)
_SCALED = {"scale": 0.25, "zero_point": -7}


def builder(shape: tuple[int, ...], padding: list[tuple[int, int]], dtype: type) -> ModelBuilder:
    result = [before + extent + after for extent, (before, after) in zip(shape, padding, strict=True)]
    quant = _SCALED if dtype == np.int8 else {}
    return (
        ModelBuilder()
        .tensor("x", shape, dtype, **quant)
        .tensor("p", (len(padding), 2), np.int32, data=padding)
        .tensor("y", result, dtype, **quant)
    )


@settings(max_examples=examples(25), deadline=None)
@given(st.data(), shapes, st.sampled_from([np.int8, np.float32]), st.booleans())
def test_pad(data: st.DataObject, shape: tuple[int, ...], dtype: type, with_value: bool) -> None:
    padding = [(data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))) for _ in shape]
    build = builder(shape, padding, dtype)
    operands, kind = ["x", "p"], "PAD"
    if with_value:
        quant = _SCALED if dtype == np.int8 else {}
        build.tensor("v", (1,), dtype, data=[data.draw(st.integers(-128, 127))], **quant)
        operands, kind = ["x", "p", "v"], "PADV2"
    x = np.random.default_rng(0).integers(-128, 128, shape).astype(dtype)
    one_op.check_equal(build.op(kind, operands, ["y"]).build(["x"], ["y"]), x)


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
def test_pad_of_wider_integers(dtype: type) -> None:
    build = builder((2, 3), [(1, 0), (0, 2)], dtype)
    x = np.arange(6, dtype=dtype).reshape(2, 3) - 3
    one_op.check_equal(build.op("PAD", ["x", "p"], ["y"]).build(["x"], ["y"]), x)


def refusal(build: ModelBuilder, inputs: tuple[str, ...] = ("x",)) -> str:
    with pytest.raises(ModelError) as caught:
        load(build.build(inputs, ["y"]), name="model")
    return str(caught.value)


def test_refuses_what_the_reference_does_not_do() -> None:
    build = builder((2, 3), [(0, 0), (0, 0)], np.int8).tensor("v", (1,), np.int8, data=[0], scale=0.5, zero_point=-7)
    assert "quantisation of the padding value" in refusal(build.op("PADV2", ["x", "p", "v"], ["y"]))
    build = builder((2, 3), [(1, 0), (-1, 0)], np.int8).op("PAD", ["x", "p"], ["y"])
    assert "got [1, 0, -1, 0] for shape (2, 3), expected a pair of numbers from 0 for each axis" in refusal(build)
    build = builder((2, 3), [(0, 0), (0, 0)], np.uint8).op("PAD", ["x", "p"], ["y"])
    assert "element type, got uint8, expected one of int8, int16, int32, float32" in refusal(build)
    build = ModelBuilder().tensor("x", (2,), np.int8).tensor("p", (1, 2), np.int32).tensor("y", (4,), np.int8)
    assert "computed at run time, expected a constant" in refusal(build.op("PAD", ["x", "p"], ["y"]), ("x", "p"))

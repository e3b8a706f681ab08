"""Weights of four bits, two in a byte: as tflite-micro computes with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tflite
from hypothesis import given, settings
from hypothesis import strategies as st
from tflite_micro import runtime

import aboard
from aboard.errors import ModelError
from aboard.importers import load
from support import one_op, oracle
from support.examples import examples
from support.tflite_builder import ModelBuilder

INT4 = tflite.TensorType.INT4


def packed(values: np.ndarray) -> bytes:
    """Returns values from -8 to 7 as a file has them, the first in the low half of a byte."""
    flat = np.append(values.reshape(-1), [0] * (values.size % 2)).astype(np.int8)
    return ((flat[::2] & 15) | (flat[1::2] << 4)).astype(np.int8).tobytes()


def model(kind: str, size: int = 4, taps: int = 3, channels: int = 3, outputs: int = 5, seed: int = 0) -> ModelBuilder:
    """Returns tensors x, w, b and y of an operator with int4 weights."""
    rng = np.random.default_rng(seed)
    dense, depthwise = kind == "FULLY_CONNECTED", kind == "DEPTHWISE_CONV_2D"
    filters = outputs * channels if depthwise else outputs
    image = (2, channels) if dense else (1, size, size, channels)
    shape = {"CONV_2D": (filters, taps, 2, channels), "DEPTHWISE_CONV_2D": (1, taps, 2, filters)}
    weights = rng.integers(-8, 8, shape.get(kind, (filters, channels)))
    count, axis = (1, 0) if dense else (filters, 3 if depthwise else 0)
    scales = 0.02 + 0.01 * rng.random(count)
    m = ModelBuilder().tensor("x", image, np.int8, scale=0.05, zero_point=-9)
    m.tensor("w", weights.shape, np.int8, scales=scales, axis=axis, data=packed(weights), type_number=INT4)
    m.tensor("b", (filters,), np.int32, data=rng.integers(-99, 99, filters), scales=0.05 * scales)
    m.tensor("y", (*image[:-1], filters), np.int8, scale=0.03, zero_point=4)
    options: dict[str, Any] = {} if dense else {"StrideH": 1, "StrideW": 1, "Padding": "SAME"}
    return m.op(kind, ["x", "w", "b"], ["y"], {**options, **({"DepthMultiplier": outputs} if depthwise else {})})


KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


@settings(max_examples=examples(60), deadline=None)
@given(
    st.builds(
        model,
        st.sampled_from(KINDS),
        size=st.integers(1, 5),
        taps=st.integers(1, 3),
        channels=st.integers(1, 5),
        outputs=st.integers(1, 5),
        seed=st.integers(0, 99),
    )
)
def test_results_are_those_of_tflite_micro(builder: ModelBuilder) -> None:
    data = builder.build(["x"], ["y"])
    shape = load(data).inputs[0].shape
    x = np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)
    one_op.check_equal(data, x, reference=oracle.tflm)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_unpacked(kind: str) -> None:
    graph = load(model(kind, channels=3, outputs=3).build(["x"], ["y"]))
    weights = graph.nodes[0].input(1)
    assert weights.dtype.value == "int8"
    values = np.random.default_rng(0).integers(-8, 8, weights.shape)
    np.testing.assert_array_equal(weights.data, values)
    count = values.size
    assert graph.notes == [
        f"int4 weights are stored as int8: {count} bytes of flash, {(count + 1) // 2} in the model file"
    ]


def test_no_ram_for_unpacked_weights() -> None:
    """tflite-micro unpacks the weights of a layer into its arena; here they need none."""
    four = model("FULLY_CONNECTED", channels=256, outputs=64)
    eight = model("FULLY_CONNECTED", channels=256, outputs=64)
    weights = np.random.default_rng(0).integers(-8, 8, (64, 256)).astype(np.int8)
    eight._tensors[1].data, eight._tensors[1].type_number = weights.tobytes(), None
    files = [builder.build(["x"], ["y"]) for builder in (four, eight)]
    needed = [aboard.compile(data, target="c -mcpu=cortex-m4").manifest.ram_bytes for data in files]
    assert needed[0] == needed[1] < 2048
    runtime.Interpreter.from_bytes(files[1], arena_size=4096)
    with pytest.raises(RuntimeError):
        runtime.Interpreter.from_bytes(files[0], arena_size=weights.size)


def test_another_number_of_bytes_is_an_error() -> None:
    builder = model("FULLY_CONNECTED", channels=3, outputs=3)
    builder._tensors[1].data = b"1234"
    with pytest.raises(ModelError, match=r"constant tensor 1 \(w\) of 9 int4 values, got 4 bytes, expected 5"):
        load(builder.build(["x"], ["y"]))


def test_int4_elsewhere_is_refused() -> None:
    builder = model("FULLY_CONNECTED", channels=3, outputs=3)
    builder.tensor("z", (3, 3), np.int8, scale=0.1).op("RELU", ["w"], ["z"])
    with pytest.raises(ModelError, match=r"tensor 1 \(w\): element type, got INT4, expected one of"):
        load(builder.build(["x"], ["y", "z"]))
    wide = ModelBuilder().tensor("x", (1, 2), np.int16, scale=0.1).tensor("y", (1, 2), np.int16, scale=0.1)
    wide.tensor("w", (2, 2), np.int8, scale=0.1, data=b"12", type_number=INT4)
    with pytest.raises(ModelError, match=r"tensor 2 \(w\): element type, got INT4"):
        load(wide.op("FULLY_CONNECTED", ["x", "w"], ["y"], {}).build(["x"], ["y"]))

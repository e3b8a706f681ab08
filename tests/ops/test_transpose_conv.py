"""Transposed convolutions against tflite-micro."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aboard
from aboard.errors import ModelError
from aboard.importers import load
from support import one_op, oracle
from support.element_models import check_near
from support.examples import examples
from support.tflite_builder import ModelBuilder

#: Element type of the bias that comes with each input.
BIASES = {np.int8: np.int32, np.int16: np.int64, np.float32: np.float32}


@dataclass
class Layer:
    """One operator: sizes, and what of it is special."""

    image: tuple[int, int] = (3, 4)
    channels: tuple[int, int] = (2, 3)
    window: tuple[int, int] = (3, 3)
    strides: tuple[int, int] = (2, 2)
    padding: str = "SAME"
    dtype: Any = np.int8
    bias: Any = None
    batch: int = 1
    activation: str = "NONE"
    cut: int = 0
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def result(self) -> tuple[int, ...]:
        sizes = []
        for image, window, stride in zip(self.image, self.window, self.strides, strict=True):
            whole = image * stride if self.padding == "SAME" else (image - 1) * stride + window
            sizes.append(max(whole - self.cut, 1))
        return (self.batch, *sizes, self.channels[1])

    def add(self, build: ModelBuilder, name: str) -> np.ndarray:
        """Adds the operator with inputs and outputs of its own; returns values of the input."""
        rng = np.random.default_rng(0)
        shape = (self.channels[1], *self.window, self.channels[0])
        image = (self.batch, *self.image, self.channels[0])
        build.tensor(f"{name}_shape", (4,), np.int32, data=self.result)
        if self.dtype == np.float32:
            build.tensor(f"{name}_w", shape, np.float32, data=rng.normal(0, 1, shape))
            quants: list[dict[str, Any]] = [{}, {}]
        else:
            scales = rng.uniform(0.01, 0.1, self.channels[1])
            build.tensor(f"{name}_w", shape, np.int8, scales=scales, data=rng.integers(-127, 128, shape))
            zero = 0 if self.dtype == np.int16 else 7
            quants = [{"scale": 0.5, "zero_point": zero}, {"scale": 30.0, "zero_point": -zero}]
        operands = [f"{name}_shape", f"{name}_w", f"{name}_x"]
        if self.bias is not None:
            data = rng.integers(-3000, 3000, self.channels[1])
            build.tensor(f"{name}_b", (self.channels[1],), self.bias, data=data)
            operands.append(f"{name}_b")
        build.tensor(f"{name}_x", image, self.dtype, **quants[0])
        build.tensor(f"{name}_y", self.result, self.dtype, **quants[1])
        options = {"StrideH": self.strides[0], "StrideW": self.strides[1], "Padding": self.padding}
        build.op(
            "TRANSPOSE_CONV",
            operands,
            [f"{name}_y"],
            {**options, "FusedActivationFunction": self.activation},
            version=3,
        )
        if self.dtype == np.float32:
            return rng.normal(0, 1, image).astype(np.float32)
        limits = np.iinfo(self.dtype)
        return rng.integers(limits.min, limits.max, image, self.dtype, endpoint=True)


def model(*layers: Layer) -> tuple[bytes, list[np.ndarray]]:
    build = ModelBuilder()
    feed = [layer.add(build, f"l{number}") for number, layer in enumerate(layers)]
    names = [f"l{number}" for number in range(len(layers))]
    return build.build([f"{name}_x" for name in names], [f"{name}_y" for name in names]), feed


@st.composite
def layers(draw: st.DrawFn, *types: type) -> Layer:
    def pair(low: int, high: int) -> tuple[int, int]:
        return draw(st.integers(low, high)), draw(st.integers(low, high))

    dtype = draw(st.sampled_from(types))
    return Layer(
        pair(1, 4),
        pair(1, 5),
        pair(1, 5),
        pair(1, 3),
        draw(st.sampled_from(["SAME", "VALID"])),
        dtype,
        draw(st.sampled_from([None, BIASES[dtype]])),
        draw(st.integers(1, 2)),
        draw(st.sampled_from(["NONE", "RELU"])),
        draw(st.sampled_from([0, 0, 1])),
    )


@settings(max_examples=examples(60), deadline=None)
@given(layers(np.int8, np.int16))
def test_meaning(layer: Layer) -> None:
    file, feed = model(layer)
    np.testing.assert_array_equal(one_op.evaluate(file, *feed)[0], oracle.tflm(file, *feed)[0])


@settings(max_examples=2, deadline=None)
@given(st.tuples(*[layers(np.int8)] * 2, layers(np.int16)))
def test_integers_equal_the_reference(drawn: tuple[Layer, ...]) -> None:
    file, feed = model(*drawn)
    one_op.check_equal(file, *feed)


@settings(max_examples=2, deadline=None)
@given(st.tuples(*[layers(np.float32)] * 2))
def test_float_is_near_the_reference(drawn: tuple[Layer, ...]) -> None:
    file, feed = model(*drawn)
    check_near(file, *feed, absolute=1e-4)


def test_a_bias_of_int16_is_widened() -> None:
    file, feed = model(Layer(dtype=np.int16, bias=np.int16))
    one_op.check_equal(file, *feed)


def ops(layer: Layer) -> list[str]:
    module = aboard.compile(model(layer)[0], target="c -runtime=host", name="model")
    return [record.op for record in module.manifest.nodes]


def test_phases_are_one_convolution_where_that_is_less_work() -> None:
    assert ops(Layer(window=(2, 2))) == ["conv2d", "transpose"]
    assert ops(Layer(channels=(2, 1))) == ["conv2d", "transpose"]
    assert ops(Layer(channels=(2, 8))) == [*["conv2d"] * 4, "transpose"]
    assert ops(Layer(strides=(1, 1))) == ["conv2d"]


REFUSED = [
    (Layer(dtype=np.int16, bias=np.int32), "bias l0_b, got int32, expected int64"),
    (Layer(dtype=np.int8, bias=np.int64), "bias l0_b, got int64, expected int32"),
    (Layer(activation="TANH"), "fused activation, got TANH, expected one of"),
    (Layer(strides=(0, 1)), "ranks of input, weights and result, and strides, got [4, 4, 4] and (0, 1)"),
]


@pytest.mark.parametrize(("layer", "message"), REFUSED)
def test_refuses_what_the_reference_cannot(layer: Layer, message: str) -> None:
    file, _ = model(layer)
    with pytest.raises(ModelError) as caught:
        load(file, name="model")
    assert message in str(caught.value)


def refusal(weights: dict[str, Any], image: tuple[int, ...] = (1, 3, 4, 2), dtype: type = np.float32) -> str:
    build = ModelBuilder().tensor("s", (4,), np.int32, data=[1, 6, 8, 3]).tensor("w", **weights)
    build.tensor("x", image, dtype).tensor("y", (1, 6, 8, 3), dtype)
    build.op("TRANSPOSE_CONV", ["s", "w", "x"], ["y"], {"StrideH": 2, "StrideW": 2}, version=3)
    with pytest.raises(ModelError) as caught:
        load(build.build(["x"] if "data" in weights else ["x", "w"], ["y"]), name="model")
    return str(caught.value)


def test_refuses_weights_that_do_not_fit() -> None:
    shape = (3, 3, 3, 2)
    ones = np.ones(shape)
    assert "operand 1 (w) is computed at run time" in refusal({"shape": shape, "dtype": np.float32})
    hybrid = {"shape": shape, "dtype": np.int8, "scale": 0.5, "data": ones}
    assert "element types, got float32 with int8 weights, expected one type" in refusal(hybrid)
    other = {"shape": shape, "dtype": np.float32, "data": ones}
    assert "shapes of input, weights and result, got (1, 3, 4, 1)" in refusal(other, (1, 3, 4, 1))

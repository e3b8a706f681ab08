"""One-op models of conv2d, depthwise_conv2d and fully_connected, with random weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import tflite
from hypothesis import strategies as st

from aboard.errors import ModelError
from aboard.importers import load
from support import one_op, oracle
from support.tflite_builder import ModelBuilder

ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6")


@dataclass
class Layer:
    """A layer with weights; every field has a value with which it works.

    Attributes:
        kind: Operator.
        shape_in: Input.
        shape_weights: Weights.
        shape_out: Result.
        axis: Axis of the weights that counts output channels.
        options: Options of the operator.
        form: `int8`, `int16`, `float32` or `hybrid`.
        wide: Whether an int16 layer sums in 64 bits: its bias is int64, or absent.
        per_channel: Whether int8 weights have a scale for each channel.
        bias: Whether there is one.
        outlier: Added to the int8 layer's bias of the last channel.
        spread: Factor on the scale of the result: above 1 results are small, far below 1 they saturate.
        zero_point_in: Of the input.
        zero_point_out: Of the result.
        seed: Of weights and bias.
        zero_every: Every how many channels the scale is 0; 0 for none.
    """

    kind: str
    shape_in: tuple[int, ...]
    shape_weights: tuple[int, ...]
    shape_out: tuple[int, ...]
    axis: int
    options: Mapping[str, Any] = field(default_factory=dict)
    form: str = "int8"
    wide: bool = True
    per_channel: bool = True
    bias: bool = True
    outlier: int = 0
    spread: float = 1.0
    zero_point_in: int = 3
    zero_point_out: int = -7
    seed: int = 0
    zero_every: int = 0

    @property
    def channels(self) -> int:
        return self.shape_weights[self.axis]

    @property
    def scales(self) -> np.ndarray:
        scales = self._positive_scales
        if self.zero_every:
            scales[:: self.zero_every] = 0
        return scales

    @property
    def _positive_scales(self) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        return rng.uniform(0.002, 0.03, self.channels if self.per_channel else 1).astype(np.float32)

    @property
    def weights(self) -> np.ndarray:
        rng = np.random.default_rng(self.seed + 1)
        if self.form == "float32":
            return rng.normal(0, 0.3, self.shape_weights).astype(np.float32)
        weights = rng.integers(-127, 128, self.shape_weights).astype(np.int8)
        if self.channels > 2:
            np.moveaxis(weights, self.axis, 0)[1] = 0  # Trained models have channels without weights.
        return weights

    @property
    def scale_out(self) -> float:
        taps = np.prod(self.shape_weights) / self.channels
        return float(self.spread * self.scale_in * self._positive_scales.mean() * 60 * np.sqrt(taps))

    @property
    def scale_in(self) -> float:
        return 0.05 / 256 if self.form == "int16" else 0.05

    def builder(self) -> tuple[ModelBuilder, list[str]]:
        """Returns a builder with the tensors, and the names of the operands."""
        rng = np.random.default_rng(self.seed + 2)
        build, scales, quantised = ModelBuilder(), self.scales, self.form != "float32"
        if self.form == "int16":
            build.tensor("x", self.shape_in, np.int16, scale=self.scale_in)
            build.tensor("y", self.shape_out, np.int16, scale=self.scale_out)
        elif self.form == "int8":
            build.tensor("x", self.shape_in, np.int8, scale=0.05, zero_point=self.zero_point_in)
            build.tensor("y", self.shape_out, np.int8, scale=self.scale_out, zero_point=self.zero_point_out)
        else:
            build.tensor("x", self.shape_in, np.float32).tensor("y", self.shape_out, np.float32)
        quant = {"scales": scales, "axis": self.axis} if quantised else {}
        build.tensor("w", self.shape_weights, self.weights.dtype, data=self.weights, **quant)
        if not self.bias:
            return build, ["x", "w"]
        if self.form == "int16":
            bias = rng.integers(-300000, 300000, self.channels)
            dtype = np.int64 if self.wide else np.int32
            build.tensor("b", (self.channels,), dtype, scales=scales * np.float32(self.scale_in), data=bias)
        elif self.form == "int8":
            bias = rng.integers(-3000, 3000, self.channels)
            bias[-1] += self.outlier
            build.tensor("b", (self.channels,), np.int32, scales=scales * np.float32(0.05), data=bias)
        else:
            build.tensor("b", (self.channels,), np.float32, data=rng.normal(0, 0.5, self.channels))
        return build, ["x", "w", "b"]

    def model(self) -> bytes:
        """Returns the file."""
        build, operands = self.builder()
        options = dict(self.options)
        if self.form == "int16" and not self.wide:
            options["QuantizedBiasType"] = tflite.TensorType.INT32
        return build.op(self.kind, operands, ["y"], options).build(["x"], ["y"])

    def input(self) -> np.ndarray:
        """Returns a random input; the extremes of its type occur."""
        rng = np.random.default_rng(self.seed + 3)
        if self.form == "int16":
            x16 = rng.integers(-32768, 32768, self.shape_in).astype(np.int16)
            x16[..., 0] = rng.choice([-32768, 32767], x16[..., 0].shape)
            return x16
        if self.form != "int8":
            return rng.normal(0, 1, self.shape_in).astype(np.float32)
        x = rng.integers(-128, 128, self.shape_in).astype(np.int8)
        x[..., 0] = rng.choice([-128, 127], x[..., 0].shape)
        return x


def window_out(size: int, taps: int, stride: int, dilation: int, padding: str) -> int:
    """Returns the pixels of the result in one direction; 0 or less where no window fits."""
    if padding == "SAME":
        return -(-size // stride)
    return (size - (taps - 1) * dilation - 1) // stride + 1


@st.composite
def layers(draw: st.DrawFn, kind: str, form: str = "int8") -> Layer:
    """Draws a small layer of a kind, over all its options."""
    make = {"CONV_2D": _convolution, "DEPTHWISE_CONV_2D": _depthwise, "FULLY_CONNECTED": _fully_connected}[kind]
    layer = draw(make())
    layer.form = form
    layer.wide = form != "int16" or kind == "DEPTHWISE_CONV_2D" or draw(st.booleans())
    layer.per_channel, layer.bias = draw(st.booleans()), draw(st.booleans())
    # The reference's rescaling of sums of 64 bits is not defined for ratios of scales of 2^7 and more.
    layer.spread = draw(st.sampled_from([1.0, 1.0, 0.01, 100.0, 1e4 if form == "int16" else 1e-4]))
    layer.zero_point_in, layer.zero_point_out = draw(st.integers(-128, 127)), draw(st.integers(-128, 127))
    layer.seed, layer.zero_every = draw(st.integers(0, 2**20)), draw(st.sampled_from([0, 0, 0, 1, 3]))
    layer.options = {**layer.options, "FusedActivationFunction": draw(st.sampled_from(ACTIVATIONS))}
    return layer


@st.composite
def _image(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, int], tuple[int, int], dict[str, Any]]:
    """Draws input size with batch, window, size of the result, options."""
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    window, strides, dilations, size, out = [], [], [], [], []
    for _ in range(2):
        taps, dilation = draw(st.integers(1, 4)), draw(st.sampled_from([1, 1, 2]))
        stride = draw(st.integers(1, 3))
        least = (taps - 1) * dilation + 1 if padding == "VALID" else 1
        pixels = draw(st.integers(least, least + 7))
        window.append(taps)
        strides.append(stride)
        dilations.append(dilation)
        size.append(pixels)
        out.append(window_out(pixels, taps, stride, dilation, padding))
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    options |= {"DilationHFactor": dilations[0], "DilationWFactor": dilations[1]}
    return (draw(st.integers(1, 2)), *size), (window[0], window[1]), (out[0], out[1]), options


@st.composite
def _convolution(draw: st.DrawFn) -> Layer:
    (batch, height, width), window, out, options = draw(_image())
    groups, depth, channels = draw(st.sampled_from([1, 1, 2])), draw(st.integers(1, 9)), draw(st.integers(1, 6))
    shape_in, shape_out = (batch, height, width, depth * groups), (batch, *out, channels * groups)
    return Layer("CONV_2D", shape_in, (channels * groups, *window, depth), shape_out, 0, options)


@st.composite
def _depthwise(draw: st.DrawFn) -> Layer:
    (batch, height, width), window, out, options = draw(_image())
    depth, multiplier = draw(st.integers(1, 9)), draw(st.sampled_from([1, 1, 2, 3]))
    channels = depth * multiplier
    options["DepthMultiplier"] = multiplier
    return Layer(
        "DEPTHWISE_CONV_2D", (batch, height, width, depth), (1, *window, channels), (batch, *out, channels), 3, options
    )


@st.composite
def _fully_connected(draw: st.DrawFn) -> Layer:
    lead = tuple(draw(st.lists(st.integers(1, 3), min_size=0, max_size=3)))
    inputs, outputs, keep = draw(st.integers(1, 40)), draw(st.integers(1, 20)), draw(st.booleans())
    samples = int(np.prod(lead))
    shape_out = (*lead, outputs) if keep else (samples, outputs)
    return Layer("FULLY_CONNECTED", (*lead, inputs), (outputs, inputs), shape_out, 0, {"KeepNumDims": keep})


def check_near(layer: Layer, expected: np.ndarray) -> None:
    """Fails unless `evaluate` and the generated C are within 1e-4 of the largest value."""
    largest = max(float(np.abs(expected).max()), 1e-3)
    for run in (one_op.evaluate, one_op.compiled):
        (result,) = run(layer.model(), layer.input())
        assert result.dtype == np.float32
        assert float(np.abs(result - expected).max()) <= 1e-4 * largest, run.__name__


def dequantized(layer: Layer) -> np.ndarray:
    """Returns the reference's result for the float layer whose weights are the integers times their scales."""

    class Real(Layer):
        @property
        def weights(self) -> np.ndarray:
            shape = [1] * len(layer.shape_weights)
            shape[layer.axis] = -1
            return (layer.weights * layer.scales.reshape(shape)).astype(np.float32)

    fields = {f.name: getattr(layer, f.name) for f in dataclasses.fields(layer)}
    return oracle.tflm(Real(**{**fields, "form": "float32"}).model(), layer.input())[0]


def refusal(layer: Layer, tensor: str = "", **fields: object) -> str:
    """Returns the message with which the importer refuses a layer.

    Args:
        layer: The layer.
        tensor: Name of a tensor that is changed in the file.
        fields: What is changed: fields of the builder's tensor.
    """
    build, operands = layer.builder()
    for name, value in fields.items():
        setattr(next(t for t in build._tensors if t.name == tensor), name, value)
    with pytest.raises(ModelError) as caught:
        load(build.op(layer.kind, operands, ["y"], layer.options).build(["x"], ["y"]), name="model")
    return str(caught.value)

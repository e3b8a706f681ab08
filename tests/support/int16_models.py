"""Whole models of 16x8 quantisation, as TFLite makes them: int16 activations, int8 weights, int64 biases."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from support.tflite_builder import ModelBuilder


@dataclass
class Int16Model:
    """A model in the making; scales of results keep them within a few bits of the range.

    Attributes:
        shape: Of the last tensor.
        last: Its name.
        scale: Its scale.
        seed: Of weights and biases.
    """

    shape: tuple[int, ...]
    last: str = "x"
    scale: float = 2.0**-13
    seed: int = 0
    builder: ModelBuilder = field(default_factory=ModelBuilder)
    count: int = 0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def op(self, kind: str, operands: list[str], shape: tuple[int, ...], options: dict, scale: float = 0.0) -> str:
        """Adds an operator; the scale is that of the last tensor unless given."""
        self.count += 1
        self.last, self.shape, self.scale = f"t{self.count}", shape, scale or self.scale
        self.builder.tensor(self.last, shape, np.int16, scale=float(np.float32(self.scale)))
        self.builder.op(kind, operands, [self.last], options)
        return self.last

    def weighted(self, kind: str, weights: tuple[int, ...], axis: int, shape: tuple[int, ...], options: dict) -> str:
        """Adds a layer with random weights whose results spread as its inputs do."""
        channels, before = weights[axis], self.scale
        taps = int(np.prod(weights)) // channels
        scales = self.rng.uniform(0.5, 1.5, channels).astype(np.float32) / np.float32(70 * np.sqrt(taps))
        data = np.clip(self.rng.normal(0, 40, weights), -127, 127).astype(np.int8)
        names = [f"w{self.count}", f"b{self.count}"]
        self.builder.tensor(names[0], weights, np.int8, scales=scales, axis=axis, data=data)
        bias = self.rng.integers(-(2**20), 2**20, channels)
        self.builder.tensor(names[1], (channels,), np.int64, scales=scales * np.float32(before), data=bias)
        return self.op(kind, [self.last, *names], shape, options)

    def conv(self, channels: int, window: tuple[int, int], stride: int = 1, activation: str = "RELU") -> str:
        """Adds a convolution with SAME padding."""
        n, h, w, c = self.shape
        shape = (n, -(-h // stride), -(-w // stride), channels)
        options = {"Padding": "SAME", "StrideH": stride, "StrideW": stride, "FusedActivationFunction": activation}
        return self.weighted("CONV_2D", (channels, *window, c), 0, shape, options)

    def depthwise(self) -> str:
        """Adds a depthwise convolution of 3x3 with SAME padding."""
        options = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "DepthMultiplier": 1}
        options["FusedActivationFunction"] = "RELU"
        return self.weighted("DEPTHWISE_CONV_2D", (1, 3, 3, self.shape[3]), 3, self.shape, options)


def keyword_model(seed: int = 0) -> bytes:
    """Returns a keyword spotter: float32 [1, 49, 10, 1] in, float32 [1, 12] out, int16 between."""
    model = Int16Model((1, 49, 10, 1), seed=seed)
    model.builder.tensor("sound", model.shape, np.float32).tensor("x", model.shape, np.int16, scale=model.scale)
    model.builder.op("QUANTIZE", ["sound"], ["x"], {})
    model.conv(64, (10, 4), 2)
    for _ in range(2):
        before = model.last
        model.depthwise()
        model.conv(64, (1, 1))
        model.op("ADD", [before, model.last], model.shape, {"FusedActivationFunction": "NONE"}, model.scale * 1.5)
    n, h, w, c = model.shape
    options = {"Padding": "VALID", "StrideH": h, "StrideW": w, "FilterHeight": h, "FilterWidth": w}
    model.op("AVERAGE_POOL_2D", [model.last], (n, 1, 1, c), options)
    model.op("RESHAPE", [model.last], (n, c), {"NewShape": [n, c]})
    model.weighted("FULLY_CONNECTED", (12, c), 0, (n, 12), {})
    model.op("SOFTMAX", [model.last], (n, 12), {"Beta": 1.0}, 2.0**-15)
    model.builder.tensor("y", (n, 12), np.float32).op("DEQUANTIZE", [model.last], ["y"], {})
    return model.builder.build(["sound"], ["y"])


def image_model(seed: int = 0) -> bytes:
    """Returns a small image model, int16 [1, 16, 12, 3] in and [1, 8] out, whose least memory is one of cascades."""
    model = Int16Model((1, 16, 12, 3), seed=seed)
    model.builder.tensor("x", model.shape, np.int16, scale=model.scale)
    model.conv(12, (3, 3))
    before = model.last
    model.depthwise()
    model.conv(12, (3, 3))
    model.op("ADD", [before, model.last], model.shape, {"FusedActivationFunction": "RELU"}, model.scale * 1.5)
    model.conv(8, (1, 1), 2)
    n, h, w, c = model.shape
    options = {"Padding": "VALID", "StrideH": 2, "StrideW": 2, "FilterHeight": 2, "FilterWidth": 2}
    model.op("MAX_POOL_2D", [model.last], (n, h // 2, w // 2, c), options)
    options = {"Padding": "VALID", "StrideH": h // 2, "StrideW": w // 2, "FilterHeight": h // 2, "FilterWidth": w // 2}
    model.op("AVERAGE_POOL_2D", [model.last], (n, 1, 1, c), options)
    return model.builder.build(["x"], [model.last])

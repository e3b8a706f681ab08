"""Small models of which the NPU Ethos-U55 computes every node."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from support.channel_models import ChannelModel
from support.tflite_builder import ModelBuilder


def layers() -> bytes:
    """Returns a model of layers: convolutions, poolings, softmax with its table of 32 bits."""
    model = ChannelModel(3, (1, 11, 9, 3)).conv(17, (3, 3), 2).depthwise().conv(9, (1, 1))
    model.pool("MAX").pool("AVERAGE", (3, 3), 1).reshape((1, 81)).dense(10)
    return model.op("SOFTMAX", [model.last], (1, 10), {"Beta": 1.0}).build()


def elements() -> bytes:
    """Returns a model of operators on elements: sums, products, tables, a concatenation, padding."""
    model = ChannelModel(4, (1, 6, 5, 16)).conv(16)
    first = model.last
    model.unary("LEAKY_RELU").binary("ADD", first).binary("MUL", first).binary("SUB", first)
    model.pad()
    padded = model.last
    model.unary("HARD_SWISH").binary("ADD", padded)
    return model.pool("MAX", (2, 2), 2, "VALID").build()


def product() -> bytes:
    """Returns a model of one fully connected layer."""
    return ChannelModel(5, (1, 37)).dense(21).build()


#: Models by name: together they have every operation that Vela makes of what is claimed.
EVERY_OPERATION: Mapping[str, Callable[[], bytes]] = {"layers": layers, "elements": elements, "product": product}


def transposed(rng: np.random.Generator, strides: tuple[int, int], padding: str) -> tuple[bytes, np.ndarray]:
    """Draws a transposed convolution: a window of at least the strides, with or without bias and scales of channels.

    Returns:
        The model, and values of its input.
    """
    size, window = rng.integers(2, 9, 2), [int(rng.integers(max(stride, 1), 7)) for stride in strides]
    inputs, outputs = int(rng.integers(1, 20)), int(rng.integers(1, 20))
    zeros = rng.integers(-128, 128, 2)
    whole = [
        int(extent) * stride if padding == "SAME" else int(extent - 1) * stride + taps
        for extent, taps, stride in zip(size, window, strides, strict=True)
    ]
    result, shape = (1, *whole, outputs), (outputs, *window, inputs)
    scales = rng.uniform(0.002, 0.03, outputs if rng.random() < 0.7 else 1).astype(np.float32)
    weights = rng.integers(-127, 128, shape).astype(np.int8)
    build, image = ModelBuilder(), (1, *map(int, size), inputs)
    build.tensor("shape", (4,), np.int32, data=np.array(result))
    build.tensor("w", shape, np.int8, data=weights, scales=scales, axis=0)
    build.tensor("x", image, np.int8, scale=0.05, zero_point=int(zeros[0]))
    spread = float(rng.choice([1.0, 1.0, 0.01, 100.0]))
    scale = float(np.float32(spread * scales.mean() * np.sqrt(np.prod(window) * inputs)))
    build.tensor("y", result, np.int8, scale=scale, zero_point=int(zeros[1]))
    operands = ["shape", "w", "x"]
    if rng.random() < 0.5:
        bias = rng.integers(-3000, 3000, outputs)
        build.tensor("b", (outputs,), np.int32, scales=scales * np.float32(0.05), data=bias)
        operands.append("b")
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    model = build.op("TRANSPOSE_CONV", operands, ["y"], options, version=3).build(["x"], ["y"])
    return model, rng.integers(-128, 128, image).astype(np.int8)

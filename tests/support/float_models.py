"""Networks of real numbers, drawn, and samples for them."""

from __future__ import annotations

import numpy as np

from support.tflite_builder import ModelBuilder

CLASSES = 5


def convolutional(seed: int, bias: bool = True, spread: float = 0.0) -> bytes:
    """Returns a convolution, a depthwise one with an addition around it, a mean, and scores with a softmax.

    Args:
        seed: Of the weights.
        bias: False to leave biases out.
        spread: Standard deviation of the logarithm of the factors that channels have between the layers.
    """
    channels = 8
    rng = np.random.default_rng(seed)
    factors = np.exp(spread * rng.standard_normal(channels)).astype(np.float32)
    first = rng.standard_normal((channels, 3, 3, 3)).astype(np.float32) * factors[:, None, None, None]
    taps = rng.standard_normal((1, 3, 3, channels)).astype(np.float32) / factors
    last = rng.standard_normal((CLASSES, channels)).astype(np.float32)
    builder = ModelBuilder().tensor("x", (1, 8, 8, 3), np.float32)
    image = (1, 8, 8, channels)
    for name, shape in (("a", image), ("b", image), ("c", image)):
        builder.tensor(name, shape, np.float32)
    builder.tensor("m", (1, channels), np.float32)
    builder.tensor("s", (1, CLASSES), np.float32).tensor("y", (1, CLASSES), np.float32)
    for name, values in (("w1", first), ("w2", taps), ("w3", last)):
        builder.tensor(name, values.shape, np.float32, data=values)
    builder.tensor("axes", (2,), np.int32, data=np.array([1, 2], np.int32))
    biases = {}
    if bias:
        for name, values in (
            ("b1", rng.standard_normal(channels).astype(np.float32) * factors),
            ("b2", rng.standard_normal(channels).astype(np.float32)),
            ("b3", rng.standard_normal(CLASSES).astype(np.float32)),
        ):
            builder.tensor(name, values.shape, np.float32, data=values)
            biases[name] = [name]
    same = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "FusedActivationFunction": "RELU"}
    return (
        builder.op("CONV_2D", ["x", "w1", *biases.get("b1", [])], ["a"], same)
        .op("DEPTHWISE_CONV_2D", ["a", "w2", *biases.get("b2", [])], ["b"], {**same, "DepthMultiplier": 1})
        .op("ADD", ["a", "b"] if not spread else ["b", "b"], ["c"])
        .op("MEAN", ["c", "axes"], ["m"], {"KeepDims": False})
        .op("FULLY_CONNECTED", ["m", "w3", *biases.get("b3", [])], ["s"])
        .op("SOFTMAX", ["s"], ["y"], {"Beta": 1.0})
        .build(["x"], ["y"])
    )


def perceptron(seed: int) -> bytes:
    """Returns three layers of 16 numbers and a softmax: input `x`, output `y`, [1, 16]."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder()
    for name in ("x", "a", "b", "s", "y"):
        builder.tensor(name, (1, 16), np.float32)
    for name in ("w1", "w2", "w3"):
        builder.tensor(name, (16, 16), np.float32, data=rng.standard_normal((16, 16)).astype(np.float32))
    relu = {"FusedActivationFunction": "RELU"}
    return (
        builder.op("FULLY_CONNECTED", ["x", "w1"], ["a"], relu)
        .op("FULLY_CONNECTED", ["a", "w2"], ["b"], relu)
        .op("FULLY_CONNECTED", ["b", "w3"], ["s"])
        .op("SOFTMAX", ["s"], ["y"], {"Beta": 1.0})
        .build(["x"], ["y"])
    )


def embedding(seed: int) -> bytes:
    """Returns rows of a table, by four indices `x` from 0 to 49, and a layer that reads them."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder().tensor("x", (1, 4), np.int32).tensor("e", (1, 4, 8), np.float32)
    builder.tensor("table", (50, 8), np.float32, data=rng.standard_normal((50, 8)).astype(np.float32))
    builder.tensor("shape", (2,), np.int32, data=np.array([1, 32], np.int32)).tensor("f", (1, 32), np.float32)
    builder.tensor("w", (CLASSES, 32), np.float32, data=rng.standard_normal((CLASSES, 32)).astype(np.float32))
    builder.tensor("y", (1, CLASSES), np.float32)
    return (
        builder.op("GATHER", ["table", "x"], ["e"], {"Axis": 0, "BatchDims": 0})
        .op("RESHAPE", ["e", "shape"], ["f"])
        .op("FULLY_CONNECTED", ["f", "w"], ["y"])
        .build(["x"], ["y"])
    )


def images(count: int, seed: int) -> np.ndarray:
    """Returns samples for the input of `convolutional`."""
    return np.random.default_rng(seed).standard_normal((count, 8, 8, 3)).astype(np.float32)

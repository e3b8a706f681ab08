"""Models that have many operators in little space, for tests of the importer, the passes and the whole."""

from __future__ import annotations

import numpy as np

from support.tflite_builder import ModelBuilder

SCALE, ZERO_POINT = 0.05, -5
_IMAGE = (1, 8, 8, 4)


class Chain:
    """A model in the making, whose operators mostly follow one another."""

    def __init__(self, dtype: type, seed: int) -> None:
        self.builder = ModelBuilder()
        self.dtype = dtype
        self.count = 0
        self.rng = np.random.default_rng(seed)

    def value(self, shape, scale=SCALE, zero_point=ZERO_POINT, dtype=None) -> str:
        name = f"t{self.count}"
        self.count += 1
        dtype = dtype or self.dtype
        if dtype is np.int16:
            # Sigmoids and softmax have a scale of their own; there are no zero points.
            scale, zero_point = (scale / 256 if zero_point == ZERO_POINT else 2.0**-15), 0
        if np.dtype(dtype).kind == "f":
            self.builder.tensor(name, shape, dtype)
        else:
            self.builder.tensor(name, shape, dtype, scale=scale, zero_point=zero_point)
        return name

    def constant(self, values, dtype=np.int32) -> str:
        name = f"c{self.count}"
        self.count += 1
        values = np.asarray(values, dtype)
        self.builder.tensor(name, values.shape, dtype, data=values)
        return name

    def weights(self, shape, axis) -> tuple[str, str]:
        """Returns weights and bias, quantised per channel where the model is."""
        channels, names = shape[axis], (f"w{self.count}", f"b{self.count}")
        self.count += 1
        if np.dtype(self.dtype).kind == "f":
            self.builder.tensor(names[0], shape, np.float32, data=self.rng.normal(0, 0.3, shape))
            self.builder.tensor(names[1], (channels,), np.float32, data=self.rng.normal(0, 0.3, channels))
            return names
        scales = self.rng.uniform(0.001, 0.02, channels).astype(np.float32)
        data, bias = self.rng.integers(-127, 128, shape), self.rng.integers(-3000, 3000, channels)
        self.builder.tensor(names[0], shape, np.int8, scales=scales, axis=axis, data=data)
        wide = self.dtype is np.int16
        bias_scales = scales * np.float32(SCALE / 256 if wide else SCALE)
        self.builder.tensor(names[1], (channels,), np.int64 if wide else np.int32, scales=bias_scales, data=bias)
        return names

    def op(self, kind, inputs, shape, options=None, **type_of_result) -> str:
        result = self.value(shape, **type_of_result)
        self.builder.op(kind, inputs, [result], options)
        return result


def many_ops(dtype: type = np.int8, seed: int = 0) -> bytes:
    """Returns a model that uses nearly every operator once; input `t0` [1, 8, 8, 4], two outputs.

    Args:
        dtype: np.int8, np.int16 (but for the operators it does not have) or np.float32.
        seed: For weights.
    """
    c = Chain(dtype, seed)
    window = {"StrideH": 1, "StrideW": 1, "FilterHeight": 2, "FilterWidth": 2, "Padding": "SAME"}
    x = c.value(_IMAGE)
    y = c.op("PAD", [x, c.constant([[0, 0], [1, 1], [1, 1], [0, 0]])], (1, 10, 10, 4))
    y = c.op("CONV_2D", [y, *c.weights((4, 3, 3, 4), 0)], _IMAGE, {"StrideH": 1, "StrideW": 1, "Padding": "VALID"})
    y = c.op("RELU", [y], _IMAGE)
    y = c.op("DEPTHWISE_CONV_2D", [y, *c.weights((1, 3, 3, 4), 3)], _IMAGE, _DEPTHWISE)
    y = c.op("RELU6", [y], _IMAGE)
    y = c.op("ADD", [x, y], _IMAGE, {"FusedActivationFunction": "NONE"})
    y = c.op("MAX_POOL_2D", [y], _IMAGE, window)
    y = c.op("AVERAGE_POOL_2D", [y], _IMAGE, window)
    y = c.op("SUB", [x, y], _IMAGE, {})
    y = c.op("LEAKY_RELU", [y], _IMAGE, {"Alpha": 0.25})
    if dtype is not np.int16:
        y = c.op("HARD_SWISH", [y], _IMAGE)
    y = c.op("MUL", [x, y], _IMAGE, {}, scale=0.1)
    y = c.op("TRANSPOSE", [y, c.constant([0, 2, 1, 3])], _IMAGE, {}, scale=0.1)
    left, right = c.value((1, 8, 8, 2), 0.1), c.value((1, 8, 8, 2), 0.1)
    c.builder.op("SPLIT", [c.constant([3]), y], [left, right], {"NumSplits": 2})
    y = c.op("CONCATENATION", [right, left], _IMAGE, {"Axis": 3}, scale=0.1)
    bounds = (c.constant([0, 0, 0, 0]), c.constant([1, 8, 8, 4]), c.constant([1, 2, 2, 1]))
    y = c.op("STRIDED_SLICE", [y, *bounds], (1, 4, 4, 4), {}, scale=0.1)
    y = c.op("RESIZE_NEAREST_NEIGHBOR", [y, c.constant([8, 8])], _IMAGE, {}, scale=0.1)
    mean = c.op("MEAN", [y, c.constant([1, 2])], (1, 4), {"KeepDims": False})
    flat = c.op("RESHAPE", [y, c.constant([1, 256])], (1, 256), {"NewShape": [1, 256]}, scale=0.1)
    flat = c.op("EXPAND_DIMS", [flat, c.constant([1])], (1, 1, 256), {}, scale=0.1)
    flat = c.op("SQUEEZE", [flat], (1, 256), {"SqueezeDims": [1]}, scale=0.1)
    flat = c.op("FULLY_CONNECTED", [flat, *c.weights((6, 256), 0)], (1, 6), {}, scale=0.4)
    tanh = c.op("TANH", [flat], (1, 6), scale=1 / 128, zero_point=0)
    soft = c.op("SOFTMAX", [tanh], (1, 6), {"Beta": 1.0}, scale=1 / 256, zero_point=-128)
    sigmoid = c.op("LOGISTIC", [mean], (1, 4), scale=1 / 256, zero_point=-128)
    if np.dtype(dtype).kind == "f":
        return c.builder.build([x], [soft, sigmoid])
    requantised = c.op("QUANTIZE", [sigmoid], (1, 4), {}, scale=0.01, zero_point=3, dtype=np.int8)
    real = c.op("DEQUANTIZE", [requantised], (1, 4), {}, dtype=np.float32)
    return c.builder.build([x], [soft, real])


_DEPTHWISE = {"StrideH": 1, "StrideW": 1, "Padding": "SAME", "DepthMultiplier": 1, "FusedActivationFunction": "NONE"}


def drawn_layers(seed: int, count: int = 12, most: int = 64) -> bytes:
    """Returns an int8 model of drawn layers with weights, each with an input and an output of its own.

    Zero points of results are -128 with RELU, as most layers of the benchmarks have, or any without: then only some
    layers are requantised by a single rounding.

    Args:
        seed: For shapes and weights.
        count: Layers.
        most: Channels at most; also bounds the pixels, so that small boards hold the model.
    """
    c, rng = Chain(np.int8, seed), np.random.default_rng(seed)
    given, results = [], []
    for _ in range(count):
        kind = str(rng.choice(["CONV_2D"] * 5 + ["DEPTHWISE_CONV_2D"] * 5 + ["FULLY_CONNECTED"] * 2))
        zero_point = int(rng.choice([-128, -128, rng.integers(-100, 100)]))
        relu = {"FusedActivationFunction": "RELU" if zero_point == -128 else "NONE"}
        inputs, outputs = (
            int(rng.integers(1, most + 1)) if rng.random() < 0.5 else 4 * int(rng.integers(1, most // 4 + 1))
            for _ in range(2)
        )
        if kind == "FULLY_CONNECTED":
            shape, result = (1, inputs * int(rng.integers(1, most // 2))), (1, outputs)
            weights, axis, options = (outputs, shape[1]), 0, relu
        else:
            window, stride = int(rng.choice([1, 1, 3, 3, 5])), int(rng.choice([1, 1, 2]))
            shape = (1, *(int(rng.integers(4, most // 3)) for _ in range(2)), inputs)
            outputs = inputs if kind == "DEPTHWISE_CONV_2D" else outputs
            result = (1, -(-shape[1] // stride), -(-shape[2] // stride), outputs)
            options = {"StrideH": stride, "StrideW": stride, "Padding": "SAME", **relu}
            options |= {"DepthMultiplier": 1} if kind == "DEPTHWISE_CONV_2D" else {}
            axis = 3 if kind == "DEPTHWISE_CONV_2D" else 0
            weights = (1, window, window, outputs) if axis else (outputs, window, window, inputs)
        taps = int(np.prod(weights)) // outputs
        x = c.value(shape, 0.02, -128)
        y = c.op(kind, [x, *c.weights(weights, axis)], result, options, scale=0.015 * taps**0.5, zero_point=zero_point)
        given.append(x)
        results.append(y)
    return c.builder.build(given, results)


def drawn_others(seed: int, count: int = 12) -> bytes:
    """Returns an int8 model of drawn operators of other kinds, each with inputs and an output of its own.

    Pools, sums and products with changes of scale, means, activations, and fully connected layers of whole blocks.

    Args:
        seed: For shapes, scales and weights.
        count: Operators.
    """
    c, rng = Chain(np.int8, seed), np.random.default_rng(seed)
    kinds = ("MAX_POOL_2D", "AVERAGE_POOL_2D", "ADD", "MUL", "MEAN", "FULLY_CONNECTED", "SOFTMAX", "LOGISTIC")
    given, results = [], []
    for number in range(count):
        kind = kinds[number % len(kinds)]
        shape = (1, int(rng.integers(2, 17)), int(rng.integers(2, 17)), int(rng.choice([4, 8, 10, 16, 24, 32])))
        if kind == "FULLY_CONNECTED":
            shape, outputs = (1, 16 * int(rng.integers(1, 40))), 8 * int(rng.integers(1, 17))
            given.append(c.value(shape, 0.02, -128))
            y = c.op(
                kind, [given[-1], *c.weights((outputs, shape[1]), 0)], (1, outputs), {}, scale=0.4, zero_point=-128
            )
        elif kind in ("ADD", "MUL"):
            scales = rng.uniform(0.02, 0.1, 3)
            given += [c.value(shape, scales[0], 3), c.value(shape, scales[1], -7)]
            y = c.op(
                kind, given[-2:], shape, {}, scale=float(scales[2]) * (100 * float(scales[0]) if kind == "MUL" else 1)
            )
        elif kind == "MEAN":
            given.append(c.value(shape))
            y = c.op(kind, [given[-1], c.constant([1, 2])], (1, shape[3]), {"KeepDims": False})
        elif kind in ("SOFTMAX", "LOGISTIC"):
            shape = (1, int(rng.integers(2, 65)))
            given.append(c.value(shape))
            y = c.op(
                kind, [given[-1]], shape, {"Beta": 1.0} if kind == "SOFTMAX" else {}, scale=1 / 256, zero_point=-128
            )
        else:
            window, stride = int(rng.choice([2, 2, 3])), int(rng.choice([1, 2]))
            result = (1, -(-shape[1] // stride), -(-shape[2] // stride), shape[3])
            options = {"StrideH": stride, "StrideW": stride, "FilterHeight": window, "FilterWidth": window}
            given.append(c.value(shape))
            y = c.op(kind, [given[-1]], result, {**options, "Padding": "SAME"})
        results.append(y)
    return c.builder.build(given, results)

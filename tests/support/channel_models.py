"""Random int8 models in which channels are planted that are dead, constant, or equal to others."""

from __future__ import annotations

import numpy as np

from support.tflite_builder import ModelBuilder

SCALE = 0.05

#: Quantisation of results that is not a choice.
_FIXED = {"LOGISTIC": (1 / 256, -128), "SOFTMAX": (1 / 256, -128), "TANH": (1 / 128, 0)}


class ChannelModel:
    """Builds a model operator by operator; `image` or `vector` say what the last result is.

    Attributes:
        builder: The model so far.
        last: Name of the last result.
        shape: Its shape.
        scale: Its scale.
        zero_point: Its zero point.
    """

    def __init__(self, seed: int, shape: tuple[int, ...]) -> None:
        self.rng = np.random.default_rng(seed)
        self.builder = ModelBuilder()
        self.count = 0
        self.shape, self.zero_point = shape, int(self.rng.integers(-128, 128))
        self.scale = SCALE
        self.last = self._tensor(shape, self.zero_point)
        self.input = self.last

    def _tensor(self, shape: tuple[int, ...], zero_point: int) -> str:
        name = f"t{self.count}"
        self.count += 1
        self.builder.tensor(name, shape, np.int8, scale=self.scale, zero_point=zero_point)
        return name

    def _constant(self, values: np.ndarray, **quant: object) -> str:
        name = f"c{self.count}"
        self.count += 1
        self.builder.tensor(name, values.shape, values.dtype, data=values, **quant)
        return name

    def op(self, kind: str, inputs: list, shape: tuple[int, ...], options: dict | None = None, *, same: bool = False):
        """Adds an operator whose result is the last one; `same` keeps the quantisation."""
        if kind in _FIXED:
            self.scale, self.zero_point = _FIXED[kind]
        elif not same:
            self.scale, self.zero_point = SCALE, int(self.rng.choice([-128, -128, 127, -5]))
        result = self._tensor(shape, self.zero_point)
        self.builder.op(kind, inputs, [result], options or {})
        self.last, self.shape = result, shape
        return self

    def planted(self, outputs: int, taps: int, inputs: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns weights [outputs, taps, inputs] and biases with planted channels of every kind."""
        rng = self.rng
        weights = rng.integers(-60, 61, (outputs, taps, inputs))
        bias = rng.integers(-4000, 4001, outputs)
        weights[rng.random(outputs) < 0.3] = 0
        saturated = rng.random(outputs) < 0.15
        bias[saturated] = rng.choice([-(2**22), 2**22], saturated.sum())
        for target in np.flatnonzero(rng.random(outputs) < 0.25):
            source = rng.integers(outputs)
            weights[target], bias[target] = weights[source], bias[source]
        weights[:, :, rng.random(inputs) < 0.2] = 0
        return weights.astype(np.int8), bias.astype(np.int32)

    def _weights(self, weights: np.ndarray, bias: np.ndarray, axis: int) -> list:
        """Returns operands: scales per tensor or per channel, in few different values; sometimes no bias."""
        outputs = weights.shape[axis]
        scales = self.rng.choice([0.01, 0.02], outputs).astype(np.float32)
        per_channel = bool(self.rng.integers(2)) and axis != 1
        quant = {"scales": scales, "axis": axis} if per_channel else {"scale": 0.015}
        bias_quant = {"scales": scales * SCALE, "axis": 0} if per_channel else {"scale": 0.015 * SCALE}
        operands = [self.last, self._constant(weights, **quant)]
        return operands if self.rng.random() < 0.2 else [*operands, self._constant(bias, **bias_quant)]

    def conv(
        self, outputs: int, window: tuple[int, int] = (3, 3), stride: int = 1, padding: str = "SAME", dilation: int = 1
    ):
        """Adds a convolution."""
        n, h, w, c = self.shape
        weights, bias = self.planted(outputs, window[0] * window[1], c)
        operands = self._weights(weights.reshape(outputs, *window, c), bias, 0)
        options = {"StrideH": stride, "StrideW": stride, "Padding": padding, **self._activation()}
        options |= {"DilationHFactor": dilation, "DilationWFactor": dilation}
        size = _size((h, w), window, stride, padding, dilation)
        return self.op("CONV_2D", operands, (n, *size, outputs), options)

    def depthwise(
        self,
        multiplier: int = 1,
        window: tuple[int, int] = (3, 3),
        stride: int = 1,
        padding: str = "SAME",
        dilation: int = 1,
    ):
        """Adds a depthwise convolution."""
        n, h, w, c = self.shape
        weights, bias = self.planted(c * multiplier, window[0] * window[1], 1)
        operands = self._weights(weights[..., 0].T.reshape(1, *window, c * multiplier), bias, 3)
        options = {"StrideH": stride, "StrideW": stride, "Padding": padding, "DepthMultiplier": multiplier}
        options |= {"DilationHFactor": dilation, "DilationWFactor": dilation, **self._activation()}
        size = _size((h, w), window, stride, padding, dilation)
        return self.op("DEPTHWISE_CONV_2D", operands, (n, *size, c * multiplier), options)

    def dense(self, outputs: int):
        """Adds a fully connected layer over all that a sample holds."""
        inputs = int(np.prod(self.shape[1:]))
        weights, bias = self.planted(outputs, 1, inputs)
        operands = self._weights(weights[:, 0], bias, 0)
        return self.op("FULLY_CONNECTED", operands, (self.shape[0], outputs), self._activation())

    def pool(self, kind: str, window: tuple[int, int] = (2, 2), stride: int = 2, padding: str = "SAME"):
        """Adds a pooling."""
        n, h, w, c = self.shape
        size = _size((h, w), window, stride, padding)
        options = {"FilterHeight": window[0], "FilterWidth": window[1], "Padding": padding}
        options |= {"StrideH": stride, "StrideW": stride}
        return self.op(f"{kind}_POOL_2D", [self.last], (n, *size, c), options, same=True)

    def mean(self):
        """Adds a mean over the image."""
        axes = self._constant(np.array([1, 2], np.int32))
        return self.op("MEAN", [self.last, axes], (self.shape[0], self.shape[3]), {"KeepDims": False})

    def pad(self):
        """Adds padding around the image that no convolution takes over."""
        n, h, w, c = self.shape
        pads = self._constant(np.array([[0, 0], [1, 0], [0, 1], [0, 0]], np.int32))
        return self.op("PAD", [self.last, pads], (n, h + 1, w + 1, c), same=True)

    def unary(self, kind: str):
        """Adds an activation."""
        return self.op(kind, [self.last], self.shape)

    def binary(self, kind: str, other: str | None = None):
        """Adds arithmetic with another result of this shape, or with a constant for each channel."""
        if other is None:
            values = self.rng.integers(-128, 128, self.shape[-1]).astype(np.int8)
            other = self._constant(values, scale=SCALE, zero_point=3)
        return self.op(kind, [self.last, other], self.shape, self._activation())

    def reshape(self, shape: tuple[int, ...]):
        """Adds a reshape."""
        wanted = self._constant(np.array(shape, np.int32))
        return self.op("RESHAPE", [self.last, wanted], shape, same=True)

    def join(self, other: str, channels: int):
        """Adds a concatenation with another image of this size and zero point."""
        shape = (*self.shape[:-1], self.shape[-1] + channels)
        return self.op("CONCATENATION", [self.last, other], shape, {"Axis": -1}, same=True)

    def halves(self):
        """Adds a split into two halves of the channels, of which the first is the last result; returns the second."""
        shape = (*self.shape[:-1], self.shape[-1] // 2)
        first, second = (self._tensor(shape, self.zero_point) for _ in range(2))
        axis = self._constant(np.array(len(shape) - 1, np.int32).reshape(()))
        self.builder.op("SPLIT", [axis, self.last], [first, second], {"NumSplits": 2})
        self.last, self.shape = first, shape
        return second

    def _activation(self) -> dict:
        return {"FusedActivationFunction": str(self.rng.choice(["NONE", "RELU", "RELU6"]))}

    def build(self, *outputs: str) -> bytes:
        """Returns the file; its outputs are those given and the last result."""
        return self.builder.build([self.input], [*outputs, self.last])


def _size(
    image: tuple[int, int], window: tuple[int, int], stride: int, padding: str, dilation: int = 1
) -> tuple[int, int]:
    taken = (0, 0) if padding == "SAME" else tuple((taps - 1) * dilation for taps in window)
    height, width = (-(-(extent - less) // stride) for extent, less in zip(image, taken, strict=True))
    return height, width


def random_model(seed: int) -> bytes:
    """Returns a model of random operators, all drawn from the seed."""
    rng = np.random.default_rng([seed, 1])
    model = ChannelModel(seed, (int(rng.integers(1, 3)), int(rng.integers(3, 7)), int(rng.integers(3, 7)), 3))
    model.conv(int(rng.choice([6, 8])))
    outputs = []
    for _ in range(int(rng.integers(2, 7))):
        _random_step(model, rng)
        if rng.random() < 0.1:
            outputs.append(model.last)
    _random_end(model, rng)
    return model.build(*(name for name in outputs if name != model.last))


def _random_step(model: ChannelModel, rng: np.random.Generator) -> None:
    before, channels = (model.last, model.zero_point), model.shape[-1]
    window, stride = tuple(rng.integers(1, 4, 2).tolist()), int(rng.integers(1, 3))
    padding = "SAME" if min(model.shape[1:3]) < 3 else str(rng.choice(["SAME", "VALID"]))
    steps = [
        lambda: model.conv(int(rng.choice([4, 6, 8])), window, stride, padding),
        lambda: model.conv(int(rng.choice([4, 8])), (1, 1)),
        lambda: model.depthwise(int(rng.choice([1, 1, 2])) if channels < 9 else 1, window, stride, padding),
        lambda: model.pool(str(rng.choice(["AVERAGE", "MAX"]))),
        lambda: model.pad(),
        lambda: model.unary(str(rng.choice(["RELU", "LOGISTIC", "TANH", "HARD_SWISH"]))),
        lambda: model.binary(str(rng.choice(["ADD", "SUB", "MUL"]))),
        lambda: model.conv(channels, (1, 1)).binary(str(rng.choice(["ADD", "SUB", "MUL"])), before[0]),
        lambda: model.join(model.last, channels) if channels < 9 else model.unary("RELU"),
        lambda: model.binary("ADD", model.halves()) if channels % 2 == 0 else model.pad(),
        lambda: (
            model.reshape((model.shape[0], 1, model.shape[1], model.shape[2] * channels))
            if model.shape[2] * channels <= 24
            else model.pool("MAX")
        ),
    ]
    steps[int(rng.integers(len(steps)))]()


def _random_end(model: ChannelModel, rng: np.random.Generator) -> None:
    if rng.random() < 0.5:
        model.mean()
    elif rng.random() < 0.5:
        model.reshape((model.shape[0], int(np.prod(model.shape[1:]))))
    model.dense(4)
    if rng.random() < 0.5:
        model.dense(3)

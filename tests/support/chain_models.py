"""Deep int8 networks of convolutions, such as compile time is measured with: any number of layers, small weights."""

from __future__ import annotations

import numpy as np

from support.tflite_builder import ModelBuilder

#: Stages of a network; the first layer of each halves rows and columns.
STAGES = 4

#: Blocks of MobileNetV2: factor of the expansion, channels behind it, blocks, and stride of the first one.
_MOBILENET_V2 = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
]


def chain(layers: int, size: int = 64, channels: int = 8) -> bytes:
    """Returns a TFLite file of a network with some layers: convolutions, depthwise convolutions and additions.

    The layers repeat in groups of seven: a 3x3 convolution; a block of an expansion, a depthwise 3x3 convolution, a
    projection and the addition of the operand of the block; a depthwise 3x3 convolution; a 1x1 convolution.

    Args:
        layers: Number of operators, at least 2.
        size: Rows and columns of the input.
        channels: Channels between blocks; inside a block there are four times as many.
    """
    return _Chain(size, channels).build(layers)


def mobilenet_v2(size: int = 224) -> bytes:
    """Returns a TFLite file with the convolutions and additions of MobileNetV2 1.0, with drawn weights.

    Args:
        size: Rows and columns of the input.
    """
    net = _Chain(size, channels=0)
    net._convolve(32, taps=3, stride=2)
    for expansion, channels, blocks, stride in _MOBILENET_V2:
        for block in range(blocks):
            skip = net.at
            if expansion > 1:
                net._convolve(expansion * net.width)
            net._convolve_channels(stride if block == 0 else 1)
            net._convolve(channels)
            if block > 0:
                net._add(skip)
    net._convolve(1280)
    return net.model.build(["x"], [net.at])


class _Chain:
    def __init__(self, size: int, channels: int) -> None:
        self.rng = np.random.default_rng(0)
        self.model = ModelBuilder()
        self.channels, self.size, self.count = channels, size, 0
        self.at, self.width = "x", 3
        self.model.tensor("x", (1, size, size, 3), np.int8, scale=0.05)

    def build(self, layers: int) -> bytes:
        skip = ""
        for index in range(layers):
            first_of_stage = index % -(-layers // STAGES) == 0
            kind = index % 7
            if first_of_stage or kind == 0:
                self._convolve(self.channels, taps=3, stride=2 if first_of_stage else 1)
                skip = ""
            elif kind == 1:
                skip = self.at
                self._convolve(4 * self.channels)
            elif kind in (2, 5):
                self._convolve_channels()
            elif kind == 4 and skip and self.width == self.channels:
                self._add(skip)
            else:
                self._convolve(self.channels)
        return self.model.build(["x"], [self.at])

    def _result(self, width: int) -> str:
        self.count += 1
        self.width = width
        name = f"t{self.count}"
        self.model.tensor(name, (1, self.size, self.size, width), np.int8, scale=0.05)
        return name

    def _convolve(self, width: int, taps: int = 1, stride: int = 1) -> None:
        weights = self.rng.integers(-127, 128, (width, taps, taps, self.width))
        self._weighted("CONV_2D", weights, 0, width, stride, {})

    def _convolve_channels(self, stride: int = 1) -> None:
        weights = self.rng.integers(-127, 128, (1, 3, 3, self.width))
        self._weighted("DEPTHWISE_CONV_2D", weights, 3, self.width, stride, {"DepthMultiplier": 1})

    def _weighted(
        self, kind: str, weights: np.ndarray, axis: int, width: int, stride: int, options: dict[str, int]
    ) -> None:
        operand, self.size = self.at, -(-self.size // stride)
        result = self._result(width)
        scales = np.full(width, 0.002, np.float32)
        self.model.tensor(f"w{self.count}", weights.shape, np.int8, scales=scales, axis=axis, data=weights)
        bias = self.rng.integers(-500, 500, width)
        self.model.tensor(f"b{self.count}", (width,), np.int32, scales=scales * 0.05, data=bias)
        operands = [operand, f"w{self.count}", f"b{self.count}"]
        strides = {"Padding": "SAME", "StrideH": stride, "StrideW": stride}
        self.model.op(kind, operands, [result], {**strides, "FusedActivationFunction": "RELU", **options})
        self.at = result

    def _add(self, skip: str) -> None:
        operand = self.at
        result = self._result(self.width)
        self.model.op("ADD", [skip, operand], [result], {})
        self.at = result

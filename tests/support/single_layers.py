"""Single int8 layers with weights: what they are, models of many of them, and drawn ones."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod, sqrt
from typing import Any

import numpy as np

from support.tflite_builder import ModelBuilder

_KINDS = {"conv2d": "CONV_2D", "depthwise_conv2d": "DEPTHWISE_CONV_2D", "fully_connected": "FULLY_CONNECTED"}

#: Scales of inputs and of weights, the latter times a factor for each channel.
_INPUT_SCALE, _WEIGHT_SCALE = 0.02, 0.005

#: Multiply-accumulates of a drawn layer, at most: a long one tells no more than a short one.
_MOST_MACS = 300_000

#: Likewise of a large one, and elements of each of its tensors.
_MOST_LARGE_MACS, _MOST_ELEMENTS = 1_000_000, 120_000


@dataclass(frozen=True)
class SingleLayer:
    """A layer with an input and an output of its own.

    Attributes:
        op: `conv2d`, `depthwise_conv2d` or `fully_connected`.
        in_channels: Channels of the input; of a fully connected layer its elements.
        out_channels: Channels of the output.
        size: Rows and columns of the input.
        kernel: Rows and columns of the window.
        stride: In rows and columns.
        dilation: Pixels from one tap to the next, in rows and columns.
        padding: `same` or `valid`.
        groups: Groups of channels of a convolution.
        batch: Inputs of one call.
        input_zero_point: Zero point of the input.
        output_zero_point: Zero point of the output; with -128 the layer has a fused RELU.
    """

    op: str
    in_channels: int
    out_channels: int
    size: tuple[int, int] = (1, 1)
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: str = "same"
    groups: int = 1
    batch: int = 1
    input_zero_point: int = -128
    output_zero_point: int = -128

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> SingleLayer:
        """Returns a layer from a row of `tests/bench/single_layers.json`, which leaves out fields that do not apply."""
        names = ("kernel", "stride", "dilation")
        pairs: dict[str, Any] = {name: (row[name][0], row[name][1]) for name in names if name in row}
        size = (row.get("height", 1), row.get("width", 1))
        given = {key: row[key] for key in ("padding", "groups", "batch", "output_zero_point") if key in row}
        return cls(row["op"], row["in_channels"], row["out_channels"], size, **pairs, **given)

    @property
    def results(self) -> tuple[int, int]:
        """Rows and columns of the output."""
        axes = zip(self.size, self.kernel, self.stride, self.dilation, strict=True)
        same = self.padding == "same"
        rows, cols = (-(-size // s) if same else (size - (k - 1) * d - 1) // s + 1 for size, k, s, d in axes)
        return rows, cols

    @property
    def taps(self) -> int:
        """Products of an element of the output."""
        depthwise = self.op == "depthwise_conv2d"
        return prod(self.kernel) * (1 if depthwise else self.in_channels // self.groups)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the layer, the padding included."""
        return self.batch * prod(self.results) * self.out_channels * self.taps

    @property
    def name(self) -> str:
        """The layer in a few words, with what is not usual."""
        many = f" n{self.batch}" if self.batch > 1 else ""
        if self.op == "fully_connected":
            return f"fully connected {self.in_channels} to {self.out_channels}{many}"
        kind = "conv" if self.op == "conv2d" else "depthwise"
        text = f"{kind} {_by(self.kernel)}, {_by(self.size)}, {self.in_channels} to {self.out_channels}"
        text += f", stride {_by(self.stride)}" if self.stride != (1, 1) else ""
        text += f", dilation {_by(self.dilation)}" if self.dilation != (1, 1) else ""
        text += f", {self.groups} groups" if self.groups > 1 else ""
        return text + (", valid" if self.padding == "valid" else "") + many

    def of_fours(self) -> SingleLayer:
        """Returns the nearest layer whose counts of channels are multiples of four; itself if they are."""

        def near(count: int, step: int = 4) -> int:
            return max(step, (count + step // 2) // step * step)

        if self.op == "depthwise_conv2d":
            inputs = near(self.in_channels)
            return replace(self, in_channels=inputs, out_channels=inputs * (self.out_channels // self.in_channels))
        step = 4 * self.groups
        return replace(self, in_channels=near(self.in_channels, step), out_channels=near(self.out_channels, step))


def _by(pair: tuple[int, int]) -> str:
    return f"{pair[0]}x{pair[1]}"


def model(layers: Sequence[SingleLayer], seed: int = 0) -> bytes:
    """Returns a model of layers; layer n reads the input `x<n>` and writes the output `y<n>`.

    Args:
        layers: The layers.
        seed: For weights and biases.
    """
    builder, rng = ModelBuilder(), np.random.default_rng(seed)
    for number, layer in enumerate(layers):
        _add(builder, layer, number, rng)
    return builder.build([f"x{n}" for n in range(len(layers))], [f"y{n}" for n in range(len(layers))])


def _add(builder: ModelBuilder, layer: SingleLayer, number: int, rng: np.random.Generator) -> None:
    x, y, w, b = (f"{letter}{number}" for letter in "xywb")
    dense, depthwise = layer.op == "fully_connected", layer.op == "depthwise_conv2d"
    pixels = ((), ()) if dense else (layer.size, layer.results)
    if dense:
        shape: tuple[int, ...] = (layer.out_channels, layer.in_channels)
    elif depthwise:
        shape = (1, *layer.kernel, layer.out_channels)
    else:
        shape = (layer.out_channels, *layer.kernel, layer.in_channels // layer.groups)
    scales = _WEIGHT_SCALE * rng.uniform(0.5, 1.5, 1 if dense else layer.out_channels).astype(np.float32)
    scale = _INPUT_SCALE * _WEIGHT_SCALE * sqrt(layer.taps) * 50
    given, result = ((layer.batch, *p, c) for p, c in zip(pixels, (layer.in_channels, layer.out_channels), strict=True))
    builder.tensor(x, given, np.int8, scale=_INPUT_SCALE, zero_point=layer.input_zero_point)
    builder.tensor(y, result, np.int8, scale=scale, zero_point=layer.output_zero_point)
    weights, biases = rng.integers(-127, 128, shape), rng.integers(-2000, 2000, layer.out_channels)
    builder.tensor(w, shape, np.int8, scales=scales, axis=3 if depthwise else 0, data=weights)
    builder.tensor(b, (layer.out_channels,), np.int32, scales=scales * np.float32(_INPUT_SCALE), data=biases)
    options: dict[str, Any] = {"FusedActivationFunction": "RELU" if layer.output_zero_point == -128 else "NONE"}
    if not dense:
        (rows, cols), (down, right) = layer.stride, layer.dilation
        options |= {"Padding": layer.padding.upper(), "StrideH": rows, "StrideW": cols}
        options |= {"DilationHFactor": down, "DilationWFactor": right}
    if depthwise:
        options["DepthMultiplier"] = layer.out_channels // layer.in_channels
    builder.op(_KINDS[layer.op], [x, w, b], [y], options)


def drawn(count: int, seed: int) -> list[SingleLayer]:
    """Returns drawn layers: windows of 1 to 9, strides of 1 to 4, dilations, groups, multipliers, batches, zero points.

    Channels are any numbers up to 70; one layer in eight has sums that 23 bits do not hold.

    Args:
        count: Number of layers.
        seed: For the draw.
    """
    draw, found = random.Random(seed), list[SingleLayer]()
    while len(found) < count:
        layer = _drawn(draw)
        if layer is not None and layer.macs <= _MOST_MACS:
            found.append(layer)
    return found


def _drawn(draw: random.Random) -> SingleLayer | None:
    """Returns a layer; None if its window is larger than its input."""
    op = draw.choice(["conv2d"] * 5 + ["depthwise_conv2d"] * 5 + ["fully_connected"] * 2)
    of_input, of_output = draw.randint(-128, 127), draw.randint(-127, 127)
    layer = SingleLayer(
        op,
        draw.randint(1, 70),
        draw.randint(1, 70),
        batch=draw.choice([1] * 7 + [2, 3]),
        input_zero_point=draw.choice([-128, -128, of_input]),
        output_zero_point=draw.choice([-128, -128, of_output]),
    )
    large = draw.random() < 1 / 8
    if op == "fully_connected":
        return replace(layer, in_channels=draw.randint(1000, 4000) if large else draw.randint(1, 600))
    layer = _with_window(layer, draw)
    if op == "depthwise_conv2d":
        multiplier = draw.choice([1, 1, 1, 1, 2, draw.randint(3, 8)])
        layer = replace(layer, out_channels=layer.in_channels * multiplier)
    elif large:
        kernel = draw.choice([(3, 3), (5, 5)])
        layer = replace(layer, in_channels=draw.randint(40, 120), kernel=kernel, dilation=(1, 1))
    elif draw.random() < 1 / 8:
        groups = draw.choice([2, 3, 4])
        inputs, outputs = (groups * max(1, n // groups) for n in (layer.in_channels, layer.out_channels))
        layer = replace(layer, in_channels=inputs, out_channels=outputs, groups=groups)
    return layer if min(layer.results) > 0 else None


def _with_window(layer: SingleLayer, draw: random.Random) -> SingleLayer:
    """Returns a layer over a drawn image with a drawn window."""
    window = draw.choice([1, 1, 3, 3, 3, 5, draw.randint(1, 9)])
    stride, dilation = draw.choice([1, 1, 1, 2, 2, draw.randint(3, 4)]), draw.choice([1, 1, 1, 1, 2, 3])
    dilated = (dilation, draw.choice([dilation, dilation, 1]))
    return replace(
        layer,
        size=(draw.randint(2, 20), draw.randint(2, 20)),
        kernel=(window, draw.choice([window, window, window, 1, draw.randint(1, 9)])),
        stride=(stride, draw.choice([stride, stride, 1])),
        dilation=dilated if stride == 1 else (1, 1),
        padding=draw.choice(["same", "same", "valid"]),
    )


def large(seed: int) -> SingleLayer:
    """Returns a drawn layer of a long image, a large window or many channels.

    Args:
        seed: For the draw.
    """
    draw = random.Random(seed)
    while True:
        layer = _large(draw)
        elements = layer.batch * max(layer.in_channels * prod(layer.size), layer.out_channels * prod(layer.results))
        weights = layer.out_channels * layer.taps
        if min(layer.results) > 0 and layer.macs <= _MOST_LARGE_MACS and max(elements, weights) <= _MOST_ELEMENTS:
            return layer


def _large(draw: random.Random) -> SingleLayer:
    inputs, outputs = (draw.choice([draw.randint(1, 16), draw.randint(1, 64), draw.randint(60, 700)]) for _ in range(2))
    depthwise = draw.random() < 1 / 2
    size = draw.randint(1, 24), draw.choice([draw.randint(1, 40), draw.randint(60, 500)])
    kernel = draw.choice([1, 3, 5, 7, draw.randint(1, 40)]), draw.choice([1, 3, 5, 7, draw.randint(1, 11)])
    spread = draw.choice([(1, 1), (2, 2), (draw.randint(1, 8), draw.randint(1, 8))])
    turn = draw.choice([1, -1])
    return SingleLayer(
        "depthwise_conv2d" if depthwise else "conv2d",
        inputs,
        inputs * draw.choice([1, 1, 2, 3]) if depthwise else outputs,
        size[::turn],
        kernel[::turn],
        **{draw.choice(["stride", "dilation"]): spread},
        padding=draw.choice(["same", "valid"]),
        batch=draw.choice([1, 1, 1, 2]),
        input_zero_point=draw.choice([-128, draw.randint(-128, 127)]),
        output_zero_point=draw.choice([-128, draw.randint(-127, 127)]),
    )

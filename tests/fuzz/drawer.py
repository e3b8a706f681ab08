"""What random graphs are drawn with: tensors and their quantisation, constants, weights, windows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from support.tflite_builder import ModelBuilder

FORMS = {"int8": np.int8, "int16": np.int16, "float32": np.float32}
_ACTIVATIONS = ("NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1")


@dataclass(frozen=True)
class Limits:
    """How large a graph may get.

    Attributes:
        elements: Of one tensor.
        macs: Of one layer.
        operators: Most that are drawn; some draw two.
    """

    elements: int = 12_000
    macs: int = 400_000
    operators: int = 10


@dataclass(frozen=True)
class Value:
    """A tensor of activations: name, shape and quantisation (none of floats)."""

    name: str
    shape: tuple[int, ...]
    scale: float
    zero_point: int


class Drawer:
    """Grows a model operator by operator.

    Args:
        rng: Everything follows from it.
        form: `int8`, `int16` or `float32`.
        limits: How large it may get.
    """

    def __init__(self, rng: np.random.Generator, form: str, limits: Limits) -> None:
        self.rng, self.form, self.limits = rng, form, limits
        self.dtype = FORMS[form]
        self.builder = ModelBuilder()
        self.values: list[Value] = []
        self.read: set[str] = set()
        self.computed: set[str] = set()
        self.count = 0

    # What is drawn of values.

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def among(self, first: int, last: int) -> int:
        """Returns an integer from `first` to `last`, small ones more often."""
        return first + int((last - first + 1) * self.rng.random() ** 2)

    def choice(self, *items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def value(self, shape: tuple[int, ...], scale: float | None = None, zero_point: int | None = None) -> Value:
        """Adds a tensor; its quantisation is drawn where it is not given."""
        if scale is None:
            scale = float(np.float32(10 ** self.rng.uniform(-2.5, -0.3) / (256 if self.form == "int16" else 1)))
        if zero_point is None:
            zero_point = self.choice(-128, 127, 0, int(self.rng.integers(-128, 128)))
        if self.form != "int8":
            zero_point = 0
        value = Value(self.name("t"), tuple(int(n) for n in shape), scale, zero_point)
        quant = {} if self.form == "float32" else {"scale": scale, "zero_point": zero_point}
        self.builder.tensor(value.name, value.shape, self.dtype, **quant)
        self.values.append(value)
        return value

    def like(self, x: Value, shape: tuple[int, ...]) -> Value:
        """Adds a tensor with the quantisation of another."""
        return self.value(shape, x.scale, x.zero_point)

    def integers(self, values: Any, dtype: type = np.int32) -> str:
        """Adds a constant of shapes, axes or indices."""
        name = self.name("c")
        data = np.asarray(values, dtype)
        self.builder.tensor(name, data.shape, dtype, data=data)
        return name

    def constant(self, shape: tuple[int, ...]) -> Value:
        """Adds a constant operand of an elementwise operator."""
        name = self.name("k")
        if self.form == "float32":
            self.builder.tensor(name, shape, np.float32, data=self.rng.normal(0, 1, shape))
            return Value(name, shape, 0.0, 0)
        limits = np.iinfo(self.dtype)
        data = self.rng.integers(limits.min, limits.max, shape, endpoint=True)
        scale = float(np.float32(self.rng.uniform(0.005, 0.1) / (256 if self.form == "int16" else 1)))
        zero_point = int(self.rng.integers(-100, 100)) if self.form == "int8" else 0
        self.builder.tensor(name, shape, self.dtype, scale=scale, zero_point=zero_point, data=data)
        return Value(name, shape, scale, zero_point)

    def op(self, kind: str, operands: list[str], results: list[Value], options: dict[str, Any] | None = None) -> None:
        self.builder.op(kind, operands, [value.name for value in results], options or {})
        self.read.update(operands)
        self.computed.update(value.name for value in results)

    def pick(self, fits: Callable[[Value], bool] = lambda _: True) -> Value | None:
        """Returns a tensor that fits; mostly one that nobody has read, or the last."""
        found = [value for value in self.values if fits(value)]
        fresh = [value for value in found if value.name not in self.read]
        if not found:
            return None
        if fresh and self.chance(0.7):
            return fresh[-1] if self.chance(0.6) else self.choice(*fresh)
        return self.choice(*found)

    def image(self) -> Value | None:
        return self.pick(lambda value: len(value.shape) == 4)

    def activation(self) -> dict[str, Any]:
        return {"FusedActivationFunction": self.choice(*_ACTIVATIONS)}

    # What layers have.

    def weights(self, shape: tuple[int, ...], axis: int, x: Value) -> tuple[list[str], float]:
        """Returns the operands, and a scale with which results use their range."""
        channels, taps = shape[axis], math.prod(shape) // shape[axis]
        has_bias, name, bias = self.chance(0.8), self.name("w"), self.name("b")
        if self.form == "float32":
            spread = 1 / math.sqrt(taps)
            self.builder.tensor(name, shape, np.float32, data=self.rng.normal(0, spread, shape))
            if has_bias:
                self.builder.tensor(bias, (channels,), np.float32, data=self.rng.normal(0, 0.5, channels))
            return [name, bias] if has_bias else [name], 0.0
        per_channel = self.chance(0.7)
        scales = (10 ** self.rng.uniform(-3, -1, channels if per_channel else 1)).astype(np.float32)
        data = self.rng.integers(-127, 128, shape)
        if self.chance(0.3):
            np.moveaxis(data, axis, 0)[self.rng.random(channels) < 0.3] = 0
        self.builder.tensor(name, shape, np.int8, scales=scales, axis=axis if per_channel else 0, data=data)
        wide = self.form == "int16"
        if has_bias:
            reach = 127 * 60 * math.sqrt(taps) * (256 if wide else 1)
            values = self.rng.normal(0, reach / 4, channels).astype(np.int64)
            quant = scales * np.float32(x.scale)
            self.builder.tensor(bias, (channels,), np.int64 if wide else np.int32, scales=quant, data=values)
        out = x.scale * float(scales.mean()) * 60 * math.sqrt(taps) * 10 ** self.rng.uniform(-0.7, 0.7)
        return [name, bias] if has_bias else [name], float(np.float32(out))

    def window(self, x: Value, most: int = 9, dilated: bool = True) -> tuple[dict[str, Any], list[int], list[int]]:
        """Returns options of a window that fits an image, its size, and the size of the result."""
        options: dict[str, Any] = {"Padding": self.choice("SAME", "SAME", "VALID")}
        taps, after = [], []
        for axis, letter in ((1, "H"), (2, "W")):
            size, stride = x.shape[axis], self.among(1, 4)
            dilation = self.among(1, 4) if dilated and self.chance(0.25) else 1
            count = self.choice(1, 3, self.among(1, most))
            if options["Padding"] == "VALID":
                count = max(1, min(count, (size - 1) // dilation + 1))
            span = (count - 1) * dilation + 1
            taps.append(count)
            after.append(-(-size // stride) if options["Padding"] == "SAME" else (size - span) // stride + 1)
            options[f"Stride{letter}"] = stride
            if dilated:
                options[f"Dilation{letter}Factor"] = dilation
        return options, taps, after

    def channels(self, macs_each: int) -> int:
        """Returns a number of output channels, 1 to 70, within the limit of multiply-accumulates."""
        return max(1, min(self.choice(self.among(1, 70), 4, 8, 16), self.limits.macs // max(macs_each, 1)))

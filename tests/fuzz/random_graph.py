"""Random graphs of all operators that are imported: branches, several readers, odd shapes, deep windows."""

from __future__ import annotations

import math

import numpy as np

from fuzz.drawer import Drawer, Limits, Value

__all__ = ["Limits", "RandomGraph", "draw"]


class RandomGraph(Drawer):
    """Grows a model operator by operator."""

    def conv2d(self) -> None:
        if (x := self.image()) is None:
            return
        options, taps, after = self.window(x)
        count = self.channels(math.prod(taps) * math.prod(after) * x.shape[3] * x.shape[0])
        if math.prod(after) * x.shape[0] * max(count, math.prod(taps) * x.shape[3]) > self.limits.macs:
            return
        operands, scale = self.weights((count, *taps, x.shape[3]), 0, x)
        y = self.value((x.shape[0], *after, count), scale)
        self.op("CONV_2D", [x.name, *operands], [y], options | self.activation())

    def depthwise_conv2d(self) -> None:
        if (x := self.image()) is None:
            return
        options, taps, after = self.window(x)
        multiplier = self.choice(1, 1, 1, 2, 3, 8)
        count = x.shape[3] * multiplier
        if count > 140 or math.prod(after) * math.prod(taps) * count * x.shape[0] > self.limits.macs:
            return
        operands, scale = self.weights((1, *taps, count), 3, x)
        y = self.value((x.shape[0], *after, count), scale)
        options |= {"DepthMultiplier": multiplier} | self.activation()
        self.op("DEPTHWISE_CONV_2D", [x.name, *operands], [y], options)

    def fully_connected(self) -> None:
        x = self.pick(lambda value: len(value.shape) == 2)
        if x is None or self.chance(0.3):
            x = self.reshaped()
        if x is None:
            return
        count = self.channels(x.shape[1] * x.shape[0])
        operands, scale = self.weights((count, x.shape[1]), 0, x)
        y = self.value((x.shape[0], count), scale)
        self.op("FULLY_CONNECTED", [x.name, *operands], [y], self.activation())

    def pool(self) -> None:
        if (x := self.image()) is None:
            return
        options, taps, after = self.window(x, dilated=False)
        options |= {"FilterHeight": taps[0], "FilterWidth": taps[1]} | self.activation()
        y = self.like(x, (x.shape[0], *after, x.shape[3]))
        self.op(self.choice("AVERAGE_POOL_2D", "MAX_POOL_2D"), [x.name], [y], options)

    # Elementwise.

    def arithmetic(self) -> None:
        x = self.pick()
        if x is None:
            return
        other = self.pick(lambda value: value.shape == x.shape)
        if self.chance(0.35):
            shape = self.choice(x.shape, (x.shape[-1],), (1,), (1,) * (len(x.shape) - 1) + (x.shape[-1],))
            other = self.constant(shape)
        kind = self.choice("ADD", "ADD", "SUB", "MUL")
        if other is None:
            return
        scale = x.scale * other.scale * 120 if kind == "MUL" else (x.scale + other.scale)
        if self.form == "int16":
            scale = scale * 256 if kind == "MUL" else scale
        y = self.value(x.shape, float(np.float32(scale * self.rng.uniform(0.4, 1.6))))
        operands = [x.name, other.name] if self.chance(0.7) else [other.name, x.name]
        self.op(kind, operands, [y], self.activation())

    def unary(self) -> None:
        x = self.pick()
        if x is None:
            return
        kind = self.choice("RELU", "RELU6", "LEAKY_RELU", "LOGISTIC", "TANH", "HARD_SWISH")
        if self.form == "int16" and kind in ("HARD_SWISH",):
            kind = "RELU"
        options = {"Alpha": float(np.float32(self.rng.uniform(0, 1.5)))} if kind == "LEAKY_RELU" else {}
        fixed = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}
        if kind in fixed:
            y = self.value(x.shape, *((2.0**-15, 0) if self.form == "int16" else fixed[kind]))
        elif kind == "RELU6":
            y = self.like(x, x.shape)
        else:
            y = self.value(x.shape, float(np.float32(x.scale * 2 ** self.rng.uniform(-1, 1.5))))
        self.op(kind, [x.name], [y], options)

    def softmax(self) -> None:
        x = self.pick(lambda value: len(value.shape) >= 1 and value.shape[-1] <= 200)
        if x is not None:
            y = self.value(x.shape, *((2.0**-15, 0) if self.form == "int16" else (1 / 256, -128)))
            self.op("SOFTMAX", [x.name], [y], {"Beta": float(self.choice(1.0, 1.0, 0.5, 2.0))})

    def quantize(self) -> None:
        x = self.pick()
        if x is not None and self.form != "float32":
            y = self.value(x.shape, float(np.float32(x.scale * 2 ** self.rng.uniform(-2, 2))))
            self.op("QUANTIZE", [x.name], [y])

    # Sums over axes, and moves.

    def mean(self) -> None:
        x = self.image()
        if x is None:
            return
        axes = self.choice([1, 2], [1, 2], [1], [2], [3], [1, 2, 3])
        keep = self.chance(0.5)
        left = [1 if axis in axes else n for axis, n in enumerate(x.shape) if keep or axis not in axes]
        y = self.value(tuple(left), float(np.float32(x.scale * self.rng.uniform(0.3, 1.5))))
        self.op("MEAN", [x.name, self.integers(axes)], [y], {"KeepDims": keep})

    def pad(self) -> None:
        x = self.image()
        if x is None:
            return
        pads = [[0, 0], *(([self.among(0, 3), self.among(0, 3)]) for _ in range(2)), [0, 0]]
        if self.chance(0.2):
            pads[3] = [self.among(0, 3), self.among(0, 2)]
        shape = tuple(n + sum(pair) for n, pair in zip(x.shape, pads, strict=True))
        self.op("PAD", [x.name, self.integers(pads)], [self.like(x, shape)])

    def concatenation(self) -> None:
        x = self.pick(lambda value: len(value.shape) > 1)
        if x is None:
            return
        axis = self.choice(*range(1, len(x.shape)))

        def fits(value: Value) -> bool:
            same = (value.scale, value.zero_point) == (x.scale, x.zero_point) or self.form == "float32"
            others = [a for a in range(len(x.shape)) if a != axis]
            return same and len(value.shape) == len(x.shape) and all(value.shape[a] == x.shape[a] for a in others)

        parts = [x, *(part for _ in range(self.among(1, 4)) if (part := self.pick(fits)) is not None)]
        self.rng.shuffle(parts)
        shape = [*x.shape[:axis], sum(part.shape[axis] for part in parts), *x.shape[axis + 1 :]]
        if math.prod(shape) > self.limits.elements:
            return
        y = self.like(x, tuple(shape))
        number = axis if self.chance(0.5) else axis - len(shape)
        self.op("CONCATENATION", [part.name for part in parts], [y], {"Axis": number})

    def split(self) -> None:
        x = self.pick(lambda value: len(value.shape) > 1 and max(value.shape[1:]) > 1)
        if x is None:
            return
        axis = self.choice(*(a for a in range(1, len(x.shape)) if x.shape[a] > 1))
        size = x.shape[axis]
        counts = [n for n in (2, 3, 4) if size % n == 0]
        if counts and self.chance(0.7):
            count = self.choice(*counts)
            sizes = [size // count] * count
        else:
            cut = int(self.rng.integers(1, size))
            sizes = [cut, size - cut]
        results = [self.like(x, (*x.shape[:axis], n, *x.shape[axis + 1 :])) for n in sizes]
        where = self.integers(axis)
        if len(set(sizes)) == 1:
            self.op("SPLIT", [where, x.name], results, {"NumSplits": len(sizes)})
        else:
            self.op("SPLIT_V", [x.name, self.integers(sizes), where], results, {"NumSplits": len(sizes)})

    def strided_slice(self) -> None:
        x = self.pick(lambda value: 1 < len(value.shape) <= 4)
        if x is None:
            return
        begin, end, steps = [0], [x.shape[0]], [1]
        for size in x.shape[1:]:
            first = self.among(0, size - 1)
            begin.append(first)
            end.append(size if self.chance(0.4) else int(self.rng.integers(first + 1, size + 1)))
            steps.append(self.choice(1, 1, 2, 3))
        shape = tuple(-(-(e - b) // s) for b, e, s in zip(begin, end, steps, strict=True))
        operands = [x.name, *(self.integers(each) for each in (begin, end, steps))]
        self.op("STRIDED_SLICE", operands, [self.like(x, shape)])

    def transpose(self) -> None:
        x = self.pick(lambda value: len(value.shape) > 1)
        if x is not None:
            order = [0, *(1 + self.rng.permutation(len(x.shape) - 1)).tolist()]
            y = self.like(x, tuple(x.shape[axis] for axis in order))
            self.op("TRANSPOSE", [x.name, self.integers(order)], [y])

    def resize(self) -> None:
        x = self.image()
        if x is None:
            return
        size = [self.among(1, 2 * n + 1) for n in x.shape[1:3]]
        if math.prod(size) * x.shape[3] > self.limits.elements:
            return
        how = self.choice({}, {"HalfPixelCenters": True}, {"AlignCorners": True})
        y = self.like(x, (x.shape[0], *size, x.shape[3]))
        self.op("RESIZE_NEAREST_NEIGHBOR", [x.name, self.integers(size)], [y], how)

    def reshape(self) -> None:
        x = self.pick(lambda value: len(value.shape) == 4)
        if x is None or self.chance(0.3):
            self.reshaped()
            return
        n, h, w, c = x.shape
        shape = self.choice((n, w, h, c), (n, 1, h * w, c), (n, h, w * c, 1), (n, h * w, 1, c), (n, h, c, w))
        self.op("RESHAPE", [x.name, self.integers(shape)], [self.like(x, shape)], {"NewShape": list(shape)})

    def reshaped(self) -> Value | None:
        """Returns a tensor made flat, but for the batch."""
        x = self.pick(lambda value: 1 < math.prod(value.shape[1:]) <= 2500)
        if x is None:
            return None
        shape = (x.shape[0], math.prod(x.shape[1:]))
        y = self.like(x, shape)
        self.op("RESHAPE", [x.name, self.integers(shape)], [y], {"NewShape": list(shape)})
        return y

    def grow(self) -> None:
        """Adds an operator, or two, or none where what was drawn does not fit."""
        heavy = (self.conv2d, self.depthwise_conv2d, self.conv2d, self.depthwise_conv2d, self.fully_connected)
        light = (self.pool, self.arithmetic, self.arithmetic, self.unary, self.unary, self.softmax, self.quantize)
        moves = (self.pad, self.concatenation, self.split, self.strided_slice, self.transpose, self.resize)
        self.choice(*heavy, *light, *moves, self.mean, self.reshape)()


def draw(rng: np.random.Generator, form: str | None = None, limits: Limits | None = None) -> bytes:
    """Returns a TFLite file with 1 or 2 inputs and as many outputs as results that nobody reads."""
    limits = limits or Limits()
    drawer = RandomGraph(rng, form or str(rng.choice(["int8", "int8", "int16", "float32"])), limits)
    for _ in range(2 if drawer.chance(0.2) else 1):
        pixels = [drawer.among(1, 20), drawer.among(1, 20)]
        channels = drawer.choice(1, 3, 4, drawer.among(1, 70))
        while math.prod(pixels) * channels > limits.elements:
            pixels = [max(1, n // 2) for n in pixels]
        drawer.value((1 if drawer.chance(0.9) else 2, *pixels, channels))
    inputs = [value.name for value in drawer.values]
    wanted = int(rng.integers(1, limits.operators + 1))
    while len(drawer.computed) < wanted or not set(inputs) <= drawer.read:
        before = len(drawer.values)
        drawer.grow() if len(drawer.computed) < wanted else _read_inputs(drawer, inputs)
        if any(math.prod(value.shape) > 4 * limits.elements for value in drawer.values[before:]):
            break
    _read_inputs(drawer, inputs)
    outputs = [value.name for value in drawer.values if value.name in drawer.computed - drawer.read]
    shared = [value.name for value in drawer.values if value.name in drawer.computed & drawer.read]
    if shared and drawer.chance(0.15):
        outputs.append(drawer.choice(*shared))
    return _built(drawer, inputs, outputs)


def _read_inputs(drawer: RandomGraph, inputs: list[str]) -> None:
    for value in [value for value in drawer.values if value.name in set(inputs) - drawer.read]:
        drawer.op("RELU", [value.name], [drawer.value(value.shape, value.scale)])


def _built(drawer: RandomGraph, inputs: list[str], outputs: list[str]) -> bytes:
    """Returns the file; sometimes with floats outside of the integers, as converters make them."""
    if drawer.form != "float32" and drawer.chance(0.15):
        shape = next(value.shape for value in drawer.values if value.name == outputs[-1])
        drawer.builder.tensor("real", shape, np.float32).op("DEQUANTIZE", [outputs[-1]], ["real"], {})
        outputs = [*outputs[:-1], "real"]
    return drawer.builder.build(inputs, outputs)

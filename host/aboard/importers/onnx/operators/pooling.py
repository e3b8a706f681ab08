"""Poolings, over one to three axes of pixels."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.importers.onnx.operators.windows import Window, channels_first, channels_last, window
from aboard.ir import Array, DType, Tensor
from aboard.ops.pool2d import PoolAttributes
from aboard.ops.strided_slice import AxisSlice
from aboard.ops.window import Padding


@reads("AveragePool", "LpPool", "MaxPool")
def pool(source: Operator, make: Builder) -> Tensor:
    """Two axes are an operator of their own; one is an image of one row, three are two after one.

    Raises:
        ModelError: The window does not fit, or indices of the largest elements are read.
    """
    x = source.input(0)
    if not 3 <= len(x.shape) <= 5:
        raise source.unsupported(f"rank of the operand, got {len(x.shape)}, expected 3 to 5. Export the model again")
    if any(source.results[1:]):
        raise source.unsupported("second result, got indices of elements, expected no reader of them. Export without")
    size = tuple(int(taps) for taps in source.options["kernel_shape"])
    found = window(source, x.shape[2:], size)
    if source.kind == "LpPool":
        return _norms(source, make, x, found)
    if source.kind == "AveragePool" and source.options.get("count_include_pad", 0):
        x, found = _padded(make, x, found, 0.0)
    dtype = x.dtype
    if source.kind == "MaxPool" and dtype is DType.INT8 and x.type.quant is not None and set(found.dilations) == {1}:
        return _pooled(make, x, found, "max_pool2d")
    real = make.cast(x, DType.FLOAT32) if dtype in (DType.INT8, DType.UINT8) else x
    return make.cast(_pooled(make, real, found, "max_pool2d" if source.kind == "MaxPool" else "average_pool2d"), dtype)


def _padded(make: Builder, x: Tensor, found: Window, value: float, *, overhang: bool = False) -> tuple[Tensor, Window]:
    """Pads a tensor of the file's layout, and returns the window without that padding."""
    more = found.overhang if overhang else (0,) * len(found.size)
    after = [a + m for a, m in zip(found.after, more, strict=True)]
    pairs = [(0, 0), (0, 0), *zip(found.before, after, strict=True)]
    none = (0,) * len(found.size)
    left = Window(found.size, found.strides, found.dilations, none, none, none if overhang else found.overhang)
    return make.pad(x, pairs, value), left


def _pooled(make: Builder, x: Tensor, found: Window, op: str) -> Tensor:
    if any(dilation != 1 for dilation in found.dilations):
        return _dilated(make, x, found, op)
    image = channels_last(make, x)
    shape = image.shape
    count = len(found.size)
    if count == 1:
        made = _image(make, make.reshape(image, (shape[0], 1, *shape[1:])), _two(found), op)
        return channels_first(make, make.reshape(made, (shape[0], *made.shape[2:])))
    if count == 2:
        return channels_first(make, _image(make, image, found, op))
    planes = make.reshape(image, (shape[0] * shape[1], *shape[2:]))
    flat = _image(make, planes, found.axes(1, 3), op)
    rows, cols, channels = flat.shape[1:]
    columns = make.reshape(flat, (shape[0], shape[1], rows * cols, channels))
    deep = _image(make, columns, _two(found.axes(0, 1), first=True), op)
    return channels_first(make, make.reshape(deep, (shape[0], deep.shape[1], rows, cols, channels)))


def _two(found: Window, *, first: bool = False) -> Window:
    """Returns a window of one axis as one of two: its columns, or its rows."""
    fields = (found.size, found.strides, found.dilations, found.before, found.after, found.overhang)
    other = (1, 1, 1, 0, 0, 0)
    return Window(*((*field, o) if first else (o, *field) for field, o in zip(fields, other, strict=True)))


def _image(make: Builder, image: Tensor, found: Window, op: str) -> Tensor:
    (top, left) = found.before
    bottom, right = (a + o for a, o in zip(found.after, found.overhang, strict=True))
    padding = Padding(top, left, bottom, right)
    attrs = PoolAttributes((found.size[0], found.size[1]), (found.strides[0], found.strides[1]), padding)
    return make.op(op, [image], attrs, quant=image.type.quant)


def _dilated(make: Builder, x: Tensor, found: Window, op: str) -> Tensor:
    """Compares, or adds, the taps of the window one after the other.

    An average divides by the number of taps in the operand, which the same sum of ones gives.
    """
    largest = op == "max_pool2d"
    padded, inner = _padded(make, x, found, -float(np.finfo(np.float32).max) if largest else 0.0, overhang=True)
    taps = _taps(make, padded, inner)
    if largest:
        return reduce(lambda a, b: make.op("maximum", [a, b]), taps)
    total = reduce(lambda a, b: make.op("add", [a, b]), taps)
    extents = zip(x.shape[2:], found.before, found.after, found.overhang, strict=True)
    ones = np.pad(np.ones(x.shape[2:]), [(before, after + over) for _, before, after, over in extents])
    counts = sum(_taken(ones, inner, taps_of) for taps_of in np.ndindex(*inner.size))
    return make.op("mul", [total, make.array(1 / np.maximum(np.asarray(counts), 1))])


def _taken(values: Array, found: Window, tap: tuple[int, ...]) -> Array:
    count = _counts(values.shape, found)
    steps = zip(tap, found.dilations, found.strides, count, strict=True)
    return np.asarray(values[tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, s, n in steps)])


def _counts(extents: tuple[int, ...], found: Window) -> list[int]:
    fields = zip(extents, found.size, found.dilations, found.strides, strict=True)
    return [(extent - (taps - 1) * dilation - 1) // stride + 1 for extent, taps, dilation, stride in fields]


def _taps(make: Builder, x: Tensor, found: Window) -> list[Tensor]:
    counts = _counts(x.shape[2:], found)
    whole = [AxisSlice(0, 1, extent) for extent in x.shape[:2]]
    result = []
    for tap in np.ndindex(*found.size):
        steps = zip(tap, found.dilations, found.strides, counts, strict=True)
        result.append(make.take(x, [*whole, *(AxisSlice(t * d, s, n) for t, d, s, n in steps)]))
    return result


def _norms(source: Operator, make: Builder, x: Tensor, found: Window) -> Tensor:
    """Roots of sums of powers: the mean of the padded powers, times the number of taps."""
    p = int(source.options["p"])
    powers = make.op("mul", [x, x]) if p == 2 else make.op("abs", [x])
    if p not in (1, 2):
        powers = make.op("pow", [powers, make.scalar(p)])
    padded, inner = _padded(make, powers, found, 0.0, overhang=True)
    total = make.op("mul", [_pooled(make, padded, inner, "average_pool2d"), make.scalar(math.prod(found.size))])
    if p == 1:
        return total
    return make.op("sqrt", [total]) if p == 2 else make.op("pow", [total, make.scalar(1 / p)])

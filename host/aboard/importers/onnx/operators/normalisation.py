"""Normalisations and softmax."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.ir import DType, Tensor
from aboard.ops.extremes import PlaceAttributes
from aboard.ops.layer_normalization import LayerNormalizationAttributes
from aboard.ops.pool2d import PoolAttributes
from aboard.ops.reduction import ReductionAttributes


@reads("Softmax", "LogSoftmax", "Hardmax")
def softmax(source: Operator, make: Builder) -> Tensor:
    """Over one axis; before version 13 over all axes from one on, as one."""
    x = source.input(0)
    rank = len(x.shape)
    axis = source.axis(int(source.options["axis"]), rank)
    if source.since < 13:
        flat = make.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
        return make.reshape(_last(source, flat, make), x.shape)
    order = [other for other in range(rank) if other != axis] + [axis]
    result = _last(source, make.transpose(x, order), make)
    return make.transpose(result, tuple(int(place) for place in np.argsort(order)))


def _last(source: Operator, x: Tensor, make: Builder) -> Tensor:
    if source.kind != "Hardmax":
        return make.op("softmax" if source.kind == "Softmax" else "log_softmax", [x])
    rank = len(x.shape)
    first = make.op("arg_max", [x], PlaceAttributes(rank - 1), DType.INT32)
    places = make.array(np.arange(x.shape[-1]).reshape((1,) * (rank - 1) + (-1,)), DType.INT32)
    found = make.op("equal", [make.reshape(first, (*x.shape[:-1], 1)), places], dtype=DType.BOOL)
    return make.cast(found, DType.FLOAT32)


def _factor(tensor: Tensor | None, count: int, value: float, make: Builder) -> Tensor:
    """Returns an operand with a number for each channel; a constant where it is absent."""
    if tensor is None:
        return make.array(np.full(count, value))
    whole = make.reshape(tensor, (tensor.type.elements,))
    return whole if whole.shape == (count,) else make.broadcast(whole, (count,))


@reads("LayerNormalization", "RMSNormalization")
def layer(source: Operator, make: Builder) -> Sequence[Tensor | None]:
    """Over all axes from one on; also the mean and the reciprocal of the deviation where they are read.

    Raises:
        ModelError: The scale has axes before these.
    """
    x, scale = source.input(0), source.input(1)
    centred = source.kind == "LayerNormalization"
    axis = source.axis(int(source.options["axis"]), len(x.shape))
    kept, count = math.prod(x.shape[:axis]), math.prod(x.shape[axis:])
    attrs = LayerNormalizationAttributes(float(source.options["epsilon"]), centred)
    operands = [_spread(source, each, x.shape[axis:], make) for each in (scale, source.optional(2)) if each is not None]
    factor = operands[0] if operands else _factor(None, count, 1.0, make)
    summand = operands[1] if len(operands) > 1 else _factor(None, count, 0.0, make)
    whole = axis == len(x.shape) - 1
    flat = x if whole else make.reshape(x, (kept, count))
    result = make.op("layer_normalization", [flat, factor, summand], attrs)
    results: list[Tensor | None] = [make.reshape(result, x.shape)]
    if any(source.results[1:]):
        over = ReductionAttributes((1,), True)
        samples = make.reshape(x, (kept, count))
        mean = make.op("mean", [samples], over)
        difference = make.op("sub", [samples, mean])
        variance = make.op("mean", [make.op("mul", [difference, difference])], over)
        root = make.op("sqrt", [make.op("add", [variance, make.scalar(attrs.epsilon)])])
        shape = (*x.shape[:axis], *[1] * (len(x.shape) - axis))
        results += [make.reshape(mean, shape), make.reshape(make.op("div", [make.scalar(1), root]), shape)]
    return results


def _spread(source: Operator, tensor: Tensor, shape: tuple[int, ...], make: Builder) -> Tensor:
    """Returns a scale or bias with one number for each normalised element."""
    inner = (
        tensor.shape[-len(shape) :]
        if len(tensor.shape) >= len(shape)
        else (1,) * (len(shape) - len(tensor.shape)) + tensor.shape
    )
    fits = math.prod(tensor.shape) == math.prod(inner) and all(a in (1, b) for a, b in zip(inner, shape, strict=True))
    if not fits:
        raise source.unsupported(
            f"shape of {tensor.name}, got {tensor.shape}, expected one that fits the normalised axes {shape}. Export "
            "the model with a scale of these axes alone"
        )
    return make.reshape(make.broadcast(make.reshape(tensor, inner), shape), (math.prod(shape),))


@reads("InstanceNormalization", "GroupNormalization")
def groups(source: Operator, make: Builder) -> Tensor:
    """Each channel, or each group of channels, of each sample; then a factor and a summand for each channel."""
    x, scale, bias = (source.input(index) for index in range(3))
    _check_channels(source, x)
    channels = x.shape[1]
    count = int(source.options.get("num_groups", channels))
    if count < 1 or channels % count:
        raise source.unsupported(f"groups, got {count} for {channels} channels, expected a divisor. Export again")
    normal = _of_groups(make, x, count, float(source.options["epsilon"]))
    if source.since < 21 and scale.type.elements == count != channels:  # then a number for each group
        scale, bias = (_repeated(each, channels // count, make) for each in (scale, bias))
    return _by_channel(normal, scale, bias, make)


def _of_groups(make: Builder, x: Tensor, count: int, epsilon: float) -> Tensor:
    """Returns (x - mean) / deviation of each group of channels; channels may be the last axis where it is computed."""
    channels = x.shape[1]
    whole = count in (1, channels)
    parts = x if whole else make.reshape(x, (x.shape[0], count, channels // count, *x.shape[2:]))
    over = ReductionAttributes(tuple(range(1 if count == 1 else 2, len(parts.shape))), True)
    difference = make.op("sub", [parts, make.op("mean", [parts], over)])
    variance = make.op("mean", [make.op("mul", [difference, difference])], over)
    root = make.op("sqrt", [make.op("add", [variance, make.scalar(epsilon)])])
    factor = make.op("div", [make.scalar(1), root])
    return make.reshape(make.op("mul", [difference, factor]), x.shape)


def _check_channels(source: Operator, x: Tensor) -> None:
    if len(x.shape) < 2:
        raise source.unsupported(
            f"operand, got shape {x.shape}, expected [batch, channels, ...]. Export the model again"
        )


def _repeated(tensor: Tensor, times: int, make: Builder) -> Tensor:
    count = tensor.type.elements
    wide = make.broadcast(make.reshape(tensor, (count, 1)), (count, times))
    return make.reshape(wide, (count * times,))


def _by_channel(x: Tensor, scale: Tensor, bias: Tensor, make: Builder) -> Tensor:
    shape = (-1, *[1] * (len(x.shape) - 2))
    factor, summand = (make.reshape(each, (each.type.elements, *shape[1:])) for each in (scale, bias))
    return make.op("add", [make.op("mul", [x, factor]), summand])


@reads("BatchNormalization")
def batch(source: Operator, make: Builder) -> Tensor:
    """A factor and a summand for each channel.

    Raises:
        ModelError: Training mode, or statistics that do not fit.
    """
    if source.options.get("training_mode", 0):
        raise source.unsupported("training mode, got true, expected false. Export the model with `model.eval()`")
    x = source.input(0)
    _check_channels(source, x)
    operands = [source.input(index) for index in range(1, 5)]
    if any(each.shape != x.shape[1:2] for each in operands):
        shapes = [each.shape for each in operands]
        raise source.unsupported(f"statistics, got shapes {shapes}, expected {x.shape[1:2]} for each. Export again")
    epsilon = float(source.options["epsilon"])
    known = [each.data.astype(np.float64) for each in operands if each.data is not None]
    if len(known) == len(operands):
        scale, bias, mean, variance = known
        factor = scale / np.sqrt(variance + epsilon)
        return _by_channel(x, make.array(factor), make.array(bias - mean * factor), make)
    root = make.op("sqrt", [make.op("add", [operands[3], make.scalar(epsilon)])])
    factor_of = make.op("div", [operands[0], root])
    summand = make.op("sub", [operands[1], make.op("mul", [operands[2], factor_of])])
    return _by_channel(x, factor_of, summand, make)


@reads("MeanVarianceNormalization")
def mean_variance(source: Operator, make: Builder) -> Tensor:
    """(x - mean) / deviation over some axes."""
    x = source.input(0)
    rank = len(x.shape)
    axes = tuple(sorted({source.axis(int(axis), rank) for axis in source.options.get("axes") or (0, 2, 3)}))
    over = ReductionAttributes(axes, True)
    difference = make.op("sub", [x, make.op("mean", [x], over)])
    variance = make.op("mean", [make.op("mul", [difference, difference])], over)
    return make.op("div", [difference, make.op("add", [make.op("sqrt", [variance]), make.scalar(1e-9)])])


@reads("LpNormalization")
def norm(source: Operator, make: Builder) -> Tensor:
    """X divided by the sum of magnitudes, or by the root of the sum of squares, along an axis; 0 where that is 0."""
    x = source.input(0)
    over = ReductionAttributes((source.axis(int(source.options["axis"]), len(x.shape)),), True)
    if int(source.options["p"]) not in (1, 2):
        raise source.unsupported(f"p, got {source.options['p']}, expected 1 or 2. Export the model again")
    if int(source.options["p"]) == 1:
        total = make.op("sum", [make.op("abs", [x])], over)
    else:
        total = make.op("sqrt", [make.op("sum", [make.op("mul", [x, x])], over)])
    empty = make.op("equal", [total, make.scalar(0)], dtype=DType.BOOL)
    return make.op("div", [x, make.op("select", [empty, make.scalar(1), total], dtype=x.dtype)])


@reads("LRN")
def local_response(source: Operator, make: Builder) -> Tensor:
    """X / (bias + alpha / size * sum of squares of neighbouring channels) ^ beta."""
    x, size = source.input(0), int(source.options["size"])
    _check_channels(source, x)
    if size < 1:
        raise source.unsupported(f"size, got {size}, expected a number from 1. Export the model again")
    batch_size, channels = x.shape[:2]
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    squares = make.reshape(make.op("mul", [x, x]), (batch_size, channels, math.prod(x.shape[2:]), 1))
    padded = make.pad(squares, [(0, 0), (before, after), (0, 0), (0, 0)], 0)
    mean = make.reshape(make.op("average_pool2d", [padded], PoolAttributes((size, 1))), x.shape)
    scaled = make.op("mul", [mean, make.scalar(float(source.options["alpha"]))])
    total = make.op("add", [scaled, make.scalar(float(source.options["bias"]))])
    return make.op("div", [x, make.op("pow", [total, make.scalar(float(source.options["beta"]))])])

"""Packing of weights and their constants for conv2d, depthwise_conv2d and fully_connected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from aboard.ir import Array, Node
from aboard.ir.numerics import Int64
from aboard.kernels.view import Literal, View
from aboard.ops.activation import Activation
from aboard.ops.weighted import BIAS, INPUT, WEIGHTS, Precision, channel_scales, form

Float32 = npt.NDArray[np.float32]

#: Number of any int8 products whose sum fits 32 bits.
_MOST_TAPS = (1 << 31) // (1 << 14) - 1


def refusal(node: Node, wanted: Precision, axis: int) -> str | None:
    """Returns why an implementation for one form does not accept a node, or None if it does.

    Args:
        node: A node with weights.
        wanted: The form.
        axis: Axis of the output channels in the weights.
    """
    if form(node) is not wanted:
        return f"is for {wanted.value}"
    bias = node.optional_input(BIAS)
    for tensor in (node.input(WEIGHTS), bias):
        if tensor is not None and not tensor.is_constant:
            return f"{tensor.name} is computed at run time, weights and bias must be constants"
    taps = node.input(WEIGHTS).type.elements // node.input(WEIGHTS).shape[axis]
    if wanted is Precision.INT8 and taps > _MOST_TAPS:
        return f"sums {taps} products, at most {_MOST_TAPS} fit an accumulator of 32 bits"
    return None


def view(views: Sequence[View | None]) -> View:
    """Returns the view of the input.

    Raises:
        ValueError: The input is absent.
    """
    found = views[INPUT]
    if found is None:
        raise ValueError("the input must have a view")
    return found


def bias(node: Node) -> Array | None:
    """Returns the values of the bias, or None if absent."""
    tensor = node.optional_input(BIAS)
    return None if tensor is None else tensor.data


def matrix(node: Node, axis: int) -> Array:
    """Returns the weights as [output channels, taps].

    Raises:
        ValueError: The weights are not constant.
    """
    values = node.input(WEIGHTS).data
    if values is None:
        raise ValueError(f"weights of {node.name} are not constant")
    return np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)


def differ(node: Node) -> bool:
    """True if output channels have different scales."""
    return len(set(node.input(WEIGHTS).quant.scales)) > 1


def padded(values: Array, multiple: int) -> Array:
    """Returns values, padded with zeros on the first axis to a multiple of a length."""
    missing = -len(values) % multiple
    return np.pad(values, [(0, missing)] + [(0, 0)] * (values.ndim - 1))


def overlapping(count: int, block: int) -> npt.NDArray[np.intp]:
    """Returns the channels of blocks, [blocks, block]: the last block are the last channels, some in two blocks.

    If there are fewer channels than a block has, the last of them is there several times.

    Args:
        count: Channels.
        block: Channels of a block.
    """
    starts = np.minimum(np.arange(0, count, block), max(count - block, 0))
    return np.minimum(starts[:, None] + np.arange(block), count - 1)


def filled(values: Int64, multiple: int) -> Int64:
    """Returns `padded` as int64."""
    return padded(values, multiple).astype(np.int64)


def blocks(weights: Array, channels: int) -> Array:
    """Returns weights [channels, taps] as [blocks, taps, channels of a block], the last block padded with zeros."""
    full = padded(weights, channels)
    return np.ascontiguousarray(full.reshape(-1, channels, weights.shape[1]).swapaxes(1, 2))


def float_constants(node: Node, axis: int) -> Float32:
    """Returns the bias, followed in a HYBRID node by the scales of the weights, as [1 or 2, output channels]."""
    scales = np.array([channel_scales(node, axis)], np.float32) if form(node) is Precision.HYBRID else None
    given = bias(node)
    row = np.zeros(node.input(WEIGHTS).shape[axis]) if given is None else given.reshape(-1)
    biases = row.astype(np.float32)[np.newaxis]
    return biases if scales is None else np.concatenate([biases, scales])


def interleaved(rows: Array, channels: int) -> Array:
    """Returns constants [kinds, channels] as [blocks, kinds, channels of a block], padded with zeros."""
    return np.ascontiguousarray(padded(rows.T, channels).reshape(-1, channels, len(rows)).swapaxes(1, 2))


def float_clamp(activation: Activation) -> Mapping[str, Literal]:
    """Returns the fields `clamped`, `low` and `high` of the parameters of a float kernel."""
    low, high = activation.float_range()
    return {"clamped": int(activation is not Activation.NONE), "low": low, "high": high}

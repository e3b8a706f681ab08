"""Weights and constants of sums of any size, as `firmware/kernels/arm_dsp/large_sums.h` reads them."""

from __future__ import annotations

import numpy as np

from aboard.ir import Array, Node
from aboard.ir.numerics import Int64, wrap32
from aboard.kernels import weights as packing
from aboard.kernels.arm_dsp import dot
from aboard.kernels.requantisation import RequantisedLayer, requantised
from aboard.ops.activation import Activation

#: ABOARD_DSP_LARGE_CHANNELS and ABOARD_DSP_LARGE_SHIFT of `arm_dsp/large_sums.h`.
CHANNELS, LINE_SHIFT = 4, 4


def layer(node: Node, activation: Activation, axis: int) -> RequantisedLayer:
    """Returns the layer of a node; its sums are limited by 32 bits alone.

    Args:
        node: The node, of int8.
        activation: Its activation.
        axis: Axis of the output channels in its weights.

    Raises:
        UnsupportedNodeError: The layer has no such form.
    """
    return requantised(node, activation, axis, LINE_SHIFT, swar=False)


def blocks(part: RequantisedLayer) -> Array:
    """Returns the words of blocks of four channels: biases, SWAR-packed words, constants; the last padded with zeros.

    Args:
        part: Some channels of a layer; no two weights of -128.
    """
    words = dot.swar_words(packing.filled(part.weights, CHANNELS))
    mixed = words.reshape(-1, 2, words.shape[1]).swapaxes(1, 2).reshape(len(words) // 2, -1)
    biases = _words(packing.filled(part.bias, CHANNELS)).reshape(-1, CHANNELS)
    constants = _words(packing.filled(_constants(part).astype(np.int64), CHANNELS)).reshape(len(biases), -1)
    return np.ascontiguousarray(np.concatenate([biases, mixed, constants], 1)).reshape(-1)


def channel(part: RequantisedLayer, runs: int = 1) -> Array:
    """Returns the words of a single channel: bias, a word of int8 for each tap group, constants.

    Args:
        part: A layer of one channel.
        runs: Runs of taps, such as the rows of a window, each of which begins with a word.
    """
    taps = packing.filled(part.weights.reshape(runs, -1).T, dot.TAP_GROUP).T.astype(np.int8)
    words = np.ascontiguousarray(taps).view("<u4").reshape(-1)
    return np.concatenate([_words(part.bias), words, _words(_constants(part)).reshape(-1)])


def _constants(part: RequantisedLayer) -> Int64:
    columns = [part.factor, part.constant] if part.is_single_rounding else [part.factor, part.constant, part.shift]
    return np.stack(columns, 1)


def _words(values: Int64) -> Array:
    return wrap32(values).astype(np.int32).view(np.uint32)

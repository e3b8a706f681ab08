"""Weights for cores whose best multiplication is SMLAL (Cortex-M3); kernels in `firmware/kernels/arm_smlal` read them.

Two sums share 64 bits, because two pixels share a word of the input, or two channels a word of the weights: the lower
sum must be less than 2**22 or 2**23. Sums start at the bias and the offset of the single rounding.
"""

from __future__ import annotations

import numpy as np

from aboard.ir import Array, Node
from aboard.ir.numerics import Int64, wrap32
from aboard.kernels import weights as packing
from aboard.kernels.requantisation import RequantisedLayer, requantised
from aboard.kernels.weights import filled
from aboard.ops.activation import Activation
from aboard.target import Target

#: ABOARD_SMLAL_BITS, ABOARD_SMLAL_BLOCK and ABOARD_SMLAL_SINGLE_SHIFT of `arm_smlal/dot.h`.
BITS, BLOCK, LINE_SHIFT = 23, 4, 4

#: The same constants of `arm_smlal/fully_connected.h`.
MATRIX_BITS, MATRIX_LINE_SHIFT = 24, 2


def refusal(target: Target) -> str | None:
    """Returns why a target should not use SMLAL, or None; the strategy decides whether SMLAL saves cycles."""
    return "takes more memory (-opt=size)" if target.opt == "size" else None


def layer(node: Node, activation: Activation, axis: int) -> RequantisedLayer:
    """Returns an INT8 layer with sums of two pixels in 64 bits.

    Raises:
        UnsupportedNodeError: The sums do not fit.
    """
    return requantised(node, activation, axis, LINE_SHIFT, swar=False, limit=1 << (BITS - 1), half=0)


def matrix_layer(node: Node, activation: Activation, axis: int) -> RequantisedLayer:
    """Returns a fully connected INT8 layer with sums of two channels in 64 bits.

    Raises:
        UnsupportedNodeError: The sums do not fit.
    """
    return requantised(
        node,
        activation,
        axis,
        MATRIX_LINE_SHIFT,
        per_channel=packing.differ(node),
        swar=False,
        limit=1 << (MATRIX_BITS - 1),
        half=0,
    )


def blocks(part: RequantisedLayer) -> Array:
    """Returns the words of `aboard_smlal_pair_t`: [blocks of four channels, words]."""
    taps = filled(filled(part.weights, BLOCK).T, 2).T.astype(np.int8)
    count = len(taps) // BLOCK
    streams = np.ascontiguousarray(taps.reshape(count, BLOCK, -1).transpose(0, 2, 1)).reshape(count, -1).view("<i4")
    bias = filled(part.bias, BLOCK)
    starts = (bias + (bias << BITS)).reshape(count, BLOCK).view("<i4")
    return np.ascontiguousarray(np.concatenate([starts, streams, _epilogue(part, count)], 1))


def matrix(layer: RequantisedLayer, *, each: bool) -> Array:
    """Returns the words of `aboard_smlal_matrix_t`: [blocks of four channels, words].

    Args:
        layer: The layer.
        each: True if the constants of each channel follow the weights of its block.
    """
    bias = filled(layer.bias, BLOCK).reshape(-1, BLOCK).T
    starts = np.stack([bias[0] + (bias[3] << MATRIX_BITS), bias[2] + (bias[1] << MATRIX_BITS)], 1).view("<u4")
    taps = filled(layer.weights, BLOCK).reshape(len(starts), BLOCK, -1).transpose(0, 2, 1)
    # The byte in the lower of two fields is unsigned.
    stored = (taps + np.array([128, 0, 128, 0])).astype(np.uint8)
    words = np.ascontiguousarray(stored).reshape(len(starts), -1).view("<u4")
    constants = [_epilogue(layer, len(starts)).view("<u4")] if each else []
    return np.ascontiguousarray(np.concatenate([starts, words, *constants], 1))


def _epilogue(part: RequantisedLayer, count: int) -> Array:
    """Returns factor, constant and, for double rounding, shift of each channel: [blocks, words]."""
    columns = [part.factor, part.constant] + ([] if part.is_single_rounding else [part.shift])
    return np.ascontiguousarray(np.stack([_words(filled(column, BLOCK)) for column in columns], 1).reshape(count, -1))


def _words(values: Int64) -> Array:
    return wrap32(values).astype(np.int32)

"""Weights for cores with MLA and without SIMD (Cortex-M3); the kernels in `firmware/kernels/arm_mla` read them.

A word of inputs has two pixels, and a product of it two products of 16 bits. Sums start at the bias and the offset of
the single rounding.
"""

from __future__ import annotations

import numpy as np

from aboard.ir import Array, Node
from aboard.ir.numerics import Int64, wrap32
from aboard.kernels import two_products
from aboard.kernels.contract import UnsupportedNodeError
from aboard.kernels.requantisation import RequantisedLayer, requantised
from aboard.kernels.weights import filled
from aboard.ops.activation import Activation

#: ABOARD_TWO_PIXELS_BITS of `portable/two_pixels.h`; ABOARD_MLA_BLOCK, ABOARD_MLA_SMALL_BLOCK and
#: ABOARD_MLA_SINGLE_SHIFT of `arm_mla/dot.h`.
BITS, BLOCK, SMALL_BLOCK, SINGLE_SHIFT = 16, 4, 2, 4


def layer(node: Node, activation: Activation, axis: int) -> RequantisedLayer:
    """Returns an INT8 layer whose pairs of products fit 16 bits.

    Raises:
        UnsupportedNodeError: They do not fit, or the layer has no epilogue of this form.
    """
    found = requantised(node, activation, axis, SINGLE_SHIFT, swar=False, half=0)
    reason = two_products.refusal(found.weights)
    if reason is not None:
        raise UnsupportedNodeError(reason)
    return found


def blocks(part: RequantisedLayer) -> Array:
    """Returns the words of `aboard_mla_pair_t`: blocks of four channels, and a small one if at most two are left."""
    channels = len(part.bias)
    rest = channels % BLOCK
    whole = channels - rest if rest <= SMALL_BLOCK else channels
    found = [_blocks(part.part(0, whole), BLOCK)] if whole else []
    return np.concatenate(found + ([_blocks(part.part(whole, channels), SMALL_BLOCK)] if whole < channels else []))


def _blocks(part: RequantisedLayer, block: int) -> Array:
    """Returns the words of all blocks of a size, the last filled with zeros."""
    taps = filled(filled(part.weights, block).T, 2).T.astype(np.int8)
    count = len(taps) // block
    pairs = taps.reshape(count, block, -1, 2).transpose(0, 2, 1, 3)
    bias = filled(part.bias, block)
    starts = _words(np.stack([bias + (bias << BITS), bias], 1)).reshape(count, -1)
    streams = np.ascontiguousarray(pairs).reshape(count, -1).view("<i4")
    return np.concatenate([starts, streams, _epilogue(part, block)], 1).reshape(-1)


def rows(part: RequantisedLayer, *, each: bool) -> Array:
    """Returns the words of `aboard_mla_sample_t`: [blocks of four channels, words].

    Args:
        part: The layer.
        each: True if the constants of each channel follow the weights of its block.
    """
    taps = filled(part.weights, BLOCK).astype(np.int8)
    count = len(taps) // BLOCK
    starts = _words(filled(part.bias, BLOCK)).reshape(count, BLOCK)
    streams = np.ascontiguousarray(taps.reshape(count, BLOCK, -1).swapaxes(1, 2)).reshape(count, -1).view("<i4")
    parts = [starts, streams]
    return np.ascontiguousarray(np.concatenate([*parts, _epilogue(part, BLOCK)] if each else parts, 1))


def _epilogue(part: RequantisedLayer, block: int) -> Array:
    """Returns factor, constant and, for double rounding, shift of each channel: [blocks, words]."""
    columns = [part.factor, part.constant] + ([] if part.is_single_rounding else [part.shift])
    words = np.stack([_words(filled(column, block)) for column in columns], 1)
    return words.reshape(len(words) // block, -1)


def _words(values: Int64) -> Array:
    return wrap32(values).astype(np.int32)

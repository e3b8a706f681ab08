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

#: ABOARD_TWO_PIXELS_BITS of `portable/two_pixels.h`; ABOARD_MLA_BLOCK and ABOARD_MLA_SINGLE_SHIFT of `arm_mla/dot.h`.
BITS, BLOCK, SINGLE_SHIFT = 16, 4, 4


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
    """Returns the words of `aboard_mla_pair_t`: [blocks of four channels, words]."""
    taps = filled(filled(part.weights, BLOCK).T, 2).T.astype(np.int8)
    count = len(taps) // BLOCK
    pairs = taps.reshape(count, BLOCK, -1, 2).transpose(0, 2, 1, 3)
    bias = filled(part.bias, BLOCK)
    starts = _words(np.stack([bias + (bias << BITS), bias], 1)).reshape(count, -1)
    streams = np.ascontiguousarray(pairs).reshape(count, -1).view("<i4")
    return np.ascontiguousarray(np.concatenate([starts, streams, _epilogue(part, count)], 1))


def _epilogue(part: RequantisedLayer, count: int) -> Array:
    """Returns factor, constant and, for double rounding, shift of each channel: [blocks, words]."""
    columns = [part.factor, part.constant] + ([] if part.is_single_rounding else [part.shift])
    return np.stack([_words(filled(column, BLOCK)) for column in columns], 1).reshape(count, -1)


def _words(values: Int64) -> Array:
    return wrap32(values).astype(np.int32)

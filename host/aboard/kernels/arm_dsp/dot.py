"""SWAR-packed weights for cores with the DSP extension; `firmware/kernels/arm_dsp/dot.h` reads them.

SWAR (SIMD within a register): two channels share a halfword, w0 + 256 * w1, so that int8 weights take one byte each,
and one SMLAD multiplies two inputs with the weights of two channels. Four taps, a tap group, take two words::

                 bit 31         24 23         16 15          8 7           0
               +-------------+-------------+-------------+-------------+
    word 0     | w1, tap 2   | w0, tap 2   | w1, tap 0   | w0, tap 0   |
    word 1     | w1, tap 3   | w0, tap 3   | w1, tap 1   | w0, tap 1   |
               +-------------+-------------+-------------+-------------+
    inputs     | x[3]        | x[2]        | x[1]        | x[0]        |   a word of int8
    SXTB16     |            x[2]           |            x[0]           |   of that word
    SXTB16 #8  |            x[3]           |            x[1]           |   of that word, rotated by 8
               +---------------------------+---------------------------+

    SMLAD      sum += x[2] * (w0[2] + 256 * w1[2]) + x[0] * (w0[0] + 256 * w1[0])
    so that    sum == acc0 + 256 * acc1

The kernel sums acc0 + 256 * acc1 and separately acc0 (with weights that SXTB16 extracts from the same words), and
subtracts. acc1 must be less than 2**23. The order of the taps, 0 2 1 3, is the order in which SXTB16 returns inputs.
"""

from __future__ import annotations

import numpy as np

from aboard.ir import Array
from aboard.ir.numerics import Int64, wrap32
from aboard.kernels.requantisation import RequantisedLayer
from aboard.kernels.weights import filled

#: Taps of a tap group: the elements of two words of halfwords.
TAP_GROUP = 4

#: Order of a group's taps in packed words.
TAP_ORDER = [0, 2, 1, 3]

#: Names of the two weight formats in tables: SWAR-packed, and widened to halfwords.
PAIRED, WIDENED = "int8 pairs", "int16"


def fits_swar(weights: Array) -> bool:
    """True if the weights of any two channels fit a halfword: two weights of -128 do not."""
    return int(weights.min(initial=0)) > -128


def swar_pairs(layer: RequantisedLayer) -> Array:
    """Returns the words of `aboard_dsp_pair_t`: [blocks of two channels, words]."""
    taps = swar_words(filled(layer.weights, 2))
    bias, factor, constant, shift = (
        filled(v, 2).reshape(-1, 2).T for v in (layer.bias, layer.factor, layer.constant, layer.shift)
    )
    before = [bias[0], bias[0] + 256 * bias[1]]
    behind = [*factor, constant[0]]
    if layer.is_single_rounding:
        behind += [constant[1] * 256 + 128]
    else:
        behind += [constant[1], shift[0] + 256 * shift[1]]
    columns = [wrap32(np.stack(part, 1)).astype(np.int32).view(np.uint32) for part in (before, behind)]
    return np.ascontiguousarray(np.concatenate([columns[0], taps, columns[1]], 1))


def widened_pairs(layer: RequantisedLayer) -> Array:
    """Returns the words of `aboard_dsp_pair_wide`, weights of 16 bits: [blocks of two channels, words]."""
    taps = filled(filled(layer.weights, 2).T, TAP_GROUP).T.astype(np.int16)
    # [blocks, channels of a block, tap groups, even and odd taps of a group, two taps]
    ordered = taps.reshape(len(taps) // 2, 2, -1, TAP_GROUP)[..., TAP_ORDER].reshape(len(taps) // 2, 2, -1, 2, 2)
    words = np.ascontiguousarray(ordered.transpose(0, 2, 3, 1, 4)).reshape(len(ordered), -1).view("<u4")
    bias, factor, constant = (filled(v, 2).reshape(-1, 2) for v in (layer.bias, layer.factor, layer.constant))
    around = [wrap32(part).astype(np.int32).view(np.uint32) for part in (bias, np.concatenate([factor, constant], 1))]
    return np.ascontiguousarray(np.concatenate([around[0], words, around[1]], 1))


def swar_words(weights: Int64) -> Array:
    """Returns weights of an even number of channels packed as [pairs of channels, two words for each tap group]."""
    taps = filled(weights.T, TAP_GROUP).T
    halfwords = (taps[0::2] + 256 * taps[1::2]).astype(np.int16)
    ordered = halfwords.reshape(len(halfwords), -1, TAP_GROUP)[:, :, TAP_ORDER]
    return np.ascontiguousarray(ordered.reshape(len(halfwords), -1)).view("<u4")

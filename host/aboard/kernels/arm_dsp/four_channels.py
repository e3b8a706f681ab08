"""int8 weights of four channels as `firmware/kernels/arm_dsp/four_channels.h` reads them, and its double roundings."""

from __future__ import annotations

import numpy as np

from aboard.ir import Array
from aboard.ir.numerics import wrap32
from aboard.kernels.arm_dsp.dot import TAP_GROUP
from aboard.kernels.view import Literal
from aboard.kernels.weights import filled

#: Channels of a block.
FOUR = 4

#: Limit of the absolute value of a number before its right shift, so that a zero point can be added after it.
_LIMIT = (1 << 31) - (1 << 16)


def blocks(weights: Array, bias: Array) -> Array:
    """Returns the words of blocks of four channels: [blocks, 4 biases and 4 words for each tap group].

    Args:
        weights: [channels, taps] of int8; channels of the last block and taps of the last group are filled with zeros.
        bias: Start of the sum of each channel, which wraps.
    """
    taps = filled(filled(weights.astype(np.int64), FOUR).T, TAP_GROUP).T.astype(np.int8)
    words = np.ascontiguousarray(taps).view("<u4").reshape(-1, FOUR, taps.shape[1] // TAP_GROUP)
    starts = wrap32(filled(bias.astype(np.int64), FOUR)).astype(np.int32).view(np.uint32).reshape(-1, FOUR)
    return np.ascontiguousarray(np.concatenate([starts, words.swapaxes(1, 2).reshape(len(words), -1)], 1))


def largest_sum(weights: Array, bias: Array) -> int:
    """Returns a bound of the absolute value of all sums of [channels, taps]."""
    products = 128 * np.abs(weights.astype(np.int64)).sum(1)
    return int((products + np.abs(bias.astype(np.int64))).max())


def fits(scale: tuple[int, int], largest: int) -> bool:
    """Returns whether numbers of an absolute value of at most `largest` can be rescaled."""
    multiplier, shift = scale
    shifted, half = largest << max(shift, 0), 1 << max(-shift - 1, 0)
    return multiplier > 0 and shifted < 1 << 31 and (shifted * multiplier >> 31) + 1 + half < _LIMIT


def scale_params(scale: tuple[int, int]) -> dict[str, Literal]:
    """Returns the fields of `aboard_dsp_scale_t` for a multiplier and a shift of TFLite."""
    multiplier, shift = scale
    right = max(-shift, 0)
    return {
        "left": max(shift, 0),
        "factor": int(wrap32(np.int64(2 * multiplier))),
        "sign": -1 if right else 0,
        "half": 1 << (right - 1) if right else 0,
        "right": right,
    }

"""Weights of int16 layers for cores with the DSP extension; `firmware/kernels/arm_dsp/dot_s16.h` reads them.

Taps form tap groups (t0, t1, t2, t3). Packed weights are one word per channel and tap group, from which SXTB16
extracts (t0, t1) and (t2, t3); wide weights are the extracted words.
"""

from __future__ import annotations

import numpy as np

from aboard.ir import Array
from aboard.kernels.arm_dsp.dot import TAP_GROUP
from aboard.kernels.portable.epilogue_s16 import EpilogueS16
from aboard.kernels.weights import padded


def blocks(weights: Array, result: EpilogueS16, channels: int, *, wide: bool = False) -> Array:
    """Returns weights and constants as [blocks, words].

    Args:
        weights: [channels, taps].
        result: The constants of the channels.
        channels: Channels of a block; the last block is padded with zeros.
        wide: True for 16-bit weights.

    Returns:
        For each block: in the short form biases, weights and multipliers; in other forms weights, then the constants of
        each channel.
    """
    full = padded(padded(weights, channels).T, TAP_GROUP).T
    words = _wide(full, channels) if wide else _packed(full, channels)
    constants = padded(result.constants, channels).astype(np.int32).view(np.uint32)
    if not result.short:
        return np.ascontiguousarray(np.concatenate([words, constants.reshape(len(words), -1)], 1))
    bias, multiplier = (constants[:, i].reshape(-1, channels) for i in (0, 1))
    return np.ascontiguousarray(np.concatenate([bias, words, multiplier], 1))


def _packed(weights: Array, channels: int) -> Array:
    """Returns [blocks, tap groups times channels]."""
    ordered = weights.astype(np.int8).reshape(-1, channels, weights.shape[1] // TAP_GROUP, TAP_GROUP)[..., [0, 2, 1, 3]]
    return np.ascontiguousarray(ordered.swapaxes(1, 2)).reshape(len(ordered), -1).view("<u4")


def _wide(weights: Array, channels: int) -> Array:
    """Returns [blocks, tap groups times two halves times channels]."""
    halves = weights.astype(np.int16).reshape(-1, channels, weights.shape[1] // TAP_GROUP, 2, 2)
    return np.ascontiguousarray(halves.transpose(0, 2, 3, 1, 4)).reshape(len(halves), -1).view("<u4")

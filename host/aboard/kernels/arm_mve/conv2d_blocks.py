"""Weights and constants of conv2d with Helium in blocks of four channels; `arm_mve/conv2d.h` has the layout."""

from __future__ import annotations

import numpy as np

from aboard.ir import Array
from aboard.kernels.arm_mve.epilogue import LANES
from aboard.kernels.arm_mve.loops import CHUNK
from aboard.kernels.weights import overlapping, padded


def pack(matrix: Array, rows: int = 1) -> Array:
    """Returns weights [channels, taps] as [blocks of four channels, chunks, 4, 16].

    Args:
        matrix: The weights, of whole blocks.
        rows: Runs of taps, each of which is padded with zeros to whole chunks.
    """
    full = padded(matrix.reshape(len(matrix) * rows, -1).T, CHUNK).T.reshape(len(matrix), -1)
    return np.ascontiguousarray(full.reshape(-1, LANES, full.shape[1] // CHUNK, CHUNK).swapaxes(1, 2))


def by_group(values: Array, count: int) -> Array:
    """Returns values [channels, ...] of `count` groups as whole blocks of four channels.

    The last block of a group are its last channels, some of them again; fewer than four are padded with zeros.
    """
    channels = len(values) // count
    if channels < LANES:
        return np.concatenate([padded(each, LANES) for each in np.split(values, count)])
    order = overlapping(channels, LANES).reshape(-1)
    taken: Array = values[(np.arange(count)[:, np.newaxis] * channels + order).reshape(-1)]
    return taken

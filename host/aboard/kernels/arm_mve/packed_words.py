"""depthwise_conv2d of int8 with Helium, one channel at a time: the records of weights and constants.

`depthwise_packed.py` chooses the geometry; `arm_mve/packed_words.h` reads the records.
"""

from __future__ import annotations

import numpy as np

from aboard.ir import Array
from aboard.kernels.arm_mve.epilogue import EpilogueForm, EpilogueMve
from aboard.kernels.arm_mve.packed_layer import BLOCK, PackedGeometry, Packing
from aboard.kernels.contract import PackedConstant
from aboard.kernels.requantisation import sum_range

#: ABOARD_DEPTHWISE_PACKED_RECORD, and ABOARD_DEPTHWISE_PACKED_WEIGHTS: the constants of the epilogue come first.
RECORD, WEIGHTS = 32, 12

#: Sums from which on the product with a byte may have more than 32 bits.
_WIDE = 1 << 23


def pack(found: PackedGeometry, matrix: Array, result: EpilogueMve) -> PackedConstant:
    """Returns the records of all channels: weights [channels, taps] as packed for the geometry, and constants."""
    across, along = found.across, found.along
    if found.packing is Packing.PARTS:
        return PackedConstant("records", _records_of_parts(found, matrix, result), align=BLOCK, form="int8")
    weights = np.zeros((len(matrix), RECORD - WEIGHTS), np.int8)
    if found.packing is Packing.ONE_AXIS:
        weights[:, 3 : 3 + along.taps] = matrix
    else:
        skipped = 1 if found.packing is Packing.FOUR else 0
        words = weights.reshape(len(weights), -1, 4)
        words[:, skipped : skipped + along.taps, : across.taps] = _windows(found, matrix)
    records = np.concatenate([_constants(result), weights], axis=1)
    return PackedConstant("records", records, align=BLOCK, form="int8")


def _windows(found: PackedGeometry, matrix: Array) -> Array:
    """Returns weights [channels, taps] as [channels, taps along, taps across]."""
    across, along = found.across, found.along
    if across.number == 1:
        return matrix.reshape(len(matrix), along.taps, across.taps)
    windows: Array = matrix.reshape(len(matrix), across.taps, along.taps).swapaxes(1, 2)
    return windows


def _constants(result: EpilogueMve) -> Array:
    """Returns the constants of the epilogue as bytes [channels, 12]; a second shift is a byte."""
    shifted = result.form is EpilogueForm.DOUBLE_RIGHT
    rows = np.concatenate([result.rows[:2], result.rows[2:] & 0xFF]) if shifted else result.rows
    constants: Array = np.ascontiguousarray(rows.T.astype("<i4")).view(np.int8)
    return constants


def is_wide(matrix: Array, result: EpilogueMve) -> bool:
    """True if a sum that is shifted after its first rounding may have more than 23 bits and a sign.

    Args:
        matrix: Weights [channels, taps].
        result: The epilogue of its sums.
    """
    if result.form is not EpilogueForm.DOUBLE_RIGHT:
        return False
    ends = result.rows[0] + sum_range(matrix.astype(np.int64))
    return bool(np.abs(ends).max() >= _WIDE)


def _records_of_parts(found: PackedGeometry, matrix: Array, result: EpilogueMve) -> Array:
    """Returns the records of the form PARTS: a word; constants; and vectors of weights, the parts along innermost."""
    across, along = found.parts
    full = np.zeros((len(matrix), 4 * along, 4 * across), np.int8)
    full[:, : found.along.taps, : found.across.taps] = _windows(found, matrix)
    parts = full.reshape(len(matrix), along, 4, across, 4).transpose(0, 3, 1, 2, 4).reshape(len(matrix), -1)
    records: Array = np.concatenate([np.zeros((len(matrix), 4), np.int8), _constants(result), parts], axis=1)
    return records

"""Epilogue constants for sums of int16 times int8; `firmware/kernels/epilogue_s16.h` reads them.

There are no zero points: the bias is added unchanged, and padding is an input of 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from aboard.ir import Array, DType, Node, Rounding
from aboard.ir.numerics import (
    INT32_MAX,
    Int64,
    multiply_by_quantized_multiplier,
    multiply_wide_by_quantized_multiplier,
    reduced_multiplier,
    wrap32,
)
from aboard.kernels import weights as packing
from aboard.kernels.view import Literal
from aboard.kernels.weights import padded
from aboard.ops import weighted
from aboard.ops.activation import Activation
from aboard.ops.weighted import Precision

#: Largest absolute value of an int16.
_LARGEST = 1 << 15

#: Number of any products whose sum fits 32 bits: 504 * 2**22 < 2**31; a multiple of each iteration's taps.
CHUNK = 504

#: Right shifts of a single rounding that a 31-bit multiplier can include: (sum * multiplier) >> 32.
_SHORT_SHIFTS = (16, 32)


@dataclass(frozen=True)
class EpilogueS16:
    """The epilogue of an INT16 layer, per output channel.

    Attributes:
        short: True if the short form of `aboard_epilogue_s16` is proven exact, with 32-bit sums.
        constants: [channels, words]: bias and multiplier; in the other forms also the high half of the bias and the
            shift.
        chunk: Number of taps whose products fit a 32-bit sum.
        params: Fields of the C struct `aboard_epilogue_s16_t`.
    """

    short: bool
    constants: Array
    chunk: int
    params: Mapping[str, Literal]

    def blocks(self, groups: int, block: int) -> Array:
        """Returns the constants of groups of channels, each padded to whole blocks."""
        return np.concatenate([padded(part, block) for part in np.split(self.constants, groups)])


def refusal(node: Node, axis: int) -> str | None:
    """Returns why kernels for int16 do not accept a node, or None if they do.

    Args:
        node: A node with weights.
        axis: Axis of the output channels in the weights.
    """
    return packing.refusal(node, Precision.INT16, axis)


def epilogue(node: Node, weights: Array, bias: Array | None, activation: Activation, axis: int) -> EpilogueS16:
    """Returns the constants of an INT16 node.

    Args:
        node: A node with weights.
        weights: Its weights as [output channels, taps].
        bias: Its bias, or None.
        activation: Its activation.
        axis: Axis of the output channels in the node's weights.
    """
    given = np.zeros(len(weights), np.int64) if bias is None else bias.astype(np.int64).reshape(-1)
    reach = np.abs(given) + _LARGEST * np.abs(weights.astype(np.int64)).sum(1)
    low, high = activation.range(node.output.quant, DType.INT16)
    fits = int(reach.max()) <= INT32_MAX
    chunk = weights.shape[1] if fits else CHUNK
    exact = node.attrs.rounding is Rounding.EXACT
    short = _short(node, weights, given, axis) if fits and not exact else None
    form = "EXACT" if exact else "SHORT" if short is not None else "WIDE" if weighted.has_wide_sums(node) else "DOUBLE"
    constants = _long(node, given, axis) if short is None else short
    params: dict[str, Literal] = {"form": f"ABOARD_S16_{form}", "low": low, "high": high}
    return EpilogueS16(short is not None, constants, chunk, params)


def _short(node: Node, weights: Array, bias: Int64, axis: int) -> Array | None:
    """Returns bias and multiplier per channel such that (sum * multiplier + 2**31) >> 32 is exact, or None."""
    if not weighted.has_wide_sums(node):
        return None
    multiplier, shift = weighted.multipliers(node, axis)
    constant = ~weights.any(1)
    right = 15 - shift
    least, most = _SHORT_SHIFTS
    if not np.all(constant | (multiplier == 0) | ((least <= right) & (right <= most))):
        return None
    factor = reduced_multiplier(multiplier) << np.clip(32 - right, 0, 16)
    # A channel without weights has one result for all inputs: a quarter of its fourfold.
    value = np.clip(_scaled(node, bias, axis), -_LARGEST, _LARGEST - 1)
    pairs = np.stack([np.where(constant, 4 * value, bias), np.where(constant, 1 << 30, factor)], 1)
    return pairs.astype(np.int32)


def _scaled(node: Node, sums: Int64, axis: int) -> Int64:
    multiplier, shift = weighted.multipliers(node, axis)
    if weighted.has_wide_sums(node):
        return multiply_wide_by_quantized_multiplier(sums, multiplier, shift)
    return multiply_by_quantized_multiplier(wrap32(sums), multiplier, shift)


def _long(node: Node, bias: Int64, axis: int) -> Array:
    multiplier, shift = weighted.multipliers(node, axis)
    if weighted.has_wide_sums(node) and node.attrs.rounding is Rounding.TFLITE:
        multiplier, shift = reduced_multiplier(multiplier), 15 - shift
    return np.stack([wrap32(bias), multiplier, bias >> 32, shift], 1).astype(np.int32)

"""Weights for cores whose best product is SMLAL (Cortex-M3); `firmware/kernels/arm_smlal/dot.h` reads them.

Two pixels share a word of the input, so two sums share 64 bits: that of the first pixel must be less than 2**22. They
start at bias and offset of the line, in both fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aboard.ir import Array, Node
from aboard.ir.numerics import Int64, wrap32
from aboard.kernels import weights as packing
from aboard.kernels.composites import Requantized, filled, requantized
from aboard.ops.activation import Activation
from aboard.target import Target

#: ABOARD_SMLAL_BITS, ABOARD_SMLAL_BLOCK and ABOARD_SMLAL_LINE_SHIFT of `arm_smlal/dot.h`.
BITS, BLOCK, LINE_SHIFT = 23, 4, 4

#: Sums below this, in absolute value, come out of 64 bits.
_LIMIT = 1 << (BITS - 1)


def refusal(target: Target) -> str | None:
    """Returns why a target should do without SMLAL, or None."""
    reasons = {"speed": "saves instructions, not cycles (-opt=speed)", "size": "takes more memory (-opt=size)"}
    return reasons.get(target.opt)


def layer(node: Node, activation: Activation, axis: int) -> Requantized | str:
    """Returns an INT8 layer with sums of two pixels in 64 bits, or why it cannot be one."""
    matrix, bias = packing.matrix(node, axis), packing.bias(node)
    return requantized(node, matrix, bias, activation, axis, LINE_SHIFT, composite=False, limit=_LIMIT, half=0)


def split(whole: Requantized, groups: int) -> Sequence[Requantized]:
    """Returns a layer's groups of channels."""
    names = ("weights", "bias", "factor", "constant", "shift")
    parts = zip(*(np.split(getattr(whole, name), groups) for name in names), strict=True)
    return [replace(whole, **dict(zip(names, part, strict=True))) for part in parts]


def blocks(part: Requantized) -> Array:
    """Returns the words of `aboard_smlal_pair_t`: [blocks of four channels, words]."""
    taps = filled(filled(part.weights, BLOCK).T, 2).T.astype(np.int8)
    count = len(taps) // BLOCK
    streams = np.ascontiguousarray(taps.reshape(count, BLOCK, -1).transpose(0, 2, 1)).reshape(count, -1).view("<i4")
    bias = filled(part.bias, BLOCK)
    starts = (bias + (bias << BITS)).reshape(count, BLOCK).view("<i4")
    columns = [part.factor, part.constant] + ([] if part.line else [part.shift])
    finish = np.stack([_words(filled(column, BLOCK)) for column in columns], 1).reshape(count, -1)
    return np.ascontiguousarray(np.concatenate([starts, streams, finish], 1))


def _words(values: Int64) -> Array:
    return wrap32(values).astype(np.int32)

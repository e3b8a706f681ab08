"""Epilogue constants of integer kernels; `firmware/kernels/epilogue.h` reads them.

The zero point of the input is folded into the bias: sum((x - z) * w) + b = sum(x * w) + (b - z * sum(w)). Kernels then
multiply raw inputs, and padding is an input equal to the zero point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from aboard.ir import Array, Node, Rounding
from aboard.ir.numerics import Int64, multiply_by_quantized_multiplier, wrap32
from aboard.kernels.view import Literal
from aboard.kernels.weights import padded
from aboard.ops import weighted
from aboard.ops.activation import Activation

#: Accumulators below this absolute value can be doubled in 32 bits.
_SHORT_LIMIT = 1 << 30

#: ABOARD_EPILOGUE_SINGLE_SHIFT of `epilogue.h`.
SINGLE_ROUNDING_SHIFT = 4

#: Value of `aboard_epilogue_t.fast` for exact rounding.
_EXACT = 4

#: Channels of a block, and words of its constants.
BLOCK, BLOCK_WORDS = 4, 9


@dataclass(frozen=True)
class Epilogue:
    """The epilogue of a layer, per output channel.

    Attributes:
        fast: True if the short form of `aboard_epilogue` is proven exact for every input.
        bias: Folded bias; doubled in the short form.
        multiplier: Multiplier, in the layout of the form.
        shift: Shift, in the layout of the form.
        params: Fields of the C struct `aboard_epilogue_t`.
    """

    fast: bool
    bias: Int64
    multiplier: Int64
    shift: Int64
    params: Mapping[str, Literal]

    def split(self, groups: int) -> list[Epilogue]:
        """Returns the constants of equal groups of channels."""
        parts = zip(*(np.split(v, groups) for v in (self.bias, self.multiplier, self.shift)), strict=True)
        return [Epilogue(self.fast, b, m, s, self.params) for b, m, s in parts]

    def blocks(self) -> Array:
        """Returns the constants in blocks of four channels: biases, multipliers, and shifts of a byte each."""
        count = -(-len(self.bias) // BLOCK)
        table = np.zeros((count, BLOCK_WORDS), np.int32)
        table[:, 0:4] = padded(self.bias, BLOCK).reshape(count, BLOCK)
        table[:, 4:8] = padded(self.multiplier, BLOCK).reshape(count, BLOCK)
        table[:, 8] = padded(self.shift, BLOCK).astype(np.int8).reshape(count, BLOCK).view("<i4")[:, 0]
        return table


def epilogue(node: Node, weights: Array, bias: Array | None, activation: Activation, axis: int) -> Epilogue:
    """Returns the constants of an INT8 node.

    Args:
        node: A node with weights.
        weights: Its weights as [output channels, taps].
        bias: Its bias, or None.
        activation: Its activation.
        axis: Axis of the output channels in the node's weights.
    """
    quant = node.output.quant
    low, high = activation.range(quant)
    wide = weights.astype(np.int64)
    given = np.zeros(len(wide), np.int64) if bias is None else bias.astype(np.int64).reshape(-1)
    folded = given - node.input(weighted.INPUT).quant.zero_point * wide.sum(1)
    multiplier, shift = weighted.multipliers(node, axis)
    largest = folded + 127 * np.maximum(wide, 0).sum(1) - 128 * np.minimum(wide, 0).sum(1)
    smallest = folded - 128 * np.maximum(wide, 0).sum(1) + 127 * np.minimum(wide, 0).sum(1)
    params: dict[str, Literal] = {"fast": 0, "zero_point": quant.zero_point, "low": low, "high": high}
    if node.attrs.rounding is Rounding.EXACT:
        return Epilogue(False, folded, multiplier, shift, {**params, "fast": _EXACT})
    full = (low, high) == (-128, 127)
    constant = ~wide.any(1)
    dead = constant | (multiplier == 0)
    short = (largest < _SHORT_LIMIT) & (smallest > -_SHORT_LIMIT) & (shift < 0)
    if not np.all(dead | short):
        return Epilogue(False, wrap32(folded), multiplier, shift, params)
    # A channel without weights has one result for all inputs: the short form halves 4v twice, which gives v.
    value = np.clip(multiply_by_quantized_multiplier(wrap32(folded), multiplier, shift) + quant.zero_point, low, high)
    bias_short = np.where(constant, 8 * (value - quant.zero_point), np.where(dead, 0, 2 * folded))
    multiplier_short = np.where(constant, 1 << 30, multiplier)
    return Epilogue(
        True, bias_short, multiplier_short, np.where(dead, 0, -shift - 1), {**params, "fast": 2 if full else 1}
    )

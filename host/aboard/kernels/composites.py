"""Weights and requantisation for cores with the DSP extension; `firmware/kernels/arm_dsp/dot.h` reads them.

Two channels share a halfword, w_0 + 256 * w_1, so that int8 weights stay as small as they are. The kernel sums
raw = acc_0 + 256 * acc_1 and acc_0, and takes the difference: acc_1 must be less than 2**23.

Requantisation is one line for each channel where every channel of the layer has one, and two roundings otherwise. All
of a core's layers share one right shift of the line, since it stands in the instruction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from aboard.ir import Array, Node
from aboard.ir.numerics import INT32_MAX, INT32_MIN, Int64, multiply_by_quantized_multiplier, wrap32
from aboard.kernels.contract import Literal
from aboard.kernels.finish import padded
from aboard.kernels.requant_search import Line, Steps, find
from aboard.ops import weighted
from aboard.ops.activation import Activation

#: ABOARD_FINISH_LINE_SHIFT of `finish.h`.
FINISH_LINE_SHIFT = 4

#: Taps of a quad: what two words of halfwords hold.
QUAD = 4

#: What tables call weights in composites, and those that are widened to halfwords.
PAIRED, WIDENED = "int8 pairs", "int16"

#: Sums below this, in absolute value, come out of a composite.
SUM_LIMIT = 1 << 23

#: Other sums: two roundings add a constant to a number that is not larger.
_WIDE_LIMIT = 1 << 30

#: Right shift that two roundings may have.
_MOST_SHIFT = 22


@dataclass(frozen=True)
class Requantized:
    """A layer as kernels for the DSP extension take it, per output channel.

    Attributes:
        weights: [channels, taps]; those of a channel with one result for all inputs are 0.
        bias: Start of the sum, the zero point of the input and the offset of the line folded in.
        factor: What the sum is multiplied by; twice the multiplier modulo 2**32.
        constant: What is added to the high half of the product.
        shift: Right shift of two roundings; that of the line where `line` is set.
        line: Whether one line gives each channel's results.
        params: Fields `line`, `clamped`, `low` and `high` of the parameters of a kernel.
    """

    weights: Int64
    bias: Int64
    factor: Int64
    constant: Int64
    shift: Int64
    line: bool
    params: Mapping[str, Literal]

    def centered(self, zero_point: int) -> Requantized:
        """Returns the layer for inputs from which the zero point has been subtracted."""
        return replace(self, bias=self.bias + zero_point * self.weights.sum(1))


def requantized(
    node: Node,
    weights: Array,
    bias: Array | None,
    activation: Activation,
    axis: int,
    shift: int,
    *,
    per_channel: bool = True,
    composite: bool = True,
    limit: int | None = None,
    half: int = 1 << 30,
) -> Requantized | str:
    """Returns an INT8 layer for the DSP extension or for long products, or why it cannot be one.

    Args:
        node: A node with weights.
        weights: Its weights as [output channels, taps].
        bias: Its bias, or None.
        activation: Its activation.
        axis: Axis of the node's weights that counts output channels.
        shift: Right shift of lines.
        per_channel: False: all channels have the same factor, constant and shift; so must their scales.
        composite: Whether sums come out of composites, and of each two channels the second as 256 times itself.
        limit: Sums must be smaller, in absolute value; None for that of composites or of requantisation.
        half: What a line adds to a product (`requant_search.Line`).
    """
    low, high = activation.range(node.output.quant)
    wide = weights.astype(np.int64)
    given = np.zeros(len(wide), np.int64) if bias is None else bias.astype(np.int64).reshape(-1)
    folded = given - node.input(weighted.INPUT).quant.zero_point * wide.sum(1)
    multiplier, scale = weighted.multipliers(node, axis)
    smallest, largest = folded + _ends(wide)
    if smallest.min() < INT32_MIN or largest.max() > INT32_MAX:
        return "sums may wrap"
    zero_point = node.output.quant.zero_point
    ends = np.stack([smallest, largest])
    values = np.clip(multiply_by_quantized_multiplier(ends, multiplier, scale) + zero_point, low, high)
    moving = values[0] != values[1] if per_channel else np.ones(len(wide), np.bool_)
    if np.any(scale[moving] >= 0):
        return "results are not smaller than sums"
    if not per_channel:
        ends = np.stack([np.full(len(wide), smallest.min()), np.full(len(wide), largest.max())])
    wide, folded = np.where(moving[:, np.newaxis], wide, 0), np.where(moving, folded, 0)
    layer = _Layer(
        wide,
        folded,
        multiplier,
        scale,
        np.where(moving, ends, 0),
        moving,
        values[0],
        (zero_point, low, high),
        composite,
        limit or (SUM_LIMIT if composite else _WIDE_LIMIT),
        half,
    )
    return layer.by_lines(shift) or layer.by_roundings()


def by_lines(node: Node, weights: Array, bias: Array | None, activation: Activation, axis: int) -> Requantized | None:
    """Returns an INT8 layer for `aboard_finish_line` of `finish.h`, or None where a channel has no line; as above."""
    layer = requantized(node, weights, bias, activation, axis, FINISH_LINE_SHIFT, composite=False, half=0)
    return None if isinstance(layer, str) or not layer.line else layer


@dataclass(frozen=True)
class _Layer:
    """A layer before a form of requantisation is chosen.

    `fixed` is the result of channels that do not move; `result` is zero point and range of the results; `limit` is
    what sums must be smaller than, in absolute value; `half` is that of lines.
    """

    weights: Int64
    bias: Int64
    multiplier: Int64
    scale: Int64
    ends: Int64
    moving: Array
    fixed: Int64
    result: tuple[int, int, int]
    composite: bool
    limit: int
    half: int

    def by_lines(self, shift: int) -> Requantized | None:
        """Returns the layer with a line for each channel, or None where one of them has none."""
        lines = [self._line(channel, shift) for channel in range(len(self.bias))]
        if not all(lines):
            return None
        offset, factor, constant = np.array([(n.offset, 2 * n.factor, n.constant) for n in lines if n], np.int64).T
        constant = constant + (1 << shift >> 1)
        bias = self.bias + offset
        # Of composites odd channels are computed from 256 times their sum, with a constant that counts 1/256.
        scale = 256 if self.composite else 1
        reach = int((np.abs((self.ends + offset) * factor >> 32) + np.abs(constant)).max()) * scale + scale
        if np.abs(self.ends + offset).max() >= self.limit or reach > INT32_MAX or factor.max() > INT32_MAX:
            return None
        shifts = np.full(len(bias), shift, np.int64)
        return Requantized(self.weights, bias, factor, constant, shifts, True, self._params(1))

    def _line(self, channel: int, shift: int) -> Line | None:
        if not self.moving[channel]:
            return Line(0, 0, int(self.fixed[channel]) << shift, self.half)
        steps = Steps(
            int(self.multiplier[channel]),
            int(self.scale[channel]),
            *self.result,
            int(self.ends[0, channel]),
            int(self.ends[1, channel]),
        )
        # At most a factor of 30 bits, which is doubled.
        return find(steps, shift, self.half) if -steps.shift > shift else None

    def by_roundings(self) -> Requantized | str:
        """Returns the layer with two roundings for each channel, or why it cannot be."""
        if np.abs(self.ends).max() >= self.limit:
            return f"sums may exceed {self.limit}"
        shift = np.where(self.moving, -self.scale, 1)
        if shift.max() > _MOST_SHIFT:
            return f"results are shifted by more than {_MOST_SHIFT}"
        value = np.where(self.moving, self.result[0], self.fixed)
        constant = (1 << shift >> 1) + value * (1 << shift)
        return Requantized(
            self.weights, self.bias, wrap32(2 * self.multiplier), constant, shift, False, self._params(0)
        )

    def _params(self, line: int) -> Mapping[str, Literal]:
        low, high = self.result[1:]
        return {"line": line, "clamped": int((low, high) != (-128, 127)), "low": low, "high": high}


def _ends(weights: Int64) -> Int64:
    """Returns the smallest and largest sum of products of raw inputs, [2, channels]."""
    positive, negative = np.maximum(weights, 0).sum(1), np.minimum(weights, 0).sum(1)
    ends: Int64 = np.stack([127 * negative - 128 * positive, 127 * positive - 128 * negative])
    return ends


def fits_composites(weights: Array) -> bool:
    """True when two channels' weights fit a halfword: only -128 in both of them does not."""
    return int(weights.min(initial=0)) > -128


def pairs(layer: Requantized) -> Array:
    """Returns the words of `aboard_dsp_pair_t`: [blocks of two channels, words]."""
    taps = words(filled(layer.weights, 2))
    bias, factor, constant, shift = (
        filled(v, 2).reshape(-1, 2).T for v in (layer.bias, layer.factor, layer.constant, layer.shift)
    )
    before = [bias[0], bias[0] + 256 * bias[1]]
    behind = [*factor, constant[0]]
    behind += [constant[1] * 256 + 128] if layer.line else [constant[1], shift[0] + 256 * shift[1]]
    columns = [wrap32(np.stack(part, 1)).astype(np.int32).view(np.uint32) for part in (before, behind)]
    return np.ascontiguousarray(np.concatenate([columns[0], taps, columns[1]], 1))


def wide_pairs(layer: Requantized) -> Array:
    """Returns the words of `aboard_dsp_pair_wide`, weights of 16 bits: [blocks of two channels, words]."""
    taps = filled(filled(layer.weights, 2).T, QUAD).T.astype(np.int16)
    # [blocks, channels of a block, quads, even and odd taps of a quad, two taps]
    ordered = taps.reshape(len(taps) // 2, 2, -1, QUAD)[..., [0, 2, 1, 3]].reshape(len(taps) // 2, 2, -1, 2, 2)
    words = np.ascontiguousarray(ordered.transpose(0, 2, 3, 1, 4)).reshape(len(ordered), -1).view("<u4")
    bias, factor, constant = (filled(v, 2).reshape(-1, 2) for v in (layer.bias, layer.factor, layer.constant))
    around = [wrap32(part).astype(np.int32).view(np.uint32) for part in (bias, np.concatenate([factor, constant], 1))]
    return np.ascontiguousarray(np.concatenate([around[0], words, around[1]], 1))


def filled(values: Int64, multiple: int) -> Int64:
    """Returns values with zeros behind the first axis, up to a multiple of a length."""
    return padded(values, multiple).astype(np.int64)


def words(weights: Int64) -> Array:
    """Returns composites of an even number of channels as [pairs of channels, two words for each quad of taps].

    Taps of a quad stand as SXTB16 gives those of the input: 0 and 2, then 1 and 3.
    """
    taps = filled(weights.T, QUAD).T
    halfwords = (taps[0::2] + 256 * taps[1::2]).astype(np.int16)
    ordered = halfwords.reshape(len(halfwords), -1, QUAD)[:, :, [0, 2, 1, 3]]
    return np.ascontiguousarray(ordered.reshape(len(halfwords), -1)).view("<u4")

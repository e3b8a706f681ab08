"""Epilogue constants of int8 kernels for Helium; `arm_mve/epilogue.h` reads them.

The zero point of the input is folded into the bias, as in `aboard.kernels.portable.epilogue`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from aboard.ir import Array, Node, Rounding
from aboard.ir.fingerprint import Memo
from aboard.ir.numerics import INT32_MAX, INT32_MIN, Int64, wrap32
from aboard.kernels import weights as packing
from aboard.kernels.arm_mve.rescale import second_factors
from aboard.kernels.contract import UnsupportedNodeError
from aboard.kernels.requantisation import channel_type, sum_range
from aboard.kernels.single_rounding import DoubleRounding, find
from aboard.kernels.view import Literal
from aboard.kernels.weights import padded
from aboard.ops import weighted
from aboard.ops.activation import Activation

#: Lanes of a vector of accumulators.
LANES = 4

#: Results without limits.
LOW, HIGH = -128, 127

#: Largest right shift of the instruction that narrows 32 to 16 bits.
_MAX_NARROWING = 16

#: Single roundings of layers: kernels ask for them when they refuse a node, when they are priced and when they are
#: lowered, and large networks have more channels than `find` remembers.
_SINGLE: Memo[tuple[int, Int64] | None] = Memo(4096)


class EpilogueForm(IntEnum):
    """ABOARD_MVE_SINGLE_ROUNDING, _RIGHT, _ANY and _PRODUCTS of `arm_mve/epilogue.h`."""

    SINGLE = 0
    DOUBLE_RIGHT = 1
    DOUBLE = 2
    PRODUCTS = 3


@dataclass(frozen=True)
class EpilogueMve:
    """The epilogue of a layer.

    Attributes:
        form: Form of the requantisation.
        rows: Constants [kinds, output channels] in the order in which the form reads them.
        params: Fields of the C struct `aboard_mve_epilogue_t`.
    """

    form: EpilogueForm
    rows: Int64
    params: Mapping[str, Literal]

    @property
    def is_single(self) -> bool:
        """True for a single rounding."""
        return self.form is EpilogueForm.SINGLE

    @property
    def is_plain_single(self) -> bool:
        """True for a single rounding without limits: the result saturates to int8."""
        return self.is_single and (self.params["low"], self.params["high"]) == (LOW, HIGH)

    def general(self) -> EpilogueMve:
        """Returns the epilogue with the form DOUBLE instead of DOUBLE_RIGHT."""
        if self.form is not EpilogueForm.DOUBLE_RIGHT:
            return self
        rows = np.insert(self.rows, 1, 0, axis=0)
        return EpilogueMve(EpilogueForm.DOUBLE, rows, {**self.params, "form": int(EpilogueForm.DOUBLE)})

    def blocks(self, channels: int = LANES, order: Int64 | None = None) -> Array:
        """Returns the constants as [blocks, kinds, channels of a block], padded with zeros.

        Args:
            channels: Channels of a block; a multiple of `LANES`.
            order: Order of the channels in a block; None for ascending order.
        """
        full = padded(self.rows.T, channels).reshape(-1, channels, len(self.rows))
        if order is not None:
            full = full[:, order]
        lanes = full.reshape(len(full), channels // LANES, LANES, len(self.rows))
        return np.ascontiguousarray(lanes.swapaxes(2, 3)).astype(np.int32)


@dataclass(frozen=True)
class UniformMve:
    """The epilogue of a layer whose results all have the same multiplier and shift.

    Attributes:
        multiplier: The multiplier.
        biases: Biases of all channels.
        params: Fields of the C struct `aboard_mve_epilogue_t`, including the shift.
    """

    multiplier: int
    biases: Int64
    params: Mapping[str, Literal]


def epilogue(node: Node, weights: Array, bias: Array | None, activation: Activation, axis: int) -> EpilogueMve:
    """Returns the constants of an INT8 node.

    Args:
        node: A node with weights.
        weights: Its weights as [output channels, taps].
        bias: Its bias, or None.
        activation: Its activation.
        axis: Axis of the output channels in the node's weights.

    Raises:
        UnsupportedNodeError: The node rounds exactly, and no single rounding does.
    """
    params, folded = _range(node, activation), _folded(node, weights, bias)
    multiplier, shift = weighted.multipliers(node, axis)
    ends = folded + sum_range(weights.astype(np.int64))
    limits = (node.output.quant.zero_point, *activation.range(node.output.quant))
    single = _single(ends, folded, multiplier, shift, limits, channel_type(node))
    if single is not None:
        narrowing, rows = single
        return EpilogueMve(EpilogueForm.SINGLE, rows, {"form": int(EpilogueForm.SINGLE), "shift": narrowing, **params})
    if node.attrs.rounding is Rounding.EXACT:
        raise UnsupportedNodeError("has no single rounding that equals the exact one")
    right = np.minimum(shift, 0)
    if np.all(shift <= 0):
        factors = second_factors(ends, multiplier, right)
        form = EpilogueForm.DOUBLE_RIGHT if factors is None else EpilogueForm.PRODUCTS
        rows = np.stack([wrap32(folded), multiplier, right if factors is None else factors])
    else:
        form, rows = EpilogueForm.DOUBLE, np.stack([wrap32(folded), np.maximum(shift, 0), multiplier, right])
    return EpilogueMve(form, rows, {"form": int(form), "shift": 0, **params})


def uniform(node: Node, weights: Array, bias: Array | None, activation: Activation, axis: int) -> UniformMve | None:
    """Returns the constants of an INT8 node if all its results are scaled alike, by less than 1 and without limits.

    Args:
        node: As for `epilogue`, as are the others.
        weights: Its weights as [output channels, taps].
        bias: Its bias, or None.
        activation: Its activation.
        axis: Axis of the output channels in the node's weights.
    """
    multiplier, shift = weighted.multipliers(node, axis)
    params, right = _range(node, activation), -int(shift.min())
    alike = bool(np.all(multiplier == multiplier[0]) and np.all(shift == shift[0]))
    plain = node.attrs.rounding is Rounding.TFLITE and (params["low"], params["high"]) == (LOW, HIGH)
    if not (alike and plain and 1 <= right <= _MAX_NARROWING):
        return None
    form: dict[str, Literal] = {"form": int(EpilogueForm.DOUBLE_RIGHT), "shift": right}
    return UniformMve(int(multiplier[0]), wrap32(_folded(node, weights, bias)), {**form, **params})


def _range(node: Node, activation: Activation) -> dict[str, Literal]:
    """Returns zero point and limits of the result."""
    quant = node.output.quant
    low, high = activation.range(quant)
    return {"zero_point": quant.zero_point, "low": low, "high": high}


def _folded(node: Node, weights: Array, bias: Array | None) -> Int64:
    """Returns the biases with the zero point of the input."""
    wide = weights.astype(np.int64)
    given = np.zeros(len(wide), np.int64) if bias is None else bias.astype(np.int64).reshape(-1)
    folded: Int64 = given - node.input(weighted.INPUT).quant.zero_point * wide.sum(1)
    return folded


def refusal(node: Node, activation: Activation, axis: int) -> str | None:
    """Returns why no epilogue for Helium computes an INT8 node with constant weights, or None."""
    if node.attrs.rounding is Rounding.TFLITE:
        return None
    try:
        epilogue(node, packing.matrix(node, axis), packing.bias(node), activation, axis)
    except UnsupportedNodeError as error:
        return str(error)
    return None


def _single(
    ends: Int64,
    folded: Int64,
    multiplier: Int64,
    shift: Int64,
    result: tuple[int, int, int],
    channel: type[DoubleRounding],
) -> tuple[int, Int64] | None:
    """Returns shift and constants of a single rounding for each channel, or None if a channel has none."""
    key = (*(values.tobytes() for values in (ends, folded, multiplier, shift)), result, channel)
    return _SINGLE.get(key, lambda: _found(ends, folded, multiplier, shift, result, channel))


def _found(
    ends: Int64,
    folded: Int64,
    multiplier: Int64,
    shift: Int64,
    result: tuple[int, int, int],
    channel: type[DoubleRounding],
) -> tuple[int, Int64] | None:
    if ends.min() < INT32_MIN or ends.max() > INT32_MAX or shift.max() > 0:
        return None
    channels = [
        channel(int(m), int(s), *result, int(first), int(last))
        for m, s, first, last in zip(multiplier, shift, *ends, strict=True)
    ]
    moving = [-c.shift for c in channels if c.multiplier and c.value(c.smallest) != c.value(c.largest)]
    narrowing = min([_MAX_NARROWING, *moving])
    if narrowing < 1:
        return None
    rows = []
    for steps, start in zip(channels, folded, strict=True):
        found = find(steps, narrowing)
        if found is None:
            return None
        rows.append((int(wrap32(start + found.offset)), found.factor, found.constant))
    return narrowing, np.array(rows, np.int64).T

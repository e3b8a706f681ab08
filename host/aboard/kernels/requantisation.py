"""Requantisation epilogues of layers: a single rounding if it is exact, TFLite's double rounding otherwise.

A layer has single roundings if every channel has one (`aboard.kernels.single_rounding`), and double roundings
otherwise. All layers of a core share the right shift of single roundings, because it is part of the instruction.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from aboard.ir import Array, Node, Rounding
from aboard.ir.fingerprint import Memo, once_for_equal_nodes
from aboard.ir.numerics import INT32_MAX, INT32_MIN, Int64, wrap32
from aboard.kernels import weights as packing
from aboard.kernels.contract import UnsupportedNodeError
from aboard.kernels.single_rounding import DoubleRounding, ExactRounding, SingleRounding, find
from aboard.kernels.view import Literal
from aboard.ops import weighted
from aboard.ops.activation import Activation

#: Sums below this absolute value can be extracted from a pair of SWAR-packed sums (`arm_dsp.dot`).
SWAR_LIMIT = 1 << 23

#: Limit of other sums: a double rounding adds a constant to a number of at most this size.
_WIDE_LIMIT = 1 << 30

#: Largest right shift of a double rounding.
_MAX_SHIFT = 22


#: The single roundings of the channels of a layer: several kernels of a layer ask for the same, and several passes.
_SINGLE: Memo[list[SingleRounding] | None] = Memo(4096)


@dataclass(frozen=True)
class RequantisedLayer:
    """Weights and epilogue constants of an INT8 layer, per output channel.

    Attributes:
        weights: [channels, taps]; 0 in a channel whose result is the same for all inputs.
        bias: Start of the sum, including the zero point of the input and the offset of the single rounding.
        factor: Factor of the sum; twice the multiplier modulo 2**32.
        constant: Addend of the high half of the product.
        shift: Right shift after the addition.
        is_single_rounding: True if every channel has a single rounding.
        params: Fields `single_rounding`, `clamped`, `low` and `high` of a kernel's parameters.
    """

    weights: Int64
    bias: Int64
    factor: Int64
    constant: Int64
    shift: Int64
    is_single_rounding: bool
    params: Mapping[str, Literal]

    def centered(self, zero_point: int) -> RequantisedLayer:
        """Returns the layer for inputs minus the zero point."""
        return replace(self, bias=self.bias + zero_point * self.weights.sum(1))

    def split(self, groups: int) -> list[RequantisedLayer]:
        """Returns the parts of equal groups of channels."""
        size = len(self.bias) // groups
        return [self.part(size * group, size * (group + 1)) for group in range(groups)]

    def part(self, first: int, last: int) -> RequantisedLayer:
        """Returns channels [first, last)."""
        return self.of(np.arange(first, last))

    def of(self, channels: npt.NDArray[np.intp]) -> RequantisedLayer:
        """Returns a layer of some channels, in their order; a channel may be there several times."""
        names = ("weights", "bias", "factor", "constant", "shift")
        return replace(self, **{name: getattr(self, name)[channels] for name in names})


def requantised(
    node: Node,
    activation: Activation,
    axis: int,
    shift: int,
    *,
    per_channel: bool = True,
    swar: bool = True,
    limit: int | None = None,
    half: int = 1 << 30,
) -> RequantisedLayer:
    """Returns an INT8 layer for kernels whose epilogue is a long product: SMMLA, SMMUL or SMLAL.

    Args:
        node: A node with constant weights.
        activation: Its activation.
        axis: Axis of the output channels in the node's weights.
        shift: Right shift of single roundings.
        per_channel: If False, all channels have the same factor, constant and shift; their scales must be equal.
        swar: True if the kernel sums SWAR-packed weights: each odd channel is then 256 times its sum.
        limit: Limit of the absolute value of sums; None for the limit of SWAR or of a double rounding.
        half: Addend of the product before its high half is taken (`SingleRounding.half`).

    Raises:
        UnsupportedNodeError: The layer has no such form.
    """
    found = _epilogue(node, activation, axis, shift, per_channel, swar, limit, half)
    weights = np.where(found.varies[:, np.newaxis], packing.matrix(node, axis).astype(np.int64), 0)
    return RequantisedLayer(
        weights, found.bias, found.factor, found.constant, found.shift, found.is_single_rounding, found.params
    )


@once_for_equal_nodes(4096)
def _epilogue(
    node: Node,
    activation: Activation,
    axis: int,
    shift: int,
    per_channel: bool,
    swar: bool,
    limit: int | None,
    half: int,
) -> _Epilogue:
    """Returns `requantised` without the weights: kernels ask for it when they refuse a node and when they lower it."""
    low, high = activation.range(node.output.quant)
    wide, bias = packing.matrix(node, axis).astype(np.int64), packing.bias(node)
    given = np.zeros(len(wide), np.int64) if bias is None else bias.astype(np.int64).reshape(-1)
    folded = given - node.input(weighted.INPUT).quant.zero_point * wide.sum(1)
    multiplier, scale = weighted.multipliers(node, axis)
    smallest, largest = folded + sum_range(wide)
    if smallest.min() < INT32_MIN or largest.max() > INT32_MAX:
        raise UnsupportedNodeError("sums may wrap")
    zero_point = node.output.quant.zero_point
    ends = np.stack([smallest, largest])
    values = np.clip(weighted.rescaled(node, ends, axis) + zero_point, low, high)
    varies = values[0] != values[1] if per_channel else np.ones(len(wide), np.bool_)
    if np.any(scale[varies] >= 0):
        raise UnsupportedNodeError("results are not smaller than sums")
    if not per_channel:
        ends = np.stack([np.full(len(wide), smallest.min()), np.full(len(wide), largest.max())])
    sums = _LayerSums(
        np.where(varies, folded, 0),
        multiplier,
        scale,
        np.where(varies, ends, 0),
        varies,
        values[0],
        (zero_point, low, high),
        swar,
        limit or (SWAR_LIMIT if swar else _WIDE_LIMIT),
        half,
        channel_type(node),
    )
    single = sums.single_rounding(shift)
    if single is None and node.attrs.rounding is Rounding.EXACT:
        raise UnsupportedNodeError("has no single rounding that equals the exact one")
    return single or sums.double_rounding()


def requantised_alike(
    node: Node, activation: Activation, axis: int, shift: int, *, swar: bool = True, half: int = 1 << 30
) -> tuple[RequantisedLayer, bool]:
    """Returns an INT8 layer whose channels share their constants if they can, and whether each has its own.

    A layer with one scale has them too if its sums are too large together: a channel whose result is the same for all
    inputs then needs no sum. Arguments and errors as for `requantised`.
    """
    if not packing.differ(node):
        with contextlib.suppress(UnsupportedNodeError):
            return requantised(node, activation, axis, shift, per_channel=False, swar=swar, half=half), False
    return requantised(node, activation, axis, shift, swar=swar, half=half), True


def channel_type(node: Node) -> type[DoubleRounding]:
    """Returns the class of a channel's requantisation."""
    return ExactRounding if node.attrs.rounding is Rounding.EXACT else DoubleRounding


def requantised_once(node: Node, activation: Activation, axis: int, shift: int) -> RequantisedLayer | None:
    """Returns an INT8 layer with a single rounding in every channel, or None if a channel has none.

    Arguments as for `requantised`; the kernel sums plain weights and does not round products.
    """
    try:
        layer = requantised(node, activation, axis, shift, swar=False, half=0)
    except UnsupportedNodeError:
        return None
    return layer if layer.is_single_rounding else None


@dataclass(frozen=True)
class _Epilogue:
    """The epilogue of a layer: the fields of `RequantisedLayer`.

    Attributes:
        varies: Channels whose result depends on the input.
    """

    varies: Array
    bias: Int64
    factor: Int64
    constant: Int64
    shift: Int64
    is_single_rounding: bool
    params: Mapping[str, Literal]


@dataclass(frozen=True)
class _LayerSums:
    """A layer without an epilogue.

    Attributes:
        bias: As in `RequantisedLayer`, without the offset of a single rounding.
        multiplier: TFLite's multiplier.
        scale: TFLite's shift; negative to the right.
        ends: Smallest and largest sum, [2, channels].
        varies: Channels whose result depends on the input.
        fixed: Result of the other channels.
        result: Zero point, smallest and largest result.
        swar: As in `requantised`.
        limit: As in `requantised`.
        half: As in `requantised`.
        channel: Class of a channel's requantisation.
    """

    bias: Int64
    multiplier: Int64
    scale: Int64
    ends: Int64
    varies: Array
    fixed: Int64
    result: tuple[int, int, int]
    swar: bool
    limit: int
    half: int
    channel: type[DoubleRounding]

    def single_rounding(self, shift: int) -> _Epilogue | None:
        """Returns the layer with a single rounding in each channel, or None if a channel has none."""
        arrays = (self.multiplier, self.scale, self.ends, self.varies, self.fixed)
        key = (*(values.tobytes() for values in arrays), self.result, self.half, self.channel, shift)
        found = _SINGLE.get(key, lambda: self._all_found(shift))
        if found is None:
            return None
        offset, factor, constant = np.array([(n.offset, 2 * n.factor, n.constant) for n in found], np.int64).T
        constant = constant + (1 << shift >> 1)
        bias = self.bias + offset
        # With SWAR, odd channels are computed from 256 times their sum, with a constant in units of 1/256.
        scale = 256 if self.swar else 1
        largest = int((np.abs((self.ends + offset) * factor >> 32) + np.abs(constant)).max()) * scale + scale
        if np.abs(self.ends + offset).max() >= self.limit or largest > INT32_MAX or factor.max() > INT32_MAX:
            return None
        shifts = np.full(len(bias), shift, np.int64)
        return _Epilogue(self.varies, bias, factor, constant, shifts, True, self._params(1))

    def _all_found(self, shift: int) -> list[SingleRounding] | None:
        """Returns the single rounding of each channel; None from the first channel on that has none."""
        found = []
        for channel in range(len(self.bias)):
            one = self._found(channel, shift)
            if one is None:
                return None
            found.append(one)
        return found

    def _found(self, channel: int, shift: int) -> SingleRounding | None:
        if not self.varies[channel]:
            return SingleRounding(0, 0, int(self.fixed[channel]) << shift, self.half)
        rounding = self.channel(
            int(self.multiplier[channel]),
            int(self.scale[channel]),
            *self.result,
            int(self.ends[0, channel]),
            int(self.ends[1, channel]),
        )
        # The factor is doubled, so it has at most 30 bits.
        return find(rounding, shift, self.half) if -rounding.shift > shift else None

    def double_rounding(self) -> _Epilogue:
        """Returns the layer with a double rounding in each channel.

        Raises:
            UnsupportedNodeError: A sum or a shift is too large.
        """
        if np.abs(self.ends).max() >= self.limit:
            raise UnsupportedNodeError(f"sums may exceed {self.limit}")
        shift = np.where(self.varies, -self.scale, 1)
        if shift.max() > _MAX_SHIFT:
            raise UnsupportedNodeError(f"results are shifted by more than {_MAX_SHIFT}")
        value = np.where(self.varies, self.result[0], self.fixed)
        constant = (1 << shift >> 1) + value * (1 << shift)
        factor = wrap32(2 * self.multiplier)
        return _Epilogue(self.varies, self.bias, factor, constant, shift, False, self._params(0))

    def _params(self, single: int) -> Mapping[str, Literal]:
        low, high = self.result[1:]
        return {"single_rounding": single, "clamped": int((low, high) != (-128, 127)), "low": low, "high": high}


def sum_range(weights: Int64) -> Int64:
    """Returns the smallest and largest sum of products with raw int8 inputs, [2, channels]."""
    positive, negative = np.maximum(weights, 0).sum(1), np.minimum(weights, 0).sum(1)
    ends: Int64 = np.stack([127 * negative - 128 * positive, 127 * positive - 128 * negative])
    return ends

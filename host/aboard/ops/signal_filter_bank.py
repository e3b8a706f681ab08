"""Filter banks over a spectrum: sums of weighted energies, their square roots, noise reduction and logarithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node
from aboard.ops.registry import SourceNode, register
from aboard.ops.signal import Kept, SignalOp, Signature, integer

Uint32 = npt.NDArray[np.uint32]
_U32 = (DType.UINT32,)
_MASK32 = np.uint64(2**32 - 1)
_INT32 = (-(2**31), 2**31 - 1)

#: Fractional bits of logarithms, and the natural logarithm of 2 in them.
LOG_BITS = 16
LOG_OF_2 = 45426


@dataclass(frozen=True)
class BankAttributes(Attributes):
    """Attributes of `signal_filter_bank`.

    Attributes:
        channels: Number of channels.
    """

    channels: int


@register
class SignalFilterBank(SignalOp):
    """Sums the energies of each channel, in 64 bits.

    A frequency belongs to two neighbouring channels. With `x` the energies (operand 0), and for group i from 0 to
    `channels` its first energy, its first weight and its number of energies (operands 3 to 5, constant), channel i is
    the sum of group i + 1 with the weights of operand 1, and of group i with those of operand 2.
    """

    name = "signal_filter_bank"
    attributes = BankAttributes
    tflite = ("CUSTOM SignalFilterBank",)
    signatures = (Signature((DType.UINT32, *(DType.INT16,) * 5), (DType.UINT64,)),)
    ranks = (1,) * 6

    @override
    def read(self, source: SourceNode) -> BankAttributes:
        return BankAttributes(integer(source, "num_channels", 1, 2**15 - 1))

    @override
    def problem(self, node: Node) -> str | None:
        groups = cast(BankAttributes, node.attrs).channels + 1
        run_time = next((i for i in (3, 4, 5) if node.input(i).data is None), None)
        if run_time is not None:
            return f"operand {run_time} is computed at run time, expected a constant"
        short = next((i for i in (3, 4, 5) if node.input(i).type.elements < groups), None)
        if short is not None:
            return f"operand {short}, got {node.input(short).type.elements} elements, expected {groups} at least"
        weights = min(node.input(1).type.elements, node.input(2).type.elements)
        for energy, weight, width in groups_of(node):
            if width and not (0 <= energy <= node.input(0).type.elements - width and 0 <= weight <= weights - width):
                return f"a group of {width} energies from {energy} and weights from {weight} does not fit the operands"
        return None

    @override
    def shapes(self, node: Node) -> list[tuple[int, ...]]:
        return [(cast(BankAttributes, node.attrs).channels,)]

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        x, weights, others = (np.asarray(values) for values in operands[:3])
        return [channel_sums(x, weights, others, groups_of(node))]


def channel_sums(
    x: Array, weights: Array, others: Array, groups: Sequence[tuple[int, int, int]]
) -> npt.NDArray[np.uint64]:
    """Returns the sums of each channel [..., channels], modulo 2^64.

    Args:
        x: Energies uint32 [..., energies].
        weights: int16 weights of the channel above a group.
        others: int16 weights of the channel below it.
        groups: First energy, first weight and width of each group, of which there are channels + 1.
    """
    wide = x.astype(np.uint64)
    above, below = (values.astype(np.int64).astype(np.uint64) for values in (weights, others))
    carried, sums = np.zeros(x.shape[:-1], np.uint64), []
    for energy, weight, width in groups:
        part = wide[..., energy : energy + width]
        sums.append(carried + (above[weight : weight + width] * part).sum(axis=-1, dtype=np.uint64))
        carried = np.asarray((below[weight : weight + width] * part).sum(axis=-1, dtype=np.uint64))
    return np.stack(sums[1:], axis=-1)


def groups_of(node: Node) -> list[tuple[int, int, int]]:
    """Returns first energy, first weight and width of each group; 0 for a width that is negative."""
    count = cast(BankAttributes, node.attrs).channels + 1
    columns = [np.asarray(node.input(i).data).reshape(-1)[:count].tolist() for i in (3, 4, 5)]
    return [(energy, weight, max(width, 0)) for energy, weight, width in zip(*columns, strict=True)]


@register
class SignalFilterBankSquareRoot(SignalOp):
    """Square roots in 32 bits, rounded, shifted to the right by as many bits as operand 1 says."""

    name = "signal_filter_bank_square_root"
    tflite = ("CUSTOM SignalFilterBankSquareRoot",)
    signatures = (Signature((DType.UINT64, DType.INT32), _U32),)
    ranks = (1, 0)

    @override
    def read(self, source: SourceNode) -> Attributes:
        return Attributes()

    @override
    def shapes(self, node: Node) -> list[tuple[int, ...]]:
        return [node.input(0).shape]

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        # A shift of 32 and more is undefined in the reference; cores take the lower 5 bits of it.
        return [square_roots(np.asarray(operands[0])) >> np.uint32(int(np.asarray(operands[1])) & 31)]


def square_roots(x: Array) -> npt.NDArray[np.uint32]:
    """Returns the rounded square roots of uint64 numbers; of numbers of 32 bits, at most 0xffff."""
    most, one = np.uint64(2**32 - 1), np.uint64(1)
    square: npt.NDArray[np.uint64] = x.astype(np.uint64)
    root: npt.NDArray[np.uint64] = np.sqrt(square.astype(np.float64)).clip(max=float(most)).astype(np.uint64)
    # Float64 errs by one at most.
    root -= root * root > square
    root += (root != most) & (square - root * root > root + root)
    up = (square - root * root > root) & (root != np.where(square < 2**32, np.uint64(0xFFFF), most))
    return np.where(up, root + one, root).astype(np.uint32)


@dataclass(frozen=True)
class SubtractionAttributes(Attributes):
    """Attributes of `signal_filter_bank_spectral_subtraction`; all but the last three have `bits` fractional bits.

    Attributes:
        smoothing: Weight of the signal in the noise estimate of even channels.
        one_minus_smoothing: Weight of the estimate before.
        alternate_smoothing: As `smoothing`, of odd channels.
        alternate_one_minus_smoothing: As `one_minus_smoothing`, of odd channels.
        min_signal_remaining: Part of the signal that remains at least.
        smoothing_bits: Further fractional bits of the noise estimate.
        bits: Fractional bits.
        clamping: Whether the estimate never exceeds the signal.
    """

    smoothing: int
    one_minus_smoothing: int
    alternate_smoothing: int
    alternate_one_minus_smoothing: int
    min_signal_remaining: int
    smoothing_bits: int
    bits: int
    clamping: bool


_COEFFICIENTS = (
    "smoothing",
    "one_minus_smoothing",
    "alternate_smoothing",
    "alternate_one_minus_smoothing",
    "min_signal_remaining",
)


@register
class SignalFilterBankSpectralSubtraction(SignalOp):
    """Subtracts an estimate of the noise. Results: the signal that remains, and the estimate, which is the state."""

    name = "signal_filter_bank_spectral_subtraction"
    attributes = SubtractionAttributes
    tflite = ("CUSTOM SignalFilterBankSpectralSubtraction",)
    signatures = (Signature(_U32, _U32 * 2),)

    @override
    def read(self, source: SourceNode) -> SubtractionAttributes:
        channels = source.input(0).type.elements
        integer(source, "num_channels", channels, channels)
        coefficients: dict[str, Any] = {name: integer(source, name, *_INT32) & 0xFFFFFFFF for name in _COEFFICIENTS}
        return SubtractionAttributes(
            **coefficients,
            smoothing_bits=integer(source, "smoothing_bits", 0, 31),
            bits=integer(source, "spectral_subtraction_bits", 0, 63),
            clamping=bool(integer(source, "clamping", *_INT32)),
        )

    @override
    def shapes(self, node: Node) -> list[tuple[int, ...]]:
        return [node.input(0).shape, node.input(0).shape]

    @override
    def kept(self, node: Node) -> list[Kept]:
        return [Kept("noise_estimate", node.input(0).shape, DType.UINT32, result=1)]

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        x, before = (np.asarray(values) for values in operands)
        return list(subtracted(cast(SubtractionAttributes, node.attrs), x, before))


def subtracted(attrs: SubtractionAttributes, x: Array, before: Array) -> tuple[Uint32, Uint32]:
    """Returns the signal that remains and the noise estimate, for signals and the estimates before, [..., channels]."""
    wide, noise = x.astype(np.uint64), before.astype(np.uint64)
    odd = np.arange(x.shape[-1]) % 2 == 1
    weight = np.where(odd, attrs.alternate_smoothing, attrs.smoothing).astype(np.uint64)
    other = np.where(odd, attrs.alternate_one_minus_smoothing, attrs.one_minus_smoothing).astype(np.uint64)
    scaled = wide << np.uint64(attrs.smoothing_bits) & _MASK32
    noise = (scaled * weight + noise * other) >> np.uint64(attrs.bits) & _MASK32
    estimate = np.minimum(noise, scaled)
    floor = wide * np.uint64(attrs.min_signal_remaining) >> np.uint64(attrs.bits) & _MASK32
    left = np.maximum(scaled - estimate >> np.uint64(attrs.smoothing_bits), floor)
    return left.astype(np.uint32), (estimate if attrs.clamping else noise).astype(np.uint32)


@dataclass(frozen=True)
class LogAttributes(Attributes):
    """Attributes of `signal_filter_bank_log`.

    Attributes:
        correction_bits: Bits by which the operand is shifted to the left first.
        scale: Factor of the logarithm.
    """

    correction_bits: int
    scale: int


@register
class SignalFilterBankLog(SignalOp):
    """Natural logarithms times a scale, saturated to int16; 0 for operands below 2."""

    name = "signal_filter_bank_log"
    attributes = LogAttributes
    tflite = ("CUSTOM SignalFilterBankLog",)
    signatures = (Signature(_U32, (DType.INT16,)),)

    @override
    def read(self, source: SourceNode) -> LogAttributes:
        bits = integer(source, "input_correction_bits", 0, 31)
        return LogAttributes(bits, integer(source, "output_scale", *_INT32) & 0xFFFFFFFF)

    @override
    def shapes(self, node: Node) -> list[tuple[int, ...]]:
        return [node.input(0).shape]

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        attrs = cast(LogAttributes, node.attrs)
        return [logarithms(np.asarray(operands[0]), attrs.correction_bits, attrs.scale)]


def logarithms(operand: Array, correction_bits: int, scale: int) -> npt.NDArray[np.int16]:
    """Returns natural logarithms of uint32 numbers, shifted by `correction_bits` first, times `scale`, saturated."""
    x = (operand.astype(np.int64) << correction_bits) & 0xFFFFFFFF
    known = np.maximum(x, 2)
    whole = np.frexp(known.astype(np.float64))[1].astype(np.int64) - 1
    fraction = ((known - (1 << whole)) << LOG_BITS) >> whole
    table, segment = log_table().astype(np.int64), fraction >> 9
    below = table[segment]
    part = (table[segment + 1] - below) * (fraction - (segment << 9)) >> LOG_BITS
    logarithm = ((whole << LOG_BITS) + fraction + below + part) * LOG_OF_2 + (1 << 15) >> LOG_BITS
    scaled = (logarithm * scale + (1 << 15) & 0xFFFFFFFF) >> LOG_BITS
    return np.where(x > 1, np.minimum(scaled, 2**15 - 1), 0).astype(np.int16)


@cache
def log_table() -> npt.NDArray[np.uint16]:
    """Returns log2(1 + i / 128) - i / 128 for i from 0 to 128, with 16 fractional bits, and a 0."""
    i = np.arange(129) / 128
    return np.append(np.round((np.log2(1 + i) - i) * 65536), 0).astype(np.uint16)

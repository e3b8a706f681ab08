"""PCAN: automatic gain control for each channel by its noise estimate, with a gain that a table interpolates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node
from aboard.ir.numerics import Int64
from aboard.ops.registry import SourceNode, register
from aboard.ops.signal import SignalOp, Signature, integer

_MASK32 = np.uint64(2**32 - 1)

#: Elements of the table: 2 for noise of 0 and 1, then a polynomial of 4 elements (the last unused) for each power of 2.
TABLE_ELEMENTS = 125


@dataclass(frozen=True)
class PcanAttributes(Attributes):
    """Attributes of `signal_pcan`.

    Attributes:
        snr_shift: Bits by which signal times gain is shifted to the right, for 12 fractional bits.
    """

    snr_shift: int


@register
class SignalPcan(SignalOp):
    """Signal (operand 0) times the gain for its noise (operand 1) by a table (operand 2), compressed.

    The compression is x^2 / 4 for x below 2, and x - 1 for others. The result has 6 fractional bits.
    """

    name = "signal_pcan"
    attributes = PcanAttributes
    tflite = ("CUSTOM SignalPCAN",)
    signatures = (Signature((DType.UINT32, DType.UINT32, DType.INT16), (DType.UINT32,)),)
    ranks = (1, 1, 1)

    @override
    def read(self, source: SourceNode) -> PcanAttributes:
        return PcanAttributes(integer(source, "snr_shift", 0, 63))

    @override
    def problem(self, node: Node) -> str | None:
        channels, noise, table = (node.input(i).type.elements for i in range(3))
        if noise != channels:
            return f"elements of operand 1, got {noise}, expected {channels}"
        if table < TABLE_ELEMENTS:
            return f"elements of operand 2, got {table}, expected {TABLE_ELEMENTS} at least"
        return None

    @override
    def shapes(self, node: Node) -> list[tuple[int, ...]]:
        return [node.input(0).shape]

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        x, noise, table = (np.asarray(values) for values in operands)
        return [controlled(x, noise, table, cast(PcanAttributes, node.attrs).snr_shift)]


def controlled(x: Array, noise: Array, table: Array, snr_shift: int) -> npt.NDArray[np.uint32]:
    """Returns uint32 signals times the gains for their noise by a table, compressed, with 6 fractional bits."""
    gain = _gain(noise.astype(np.int64), table.astype(np.int64)).astype(np.uint64) & _MASK32
    snr: npt.NDArray[np.uint64] = x.astype(np.uint64) * gain >> np.uint64(snr_shift) & _MASK32
    squared = (snr * snr & _MASK32) >> np.uint64(20)
    found: npt.NDArray[np.uint32] = np.where(snr < 2 << 12, squared, (snr >> np.uint64(6)) - np.uint64(64)).astype(
        np.uint32
    )
    return found


def _gain(noise: Int64, table: Int64) -> Int64:
    """Returns the gains: of noise up to 2 from the table, of other noise by the polynomial for its highest bit."""
    known = np.maximum(noise, 3)
    bits = np.frexp(known.astype(np.float64))[1].astype(np.int64)
    fraction = ((known << 11) >> bits) & 0x3FF
    first = 4 * bits - 6
    value = (table[first + 2] * fraction >> 5) + (table[first + 1] << 5)
    value = (value * fraction + (1 << 14) >> 15) + table[first]
    return np.where(noise <= 2, table[np.minimum(noise, 2)], value.astype(np.int16).astype(np.int64))

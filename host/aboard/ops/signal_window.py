"""The first steps of a front end: a window, the largest scale that a frame allows, and the energy of a spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node
from aboard.ops.registry import SourceNode, register
from aboard.ops.signal import SignalOp, Signature, integer

Int16 = npt.NDArray[np.int16]
_INT16 = (DType.INT16,)


@dataclass(frozen=True)
class WindowAttributes(Attributes):
    """Attributes of `signal_window`.

    Attributes:
        shift: Fractional bits of the weights.
    """

    shift: int


@register
class SignalWindow(SignalOp):
    """Multiplies frames by weights: x * w >> shift, saturated. Operand 0 is frames of the length of operand 1."""

    name = "signal_window"
    attributes = WindowAttributes
    tflite = ("CUSTOM SignalWindow",)
    signatures = (Signature((DType.INT16, DType.INT16), _INT16),)
    ranks = (None, 1)

    @override
    def read(self, source: SourceNode) -> WindowAttributes:
        return WindowAttributes(integer(source, "shift", 0, 31))

    @override
    def problem(self, node: Node) -> str | None:
        size, length = node.input(0).type.elements, node.input(1).type.elements
        if size % length:
            return f"elements, got {size} for {length} weights, expected whole frames of as many elements as weights"
        return None

    @override
    def shapes(self, node: Node) -> list[tuple[int, ...]]:
        return [node.input(0).shape]

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        x, weights = (np.asarray(values) for values in operands)
        found = windowed(x.reshape(-1, weights.size), weights, cast(WindowAttributes, node.attrs).shift)
        return [found.reshape(x.shape)]


@register
class SignalFftAutoScale(SignalOp):
    """Shifts a frame to the left as far as 16 bits allow. Results: the frame, and the bits of the shift."""

    name = "signal_fft_auto_scale"
    tflite = ("CUSTOM SignalFftAutoScale",)
    signatures = (Signature(_INT16, (DType.INT16, DType.INT32)),)

    @override
    def read(self, source: SourceNode) -> Attributes:
        return Attributes()

    @override
    def shapes(self, node: Node) -> list[tuple[int, ...]]:
        return [node.input(0).shape, ()]

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        frames, bits = scaled(np.asarray(operands[0])[None])
        return [frames[0], bits[0]]


def windowed(x: Array, weights: Array, shift: int) -> Int16:
    """Returns x * weights >> shift, saturated, for frames x [..., samples] and int16 weights [samples]."""
    raw = x.astype(np.int64) * weights.astype(np.int64) >> shift
    found: Int16 = np.clip(raw, -(2**15), 2**15 - 1).astype(np.int16)
    return found


def scaled(x: Array) -> tuple[Int16, npt.NDArray[np.int32]]:
    """Returns int16 frames [frames, samples], shifted to the left as far as 16 bits allow, and the bits [frames]."""
    wide = x.astype(np.int64)
    largest = np.abs(wide).max(axis=1)
    for odd in np.flatnonzero((wide == -(2**15)).any(axis=1)):
        largest[odd] = _largest(wide[odd])
    known = np.maximum(largest, 1)
    bits = np.where(largest > 0, 15 - np.frexp(known.astype(np.float64))[1], 0).clip(min=0)
    return (wide << bits[:, None]).astype(np.int16), bits.astype(np.int32)


def energies(x: Array) -> npt.NDArray[np.uint32]:
    """Returns squared absolute values of int16 complex numbers, real and imaginary parts in turn on the last axis."""
    pairs = x.astype(np.int64).reshape(*x.shape[:-1], -1, 2)
    found: npt.NDArray[np.uint32] = (pairs * pairs).sum(axis=-1).astype(np.uint32)
    return found


def _largest(x: Array) -> int:
    """Returns the largest absolute value as the reference finds it, in 16 bits.

    There |-32768| is -32768, which is less than whatever comes next.
    """
    largest = 0
    for value in x.tolist():
        if value > largest:
            largest = value
        elif -value > largest:
            largest = -value if value > -(2**15) else value
    return largest


@dataclass(frozen=True)
class EnergyAttributes(Attributes):
    """Attributes of `signal_energy`.

    Attributes:
        start: First element of the result that is computed.
        end: One past the last. Elements outside of these are 0; the reference leaves them as they were in memory.
    """

    start: int
    end: int


@register
class SignalEnergy(SignalOp):
    """Squared absolute values of complex numbers, of which operand 0 has the real and imaginary parts in turn."""

    name = "signal_energy"
    attributes = EnergyAttributes
    tflite = ("CUSTOM SignalEnergy",)
    signatures = (Signature(_INT16, (DType.UINT32,)),)

    @override
    def read(self, source: SourceNode) -> EnergyAttributes:
        start = integer(source, "start_index", 0, 2**31 - 1)
        return EnergyAttributes(start, integer(source, "end_index", start, 2**31 - 1))

    @override
    def problem(self, node: Node) -> str | None:
        size, end = node.input(0).type.elements, cast(EnergyAttributes, node.attrs).end
        if size % 2 or end > size // 2:
            return f"end_index, got {end} for {size} elements, expected at most one for two of them"
        return None

    @override
    def shapes(self, node: Node) -> list[tuple[int, ...]]:
        return [(node.input(0).type.elements // 2,)]

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        attrs = cast(EnergyAttributes, node.attrs)
        energy = energies(np.asarray(operands[0]))
        energy[: attrs.start] = 0
        energy[attrs.end :] = 0
        return [energy]

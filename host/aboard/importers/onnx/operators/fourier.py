"""Fourier transforms of known lengths: DFT and STFT.

Transforms of real numbers, and to real numbers, are the fast ones of the audio front end where these have the length;
all others are products by a constant matrix.
"""

from __future__ import annotations

import numpy as np

from aboard.importers.onnx.builder import Builder
from aboard.importers.onnx.operator import Operator, reads
from aboard.importers.onnx.operators.movement import pick
from aboard.ir import Array, Tensor
from aboard.ops.activation import Activation
from aboard.ops.fully_connected import FullyConnectedAttributes
from aboard.ops.signal_fft import FftAttributes, factors
from aboard.ops.strided_slice import AxisSlice

#: Elements of a constant matrix at most: more than any microcontroller stores.
_MOST_ELEMENTS = 1 << 24

#: Longest transform, by a matrix or a fast one.
_MOST_LENGTH = 1 << 16


@reads("DFT")
def transform(source: Operator, make: Builder) -> Tensor:
    """The last axis has real and imaginary part, or the real part alone; another axis is transformed."""
    x = source.input(0)
    rank = len(x.shape)
    given = _number(source, 2, -2) if source.since >= 20 else int(source.options["axis"])
    axis = source.axis(given, rank)
    _check_parts(source, x)
    if axis == rank - 1:
        raise source.unsupported(f"axis, got {given}, expected one before the last. Export the model again")
    is_inverse, is_half = bool(source.options["inverse"]), bool(source.options["onesided"])
    length = _number(source, 1, 2 * (x.shape[axis] - 1) if is_inverse and is_half else x.shape[axis])
    order = [place for place in range(rank) if place not in (axis, rank - 1)] + [axis, rank - 1]
    made = _last(source, make, make.transpose(x, order), length, is_inverse, is_half)
    return make.transpose(made, [order.index(place) for place in range(rank)])


@reads("STFT")
def frames(source: Operator, make: Builder) -> Tensor:
    """The spectra of overlapping frames, each times the window."""
    x, window = source.input(0), source.optional(2)
    _check_parts(source, x)
    step = _number(source, 1, 0)
    length = _number(source, 3, x.shape[1] if window is None else window.type.elements)
    if len(x.shape) != 3 or step < 1 or length > x.shape[1] or (window is not None and window.shape != (length,)):
        raise source.unsupported(
            f"frames, got length {length} and step {step} of a signal {list(x.shape)}, expected frames inside the "
            "signal, a step from 1, and a window of the frame's length. Export the model again"
        )
    batch, samples, parts = x.shape
    count = 1 + (samples - length) // step
    indices = np.arange(count)[:, None] * step + np.arange(length)
    cut = make.reshape(pick(make, x, 1, indices), (batch, count, length, parts))
    if window is not None:
        cut = make.op("mul", [cut, make.reshape(window, (length, 1))])
    return _last(source, make, cut, length, is_inverse=False, is_half=bool(source.options["onesided"]))


def _number(source: Operator, index: int, default: int) -> int:
    if source.optional(index) is None:
        return default
    values = source.integers(index)
    if len(values) != 1:
        raise source.unsupported(f"operand {index}, got {values}, expected one number. Export the model again")
    return values[0]


def _check_parts(source: Operator, x: Tensor) -> None:
    if len(x.shape) < 2 or x.shape[-1] not in (1, 2):
        raise source.unsupported(
            f"operand, got shape {x.shape}, expected real and imaginary parts, or real parts, in the last of two or "
            "more axes. Export the model again"
        )


def _last(source: Operator, make: Builder, x: Tensor, length: int, is_inverse: bool, is_half: bool) -> Tensor:
    """Transforms the last axis but one."""
    to_real = is_inverse and is_half
    if not 1 <= length <= _MOST_LENGTH or (is_half and not to_real and x.shape[-1] == 2):
        raise source.unsupported(
            f"length {length} and {x.shape[-1]} parts, expected a length in [1, {_MOST_LENGTH}], and real parts alone "
            "for one half of a spectrum. Export the model again"
        )
    is_fast = length >= 4 and length % 2 == 0 and set(factors(length // 2)) <= {2, 3, 4, 5}
    if is_fast and x.shape[-1] == 1 and not is_inverse:
        return _fast(make, x, length, is_half)
    outer, extent, parts = x.shape[:-2], x.shape[-2], x.shape[-1]
    if is_fast and to_real and parts == 2 and extent == length // 2 + 1:
        flat = make.reshape(x, (*outer, 2 * extent))
        return make.reshape(make.op("signal_irfft", [flat], FftAttributes(length)), (*outer, length, 1))
    if 4 * extent * length > _MOST_ELEMENTS:
        raise source.unsupported(
            f"length, got {length} for {extent} elements, which needs a matrix of more than {_MOST_ELEMENTS:,} "
            "numbers; expected real numbers and an even product of the factors 2, 3 and 5"
        )
    weights = make.array(_matrix(extent, parts, length, is_inverse, is_half))
    rows = make.reshape(x, (*outer, extent * parts))
    made = make.op("fully_connected", [rows, weights], FullyConnectedAttributes(Activation.NONE, keep_dims=True))
    columns = 1 if to_real else 2
    return make.reshape(made, (*outer, weights.shape[0] // columns, columns))


def _fast(make: Builder, x: Tensor, length: int, is_half: bool) -> Tensor:
    """Returns the spectrum of real numbers; the second half mirrors the first."""
    outer, extent = x.shape[:-2], min(x.shape[-2], length)
    slices = [AxisSlice(0, 1, size) for size in (*outer, extent, 1)]
    real = make.reshape(make.take(x, slices), (*outer, extent))
    half = make.reshape(make.op("signal_rfft", [real], FftAttributes(length)), (*outer, length // 2 + 1, 2))
    if is_half:
        return half
    mirrored = pick(make, half, len(outer), np.arange(length // 2 - 1, 0, -1))
    return make.join([half, make.op("mul", [mirrored, make.array([1, -1])])], len(outer))


def _matrix(extent: int, parts: int, length: int, is_inverse: bool, is_half: bool) -> Array:
    """Returns the transform as weights [results, extent * parts]: the spectra of the unit vectors."""
    units = np.eye(extent * parts).reshape(-1, extent, parts)
    numbers = units[..., 0] + 1j * (units[..., 1] if parts == 2 else 0)
    if is_inverse and is_half:
        return np.asarray(np.fft.irfft(numbers, length).T)
    spectra = (np.fft.ifft if is_inverse else np.fft.fft)(numbers, length)
    spectra = spectra[:, : length // 2 + 1] if is_half else spectra
    return np.asarray(np.stack([spectra.real, spectra.imag], -1).reshape(extent * parts, -1).T)

"""Fourier transforms of real signals, as kissfft 1.3 computes them: `signal_rfft` and its inverse `signal_irfft`.

A transform of n real numbers is one of n / 2 complex numbers and a last step that separates the two halves. The complex
transform goes by the factors 4, 2, 3 and 5 of its length: it puts the operand into the order of its digits, and joins
ever longer transforms. Integers are divided by the factor at each step, each product is rounded half up, and sums wrap
around. Results of integers are exact; those of float32 depend on the order of additions, which is kissfft's too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from aboard.ir import Array, Attributes, DType, Node
from aboard.ops.registry import SourceNode, register
from aboard.ops.signal import SignalOp, Signature, integer
from aboard.ops.signal_numbers import Numbers, Pair, numbers

#: Lengths that files may state: a frame of 2^20 samples takes a minute.
_MAX_LENGTH = 1 << 20

#: Numbers of element types in TFLite's schema, by which the reference chooses its code.
_TYPE_NUMBERS = {DType.FLOAT32: 0, DType.INT32: 2, DType.INT16: 7}


@dataclass(frozen=True)
class FftAttributes(Attributes):
    """Attributes of `signal_rfft` and `signal_irfft`.

    Attributes:
        length: Real numbers of a transform.
    """

    length: int


class _Fft(SignalOp):
    """Transforms the last axis; frames of the axes before it are transformed one by one."""

    attributes = FftAttributes
    signatures = tuple(Signature((dtype,), (dtype,)) for dtype in (DType.INT16, DType.INT32, DType.FLOAT32))
    ranks = (None,)

    @override
    def read(self, source: SourceNode) -> FftAttributes:
        number = _TYPE_NUMBERS.get(source.input(0).dtype)
        if number is not None:
            integer(source, "T", number, number)
        return FftAttributes(integer(source, "fft_length", 4, _MAX_LENGTH))

    @override
    def problem(self, node: Node) -> str | None:
        length = fft_length(node)
        if length % 2 or not set(factors(length // 2)) <= {2, 3, 4, 5}:
            return f"fft_length, got {length}, expected twice a product of the factors 2, 3 and 5"
        return None


@register
class SignalRfft(_Fft):
    """The spectrum of real frames: length / 2 + 1 complex numbers, real and imaginary parts in turn.

    A frame that is shorter than the transform is filled up with zeros.
    """

    name = "signal_rfft"
    tflite = ("CUSTOM SignalRfft",)

    @override
    def problem(self, node: Node) -> str | None:
        frame, length = node.input(0).shape[-1], fft_length(node)
        if frame > length:
            return f"elements of a frame, got {frame}, expected {length} at most"
        return super().problem(node)

    @override
    def shapes(self, node: Node) -> list[tuple[int, ...]]:
        return [(*node.input(0).shape[:-1], fft_length(node) + 2)]

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        x = np.asarray(operands[0])
        found = spectra(numbers(node.input(0).dtype), x.reshape(-1, x.shape[-1]), fft_length(node))
        return [found.reshape(node.output.shape).astype(node.output.dtype.numpy)]


@register
class SignalIrfft(_Fft):
    """The real frames of spectra of length / 2 + 1 complex numbers. float32 is divided by the length."""

    name = "signal_irfft"
    tflite = ("CUSTOM SignalIrfft",)

    @override
    def problem(self, node: Node) -> str | None:
        frame, wanted = node.input(0).shape[-1], fft_length(node) + 2
        if frame != wanted:
            return f"elements of a spectrum, got {frame}, expected {wanted}"
        return super().problem(node)

    @override
    def shapes(self, node: Node) -> list[tuple[int, ...]]:
        return [(*node.input(0).shape[:-1], fft_length(node))]

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        length, n = fft_length(node), numbers(node.input(0).dtype)
        half = length // 2
        z = _parts(n, np.asarray(operands[0]).reshape(-1, length + 2))
        re, im = np.zeros((2, len(z[0]), half), n.dtype)
        re[:, 0] = n.divided(n.wrap(z[0][:, 0] + z[0][:, half]), 2)
        im[:, 0] = n.divided(n.wrap(z[0][:, 0] - z[0][:, half]), 2)
        k = np.arange(1, half // 2 + 1)
        a, b = (tuple(n.divided(part, 2) for part in pair) for pair in (_at(z, k), _mirrored(n, z, half - k)))
        even, odd = n.add(a, b), n.product(n.sub(a, b), super_twiddles(n, half, inverse=True))
        (re[:, k], im[:, k]), below = n.add(even, odd), n.sub(even, odd)
        re[:, half - k], im[:, half - k] = below[0], n.wrap(-below[1])
        y = _interleaved(*_transform(n, re, im, inverse=True)).reshape(node.output.shape)
        y = y.astype(node.output.dtype.numpy)
        return [y / np.float32(length) if node.output.dtype.is_float else y]


def fft_length(node: Node) -> int:
    """Returns the real numbers of a transform."""
    return cast(FftAttributes, node.attrs).length


def spectra(n: Numbers, x: Array, length: int) -> Array:
    """Returns the spectra of real frames: real and imaginary parts in turn, [frames, length + 2] of `n.dtype`.

    Args:
        n: Arithmetic of the numbers.
        x: Frames [frames, samples] of at most `length` samples; zeros follow shorter ones.
        length: Real numbers of a transform: twice a product of the factors 2, 3 and 5.
    """
    frames = np.zeros((len(x), length), n.dtype)
    frames[:, : x.shape[1]] = x
    z = _transform(n, *_parts(n, frames), inverse=False)
    half = length // 2
    re, im = np.zeros((2, len(frames), half + 1), n.dtype)
    first, second = (n.divided(part[:, 0], 2) for part in z)
    re[:, 0], re[:, half] = n.wrap(first + second), n.wrap(first - second)
    k = np.arange(1, half // 2 + 1)
    a, b = (tuple(n.divided(part, 2) for part in pair) for pair in (_at(z, k), _mirrored(n, z, half - k)))
    even, odd = n.add(a, b), n.sub(a, b)
    turned = n.product(odd, super_twiddles(n, half, inverse=False))
    re[:, half - k], im[:, half - k] = n.half(even[0], -turned[0]), n.half(turned[1], -even[1])
    # In the middle both halves meet, and the second of them counts.
    own = k[k != half - k]
    c = slice(0, len(own))
    re[:, own], im[:, own] = n.half(even[0], turned[0])[:, c], n.half(even[1], turned[1])[:, c]
    return _interleaved(re, im)


def factors(count: int) -> list[int]:
    """Returns the factors of a complex transform, from the outermost step to the innermost, as kissfft chooses them."""
    found, factor, left, most = [], 4, count, math.isqrt(count)
    while left > 1:
        while left % factor:
            factor = {4: 2, 2: 3}.get(factor, factor + 2)
            if factor > most:
                factor = left
        left //= factor
        found.append(factor)
    return found


def twiddles(n: Numbers, count: int, *, inverse: bool) -> Pair:
    """Returns exp(-2 pi i k / count) for k from 0: real and imaginary parts; the conjugates for the inverse."""
    return n.circle([(-1 if not inverse else 1) * (2 * math.pi * k / count) for k in range(count)])


def super_twiddles(n: Numbers, count: int, *, inverse: bool) -> Pair:
    """Returns the factors of the step between real and complex numbers, for pairs from 1 to count / 2."""
    sign = 1 if inverse else -1
    return n.circle([sign * (math.pi * ((k + 1) / count + 0.5)) for k in range(count // 2)])


def order(count: int) -> npt.NDArray[np.intp]:
    """Returns for each place of a complex transform which operand belongs there: digits by the factors, reversed."""
    digits = np.arange(count).reshape(factors(count)[::-1])
    return np.asarray(digits.transpose().reshape(-1), np.intp)


def _transform(n: Numbers, re: Array, im: Array, *, inverse: bool) -> Pair:
    """Returns the complex transforms of frames (frames, count)."""
    count, done = re.shape[1], 1
    table = twiddles(n, count, inverse=inverse)
    z: Pair = (re[:, order(count)], im[:, order(count)])
    for factor in reversed(factors(count)):
        stride = count // (done * factor)
        a, b = (part.reshape(len(re), stride, factor, done) for part in z)
        parts = [(n.divided(a[:, :, q], factor), n.divided(b[:, :, q], factor)) for q in range(factor)]
        k = np.arange(done) * stride
        turned = [parts[0], *(n.product(parts[q], _at_1(table, q * k)) for q in range(1, factor))]
        combined = n.combine(turned, table, stride * done, inverse=inverse)
        re, im = (np.stack([part[i] for part in combined], axis=2).reshape(len(re), count) for i in (0, 1))
        z = re, im
        done *= factor
    return z


def _parts(n: Numbers, frames: Array) -> Pair:
    pairs = frames.astype(n.dtype).reshape(len(frames), -1, 2)
    return pairs[..., 0], pairs[..., 1]


def _interleaved(re: Array, im: Array) -> Array:
    return np.stack([re, im], axis=-1).reshape(len(re), -1)


def _at(z: Pair, k: Array) -> Pair:
    return z[0][:, k], z[1][:, k]


def _at_1(z: Pair, k: Array) -> Pair:
    return z[0][k], z[1][k]


def _mirrored(n: Numbers, z: Pair, k: Array) -> Pair:
    return z[0][:, k], n.wrap(-z[1][:, k])

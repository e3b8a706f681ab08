"""Features of sound in numpy, as `firmware/frontend/audio.h` computes them.

The steps up to the logarithms are the operators of the signal library (`aboard.ops.signal_window` and the following),
so that their arithmetic stands once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from aboard.errors import InputError
from aboard.frontend import audio_tables as tables
from aboard.frontend.frames import frames
from aboard.frontend.scale import IntegerScale
from aboard.ops.signal_fft import spectra
from aboard.ops.signal_filter_bank import SubtractionAttributes, channel_sums, logarithms, square_roots, subtracted
from aboard.ops.signal_numbers import Numbers
from aboard.ops.signal_pcan import controlled
from aboard.ops.signal_window import energies, scaled, windowed

Int16 = npt.NDArray[np.int16]

#: Features are natural logarithms times this.
LOG_SCALE = 64

_LEAST_FFT, _LARGEST_FFT = 64, 4096
_NOISE_BITS = 14
_SNR_BITS = 12
#: Frames that are computed at once: their numbers stay in the caches.
_CHUNK = 512


@dataclass(frozen=True)
class NoiseReduction:
    """Subtracts an estimate of the noise of each channel. The defaults are those of TensorFlow's micro front end.

    Attributes:
        smoothing: Weights of a frame in the estimates of even and odd channels, from 0 to 1.
        remaining: Part of a channel that remains at least, from 0 to 1.
        bits: Fractional bits of estimates beyond those of channels, from 0 to 14.
    """

    smoothing: tuple[float, float] = (0.025, 0.06)
    remaining: float = 0.05
    bits: int = 10


@dataclass(frozen=True)
class GainControl:
    """Divides each channel by a power of its noise estimate (PCAN). The defaults are those of the micro front end.

    Attributes:
        strength: Exponent of the noise, from 0 to 1.
        offset: Added to the noise, so that the gain of silence is limited; at least 1.
        bits: Fractional bits of gains, from 18 to 24.
    """

    strength: float = 0.95
    offset: float = 80.0
    bits: int = 21


@dataclass(frozen=True)
class AudioFrontEnd:
    """A front end for sound: the parameters from which tables and C are made, and its reference in numpy.

    Features are natural logarithms of the magnitudes of mel channels times `LOG_SCALE`, or their cepstral coefficients.

    Attributes:
        sample_rate: Samples of a second.
        window: Samples of a frame, from 8 to 4096.
        hop: Samples from a frame to the next, from 1 to `window`.
        channels: Channels on the mel scale, from 2 to 128.
        low_hz: Where the first channel begins.
        high_hz: Where the last channel ends, at most half of the sample rate.
        noise_reduction: None for none.
        gain_control: None for none; needs noise reduction.
        coefficients: Cepstral coefficients, at most `channels`; 0 for logarithms.
        scale: Brings features to int8, the quantisation of a model's input; None for features of int16.
    """

    sample_rate: int = 16000
    window: int = 480
    hop: int = 320
    channels: int = 40
    low_hz: float = 125.0
    high_hz: float = 7500.0
    noise_reduction: NoiseReduction | None = None
    gain_control: GainControl | None = None
    coefficients: int = 0
    scale: IntegerScale | None = None

    def __post_init__(self) -> None:
        """Checks the parameters.

        Raises:
            InputError: One is out of range; the message names it.
        """
        reduction, control = self.noise_reduction or NoiseReduction(), self.gain_control or GainControl()
        for name, value, low, high in (
            ("window", self.window, 8, _LARGEST_FFT),
            ("hop", self.hop, 1, self.window),
            ("channels", self.channels, 2, 128),
            ("low_hz", self.low_hz, 0, self.high_hz),
            ("high_hz", self.high_hz, 1, self.sample_rate / 2),
            ("coefficients", self.coefficients, 0, self.channels),
            *(("noise_reduction.smoothing", value, 0, 1) for value in reduction.smoothing),
            ("noise_reduction.remaining", reduction.remaining, 0, 1),
            ("noise_reduction.bits", reduction.bits, 0, 14),
            ("gain_control.strength", control.strength, 0, 1),
            ("gain_control.offset", control.offset, 1, 2**16),
            ("gain_control.bits", control.bits, 18, 24),
        ):
            if not low <= value <= high:
                raise InputError(f"front end: {name}, got {value}, expected {low} to {high}. Change it")
        if self.gain_control is not None and self.noise_reduction is None:
            raise InputError("front end: gain_control needs the estimates of noise_reduction. Set noise_reduction")
        empty = [i for i, (_, _, width) in enumerate(self.bank.groups[:-1]) if width == self.bank.groups[i + 1][2] == 0]
        if empty:
            raise InputError(
                f"front end: channel {empty[0]} of {self.channels} has no frequency of {self.fft_length // 2}. "
                "Use fewer channels, or a longer window"
            )

    @property
    def fft_length(self) -> int:
        """Samples of a transform: the next power of 2, at least 64. Zeros follow a shorter window."""
        return max(1 << (self.window - 1).bit_length(), _LEAST_FFT)

    @property
    def features(self) -> int:
        """Features of a frame."""
        return self.coefficients or self.channels

    @property
    def correction_bits(self) -> int:
        """Bits by which magnitudes are shifted before the logarithm, because the transform divides by its length."""
        return self.fft_length.bit_length() - 1 - tables.WEIGHT_BITS // 2

    @property
    def snr_shift(self) -> int:
        """Bits by which a channel times its gain is shifted to the right."""
        return (self.gain_control or GainControl()).bits - self.correction_bits - _SNR_BITS

    @cached_property
    def window_weights(self) -> Int16:
        """Weights of the samples of a frame."""
        return tables.window(self.window)

    @cached_property
    def bank(self) -> tables.FilterBank:
        """Weights of the energies for the channels."""
        return tables.filter_bank(self.sample_rate, self.fft_length, self.channels, self.low_hz, self.high_hz)

    @cached_property
    def gains(self) -> Int16:
        """Gains of the gain control."""
        control, reduction = self.gain_control or GainControl(), self.noise_reduction or NoiseReduction()
        return tables.gains(control.strength, control.offset, control.bits, reduction.bits - self.correction_bits)

    @cached_property
    def cosines(self) -> Int16:
        """Weights of the logarithms for the cepstral coefficients."""
        return tables.cosines(self.coefficients, self.channels)

    @property
    def subtraction(self) -> SubtractionAttributes:
        """The attributes of the operator that reduces noise."""
        reduction, one = self.noise_reduction or NoiseReduction(), 1 << _NOISE_BITS
        even, odd = (int(weight * one) for weight in reduction.smoothing)
        return SubtractionAttributes(
            smoothing=even,
            one_minus_smoothing=one - even,
            alternate_smoothing=odd,
            alternate_one_minus_smoothing=one - odd,
            min_signal_remaining=int(reduction.remaining * one),
            smoothing_bits=reduction.bits,
            bits=_NOISE_BITS,
            clamping=False,
        )

    def __call__(self, samples: Int16) -> npt.NDArray[Any]:
        """Returns the features of all complete frames of streams: int16, or int8 with `scale`.

        Args:
            samples: int16 [..., count]; each row is one stream from its beginning.

        Returns:
            Features [..., frames, features].

        Raises:
            InputError: The samples are not int16.
        """
        given = np.asarray(samples)
        if given.dtype != np.int16 or given.ndim == 0:
            raise InputError(
                f"samples, got {given.dtype}{list(given.shape)}, expected int16 with one axis at least. "
                "Convert them: floats times 32768, rounded, limited to int16"
            )
        found = self._cepstra(self._logarithms(self.magnitudes(frames(given, self.window, self.hop))))
        return found if self.scale is None else self.scale(found)

    def magnitudes(self, cut: Int16) -> npt.NDArray[np.uint32]:
        """Returns the magnitudes of the mel channels of frames [..., window]: [..., channels]."""
        flat = cut.reshape(-1, self.window)
        found = np.zeros((len(flat), self.channels), np.uint32)
        for part in _chunks(len(flat)):
            shifted, bits = scaled(windowed(flat[part], self.window_weights, tables.WEIGHT_BITS))
            spectrum = spectra(Numbers(16), shifted, self.fft_length).astype(np.int16)
            sums = channel_sums(energies(spectrum), self.bank.above, self.bank.below, self.bank.groups)
            found[part] = square_roots(sums) >> bits[:, None].astype(np.uint32)
        return found.reshape(*cut.shape[:-1], self.channels)

    def _logarithms(self, magnitudes: npt.NDArray[np.uint32]) -> Int16:
        """Returns the logarithms of magnitudes [..., frames, channels], after noise reduction and gain control."""
        if self.noise_reduction is not None:
            noise = np.zeros_like(magnitudes[..., 0, :]) if magnitudes.shape[-2] else magnitudes[..., :0, :]
            for frame in range(magnitudes.shape[-2]):
                left, noise = subtracted(self.subtraction, magnitudes[..., frame, :], noise)
                if self.gain_control is not None:
                    left = controlled(left, noise, self.gains, self.snr_shift)
                magnitudes[..., frame, :] = left
        return logarithms(magnitudes, self.correction_bits, LOG_SCALE)

    def _cepstra(self, logs: Int16) -> Int16:
        """Returns the cepstral coefficients of logarithms; the logarithms where there are none."""
        if not self.coefficients:
            return logs
        # Sums of int64 are exact in float64 here, and are faster there: 128 products of 30 bits.
        sums = (logs.astype(np.float64) @ self.cosines.T.astype(np.float64)).astype(np.int64)
        found: Int16 = (sums + (1 << 14) >> 15).clip(-(2**15), 2**15 - 1).astype(np.int16)
        return found


def _chunks(count: int) -> Iterator[slice]:
    return (slice(first, first + _CHUNK) for first in range(0, count, _CHUNK))

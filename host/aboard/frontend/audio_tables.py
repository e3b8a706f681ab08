"""Tables of a front end for sound, as TensorFlow Lite's micro front end forms them.

The formulas, and the places where they are in float32, are those of `tensorflow/lite/experimental/microfrontend/lib`
(`window_util.c`, `filterbank_util.c`, `pcan_gain_control_util.c`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Int16 = npt.NDArray[np.int16]

#: Fractional bits of the weights of windows and filter banks.
WEIGHT_BITS = 12

_F32 = np.float32


def window(samples: int) -> Int16:
    """Returns a Hann window whose zeros are half a sample outside.

    Phases and cosines are rounded to float32, as compilers of C++ read `cos` of a float.
    """
    step = _F32(math.pi * 2.0 / samples)
    waves = [float(_F32(math.cos(float(_F32(step * _F32(i + 0.5)))))) for i in range(samples)]
    return np.asarray([math.floor((0.5 - 0.5 * wave) * (1 << WEIGHT_BITS) + 0.5) for wave in waves], np.int16)


@dataclass(frozen=True)
class FilterBank:
    """Weights of energies for channels on the mel scale; the fields are as those of `aboard_audio_tables_t`.

    Attributes:
        above: Weights for the channel above a group of energies.
        below: Weights for the channel below it.
        groups: First energy, first weight and width of each group, of which there are channels + 1.
    """

    above: Int16
    below: Int16
    groups: tuple[tuple[int, int, int], ...]


def filter_bank(sample_rate: int, fft_length: int, channels: int, low_hz: float, high_hz: float) -> FilterBank:
    """Returns triangular filters with their corners at equal distances on the mel scale.

    Args:
        sample_rate: Samples of a second.
        fft_length: Samples of a transform.
        channels: Number of channels.
        low_hz: Where the first channel begins.
        high_hz: Where the last channel ends.
    """
    hz = _F32(0.5 * sample_rate / float(_F32(fft_length // 2)))
    low, high = _mel(_F32(low_hz)), _mel(_F32(high_hz))
    span = _F32(_F32(high - low) / _F32(channels + 1))
    corners = [_F32(low + _F32(span * _F32(i + 1))) for i in range(channels + 1)]
    above: list[int] = []
    below: list[int] = []
    groups: list[tuple[int, int, int]] = []
    energy, before = int(1.5 + float(_F32(low_hz) / hz)), low
    for corner in corners:
        first, weights = energy, len(above)
        while energy <= fft_length // 2 and _mel(_F32(_F32(energy) * hz)) <= corner:
            weight = float(_F32(_F32(corner - _mel(_F32(_F32(energy) * hz))) / _F32(corner - before)))
            above.append(math.floor(weight * (1 << WEIGHT_BITS) + 0.5))
            below.append(math.floor((1.0 - weight) * (1 << WEIGHT_BITS) + 0.5))
            energy += 1
        groups.append((first, weights, energy - first))
        before = corner
    return FilterBank(np.asarray(above, np.int16), np.asarray(below, np.int16), tuple(groups))


def _mel(hz: Any) -> Any:
    return _F32(1127.0 * math.log1p(float(hz) / 700.0))


def gains(strength: float, offset: float, gain_bits: int, noise_bits: int) -> Int16:
    """Returns the gains of a gain control: for noise of 0 and 1, then a parabola for each power of 2.

    Args:
        strength: Exponent of the noise, 0 for none.
        offset: Added to the noise, so that the gain of silence is limited.
        gain_bits: Fractional bits of gains.
        noise_bits: Fractional bits of the noise.
    """
    found = [_gain(0, strength, offset, gain_bits, noise_bits), _gain(1, strength, offset, gain_bits, noise_bits)]
    for bits in range(2, 33):
        low, high = 1 << bits - 1, (1 << bits) - (bits == 32)
        middle = low + (low >> 1)
        first, second, third = (_gain(x, strength, offset, gain_bits, noise_bits) for x in (low, middle, high))
        slope = 4 * (second - first) - (third - first)
        found += [first, slope, third - first - slope, 0]
    return np.asarray(found[:125], np.int64).astype(np.int16)


def _gain(noise: int, strength: float, offset: float, gain_bits: int, noise_bits: int) -> int:
    real = _F32(noise) / _F32(1 << noise_bits) if noise_bits >= 0 else _F32(noise)
    gain = _F32((1 << gain_bits) * float(_F32(math.pow(float(_F32(real + _F32(offset))), -float(_F32(strength))))))
    return 0x7FFF if gain > 0x7FFF else int(float(gain) + 0.5)


def cosines(coefficients: int, channels: int) -> Int16:
    """Returns the weights of an orthonormal cosine transform (DCT-II), [coefficients, channels], 15 fractional bits."""
    k, n = np.arange(coefficients)[:, None], np.arange(channels)[None, :]
    values = np.cos(np.pi * k * (2 * n + 1) / (2 * channels)) * math.sqrt(2 / channels)
    values[0] /= math.sqrt(2)
    found: Int16 = np.floor(values * 2**15 + 0.5).clip(max=2**15 - 1).astype(np.int16)
    return found

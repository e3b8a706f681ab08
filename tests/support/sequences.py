"""Sequences of inputs for models with state, and a sound to make such inputs of. The same bytes on every machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

#: Samples a second, of a window, and from the start of a window to the next.
RATE = 16_000
WINDOW = 480
HOP = 160

#: Model of the shared folder that computes 40 features of a window, and one that takes the features of three.
FRONT_END = "audio_features"
WAKE_WORD = "wake_jarvis"
FRAMES = 3

#: Models that keep values from run to run; each takes the inputs of `inputs`.
STATEFUL = ("lstm", "lstm_f32", "svdf", WAKE_WORD, "wake_vad", FRONT_END)


def sound(samples: int, seed: int = 7) -> NDArray[np.int16]:
    """Returns int16 samples: a tone that glides from 200 Hz up to 5 kHz each second, trembles, and swells from silence
    to clipping and back every four seconds, with noise.

    Only integers enter its phase, and sine is the one function of the C library: rounding to 16 bits hides its last
    digit.
    """
    n = np.arange(samples)
    second, within = np.divmod(n, RATE)
    phase = 2 * np.pi * ((200 * within / RATE) + 2400 * (within / RATE) ** 2)
    tremble = 0.6 + 0.4 * np.sin(2 * np.pi * 7 * within / RATE)
    loudness = 40_000.0 * (np.abs((second % 4) - 2 + within / RATE) / 2) ** 3
    noise = np.random.default_rng(seed).integers(-600, 601, samples) * (loudness / 20_000)
    return np.asarray(np.clip(np.round(loudness * tremble * np.sin(phase) + noise), -32768, 32767), np.int16)


def windows(samples: NDArray[np.int16]) -> Iterator[NDArray[np.int16]]:
    """Yields each whole window of a sound, in shape 1 x 480."""
    for start in range(0, len(samples) - WINDOW + 1, HOP):
        yield samples[None, start : start + WINDOW]


def inputs(name: str, shape: Sequence[int], dtype: np.dtype[np.generic], steps: int) -> list[NDArray[np.generic]]:
    """Returns one input for each of some steps: windows of `sound` for the front end, else random values.

    Args:
        name: Name of the model.
        shape: Shape of its input.
        dtype: Element type; integers are drawn from all values, floats from -1 to 1.
        steps: Number of inputs.
    """
    if name == FRONT_END:
        return list(windows(sound(WINDOW + HOP * (steps - 1))))
    rng = np.random.default_rng(7)
    if dtype.kind == "f":
        return [(rng.random(shape) * 2 - 1).astype(dtype) for _ in range(steps)]
    info = np.iinfo(str(dtype))
    return [rng.integers(info.min, info.max, shape, dtype, endpoint=True) for _ in range(steps)]

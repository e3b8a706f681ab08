"""The sound of a simulated machine: a motor with a gear, and four defects. Nothing of it is recorded."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

RATE = 8000
DEFECTS = ("bearing", "gear", "rattle", "squeal")

Floats = npt.NDArray[np.float64]


def noise(rng: np.random.Generator, count: int) -> Floats:
    """Returns noise of variance 1 that falls with the frequency."""
    spectrum = np.fft.rfft(rng.standard_normal(count))
    x: Floats = np.fft.irfft(spectrum / np.sqrt(np.arange(len(spectrum)) / count * RATE + 200), count)
    x /= x.std()
    return x


def rotation(rng: np.random.Generator, count: int) -> Floats:
    """Returns the angle of the shaft in turns: 23 to 27 a second, with a slow drift."""
    time = np.arange(count) / RATE
    drift = 0.3 * np.sin(2 * np.pi * (rng.uniform(0.1, 0.6) * time + rng.random()))
    return np.cumsum((rng.uniform(23, 27) + drift) / RATE) + rng.random()


def tone(angle: Floats) -> Floats:
    """Returns a sine."""
    return np.sin(2 * np.pi * angle)


def defect(rng: np.random.Generator, kind: str, angle: Floats) -> Floats:
    """Returns the additional sound of a defect, where the machine's noise has a variance of 1."""
    count = len(angle)
    if kind == "bearing":
        # A rolling element strikes a flaw 3.6 times a revolution, and the case rings.
        strikes = np.diff(np.floor(angle * 3.6), prepend=np.floor(angle[0] * 3.6))
        time = np.arange(200) / RATE
        ring = np.exp(-time * 400) * np.sin(2 * np.pi * rng.uniform(1800, 3000) * time)
        return rng.uniform(6, 12) * np.convolve(strikes * rng.uniform(0.6, 1, count), ring)[:count]
    if kind == "gear":
        # Worn teeth: the double and triple frequency of the mesh, modulated by the shaft.
        return rng.uniform(1.5, 3) * tone(angle * 34) * (1 + 0.8 * tone(angle)) + rng.uniform(0.8, 1.5) * tone(
            angle * 51
        )
    if kind == "rattle":
        # A loose part: a burst of noise once a revolution.
        burst = np.maximum(tone(angle), 0) ** 8
        return rng.uniform(3, 6) * burst * rng.standard_normal(count)
    wander = np.cumsum(rng.standard_normal(count)) * 0.4
    return rng.uniform(0.5, 1.2) * tone(np.cumsum(rng.uniform(1200, 3200) + wander) / RATE)


def sound(rng: np.random.Generator, count: int, kind: str | None = None) -> npt.NDArray[np.int16]:
    """Returns a recording of the machine.

    Args:
        rng: Source of all that differs from recording to recording.
        count: Samples.
        kind: One of `DEFECTS`; None for a machine that is all right.
    """
    angle = rotation(rng, count)
    phases = rng.random(40)
    x = noise(rng, count) * rng.uniform(0.9, 1.1)
    for order, phase in enumerate(phases, 1):
        x += 1.2 / order * tone(angle * order + phase)
    x += rng.uniform(0.8, 1.2) * tone(angle * 17) * (1 + 0.2 * tone(angle))
    if kind is not None:
        x += defect(rng, kind, angle)
    x *= 1500 * np.exp(rng.uniform(-0.25, 0.25))
    found: npt.NDArray[np.int16] = np.round(x).clip(-(2**15), 2**15 - 1).astype(np.int16)
    return found

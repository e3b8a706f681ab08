"""The accelerometer of a simulated device in a hand: four gestures, and other motion. Nothing of it is recorded.

Positions follow a curve in space; their second derivative and gravity, seen from the device, are what it measures.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

#: Samples of a second; steps of a sample in 1 g; its range is 4 g.
RATE, STEPS, RANGE = 50, 1000, 4000
GESTURES = ("circle", "shake", "swipe", "double tap")
OTHERS = ("rest", "walk", "turn", "put down", "single tap", "reach")
GRAVITY = 9.81

#: The curve is simulated in finer steps, so that its derivatives are smooth.
_FINE = 20

Floats = npt.NDArray[np.float64]


def _ramp(time: Floats, begin: float, end: float) -> Floats:
    """Returns 0 before `begin`, 1 after `end`, and between them the path of least jerk."""
    part = np.clip((time - begin) / (end - begin), 0, 1)
    return part**3 * (10 - 15 * part + 6 * part**2)


def _slow(rng: np.random.Generator, time: Floats, most: float, hz: float) -> Floats:
    """Returns three slow random waves [time, 3]."""
    found = [
        most * rng.uniform(0.2, 1) * np.sin(2 * np.pi * (rng.uniform(0.2, 1) * hz * time + rng.random()))
        for _ in range(3)
    ]
    return np.stack(found, axis=1)


def _circle(rng: np.random.Generator, time: Floats, start: float) -> tuple[Floats, float]:
    turns, hz, radius = rng.uniform(1.5, 2.5), rng.uniform(1.2, 2.1), rng.uniform(0.09, 0.2)
    length = turns / hz * 1.2
    angle = rng.choice((-1, 1)) * 2 * np.pi * turns * _ramp(time, start, start + length) + rng.uniform(-0.6, 0.6)
    oval = rng.uniform(0.75, 1.25)
    return radius * np.stack([np.cos(angle), 0 * angle, oval * np.sin(angle)], axis=1), length


def _shake(rng: np.random.Generator, time: Floats, start: float) -> tuple[Floats, float]:
    hz, most, length = rng.uniform(3.5, 6), rng.uniform(8, 25), rng.uniform(0.6, 1.1)
    envelope = _ramp(time, start, start + 0.2) * (1 - _ramp(time, start + length - 0.2, start + length))
    wave = envelope * most / (2 * np.pi * hz) ** 2 * np.sin(2 * np.pi * hz * (time - start))
    return np.stack([wave, rng.uniform(-0.2, 0.2) * wave, rng.uniform(-0.3, 0.3) * wave], axis=1), length


def _swipe(rng: np.random.Generator, time: Floats, start: float) -> tuple[Floats, float]:
    way, there, back = rng.uniform(0.25, 0.45), rng.uniform(0.26, 0.4), rng.uniform(0.7, 1.1)
    pause = there + rng.uniform(0.1, 0.3)
    x = way * (_ramp(time, start, start + there) - _ramp(time, start + pause, start + pause + back))
    rise = rng.uniform(-0.15, 0.15)
    return np.stack([x, rng.uniform(-0.15, 0.15) * x, rise * x], axis=1), there + 0.15


def _taps(rng: np.random.Generator, time: Floats, start: float, count: int) -> tuple[Floats, float]:
    """Returns the specific force of taps on the case, in m/s^2, and their length."""
    gap, found = rng.uniform(0.17, 0.34), np.zeros(len(time))
    for index in range(count):
        since = time - start - index * gap * rng.uniform(0.95, 1.05)
        hz, most = rng.uniform(9, 14), rng.uniform(14, 32)
        found += np.where(since > 0, most * np.exp(-since * rng.uniform(28, 45)) * np.sin(2 * np.pi * hz * since), 0)
    ring = rng.uniform(-0.3, 0.3, 2)
    return np.stack([ring[0] * found, ring[1] * found, -found], axis=1), gap * (count - 1) + 0.12


def _walk(rng: np.random.Generator, time: Floats) -> Floats:
    hz, most = rng.uniform(1.6, 2.3), rng.uniform(1.0, 3.0)
    phase, step = 2 * np.pi * hz * time, 2 * np.pi * hz
    up = most * (np.sin(phase) + rng.uniform(0.1, 0.5) * np.sin(2 * phase + rng.random() * 6)) / step**2
    side = rng.uniform(0.2, 0.6) * most * np.sin(phase / 2 + rng.random() * 6) / step**2
    return np.stack([side, 0.5 * up, up], axis=1)


def _seen(rng: np.random.Generator, tilt: Floats, force: Floats) -> Floats:
    """Returns a force [time, 3] as a device sees it that is tilted by slow angles, and turned by fixed ones."""
    roll, pitch, yaw = (tilt + rng.uniform(-0.3, 0.3, 3)).T
    for axis, angle in ((2, yaw), (1, pitch), (0, roll)):
        one, two = (axis + 1) % 3, (axis + 2) % 3
        turned = force.copy()
        turned[:, one] = np.cos(angle) * force[:, one] + np.sin(angle) * force[:, two]
        turned[:, two] = np.cos(angle) * force[:, two] - np.sin(angle) * force[:, one]
        force = turned
    return force


def recording(rng: np.random.Generator, kind: str, count: int, start: float) -> tuple[npt.NDArray[np.int16], float]:
    """Returns what the accelerometer measures [count, 3] in 1/1000 g, and where the motion ends, in seconds.

    Args:
        rng: Source of all that differs from recording to recording.
        kind: One of `GESTURES` or `OTHERS`.
        count: Samples.
        start: Second in which the motion begins, which may be outside of the recording.
    """
    time = np.arange((count + 2) * _FINE) / (RATE * _FINE)
    place, force, length = np.zeros((len(time), 3)), np.zeros((len(time), 3)), 0.0
    tilt = _slow(rng, time, 0.12, 0.7)
    if kind in ("circle", "shake", "swipe"):
        place, length = {"circle": _circle, "shake": _shake, "swipe": _swipe}[kind](rng, time, start)
    elif kind in ("double tap", "single tap"):
        force, length = _taps(rng, time, start, 2 if kind == "double tap" else 1)
    elif kind == "walk":
        place = _walk(rng, time)
    elif kind == "turn":
        turn = rng.uniform(-1.5, 1.5, 3) * np.array([1, 1, 0.3])
        tilt = tilt + turn * _ramp(time, start, start + rng.uniform(0.4, 1.2))[:, None]
    elif kind == "put down":
        place[:, 2] = -rng.uniform(0.1, 0.4) * _ramp(time, start, start + rng.uniform(0.5, 1.0))
        force = _taps(rng, time, start + 0.8, 1)[0] * rng.uniform(0.2, 0.8)
    elif kind == "reach":
        way = rng.uniform(-0.3, 0.3, 3)
        place = way * _ramp(time, start, start + rng.uniform(0.6, 1.4))[:, None]
    tremor = _slow(rng, time, 0.0006, 9)
    moved = np.gradient(np.gradient(place + tremor, 1 / (RATE * _FINE), axis=0), 1 / (RATE * _FINE), axis=0)
    total = (moved + force + np.array([0, 0, GRAVITY])) / GRAVITY
    seen = _seen(rng, tilt, total)
    # The sensor averages over a sample.
    sampled = seen[: count * _FINE].reshape(count, _FINE, 3).mean(axis=1)
    sampled = sampled * rng.uniform(0.97, 1.03, 3) + rng.uniform(-0.05, 0.05, 3)
    noisy = STEPS * (sampled + rng.standard_normal(sampled.shape) * rng.uniform(0.003, 0.015))
    found: npt.NDArray[np.int16] = np.round(noisy).clip(-RANGE, RANGE - 1).astype(np.int16)
    return found, start + length

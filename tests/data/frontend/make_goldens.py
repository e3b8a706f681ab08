"""Makes audio.npz and picture.npz from packages that are not part of the tests: scipy and pymicro-features.

pip install scipy pymicro-features
PYTHONPATH=host:tests python tests/data/frontend/make_goldens.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pymicro_features
import scipy.fft
import scipy.ndimage
import scipy.signal

from aboard.frontend import AudioFrontEnd
from support.front_end import sound

HERE = Path(__file__).parent
RATE, WINDOW, HOP, CHANNELS, FFT = 16000, 480, 320, 40, 512
MICRO_SAMPLES = 2 * RATE


def micro(samples: np.ndarray) -> np.ndarray:
    """Returns the features of the micro front end, which its package multiplies by 10 / 256."""
    front_end, data, found = pymicro_features.MicroFrontend(), samples.tobytes(), []
    while len(data) >= 320:
        result = front_end.process_samples(data[:320])
        data = data[2 * result.samples_read :]
        found += [result.features] if result.features else []
    return np.round(np.asarray(found) * 25.6).astype(np.int16)


def micro_bank() -> tuple[np.ndarray, np.ndarray]:
    """Returns the weights as the micro front end's C forms them: logarithms are `log1pf` of the C library."""
    mel = np.float32(1127) * np.log1p(np.arange(FFT // 2 + 1, dtype=np.float32) * np.float32(RATE / FFT / 700))
    low, high = (np.float32(1127) * np.log1p(np.float32(hz) / np.float32(700)) for hz in (125, 7500))
    corners = low + (high - low) / np.float32(CHANNELS + 1) * np.arange(CHANNELS + 2, dtype=np.float32)
    bins = np.flatnonzero((mel > low) & (mel <= corners[-1]))
    group = np.searchsorted(corners, mel[bins])
    weights = (corners[group] - mel[bins]) / (corners[group] - corners[group - 1])
    return tuple(np.floor(x.astype(float) * 4096 + 0.5).astype(np.int16) for x in (weights, 1 - weights.astype(float)))


def loud() -> np.ndarray:
    """Returns a second of noise of two levels below a chirp."""
    time, rng = np.arange(RATE) / RATE, np.random.default_rng(5)
    chirp = 6000 * scipy.signal.chirp(time, 100, 1, 7000)
    noise = rng.standard_normal(RATE) * np.where(time < 0.5, 4000, 1500)
    return np.round(chirp + noise).astype(np.int16)


def logarithms(samples: np.ndarray) -> np.ndarray:
    """Returns log-mel features in real numbers, in the unit of the micro front end."""
    window = scipy.signal.windows.hann(2 * WINDOW, sym=False)[1::2]
    frames = np.lib.stride_tricks.sliding_window_view(samples, WINDOW)[::HOP] * window
    power = np.abs(scipy.fft.rfft(frames, FFT)) ** 2 / FFT**2
    mel = 1127 * np.log1p(np.arange(FFT // 2 + 1) * RATE / FFT / 700)
    corners = np.linspace(*(1127 * np.log1p(np.asarray([125, 7500]) / 700)), CHANNELS + 2)
    bank = np.stack([np.interp(mel, corners[i : i + 3], [0, 1, 0]) for i in range(CHANNELS)], axis=1)
    # 64 comes from the square root of 12 fractional bits of weights, 8 from the correction for the transform's length.
    return np.log(np.sqrt(power @ bank) * 64 * 8)


def main() -> None:
    """Writes both files."""
    samples, logs = loud(), AudioFrontEnd()(loud())
    above, below = micro_bank()
    real = logarithms(samples)
    np.savez_compressed(
        HERE / "audio.npz",
        micro_samples=MICRO_SAMPLES,
        micro=micro(sound(MICRO_SAMPLES, seed=1).clip(min=-32767)),
        micro_above=above,
        micro_below=below,
        loud=samples,
        logarithms=real.astype(np.float32),
        cepstra=scipy.fft.dct(real, norm="ortho", axis=1)[:, :13].astype(np.float32),
        cepstra_of_logs=scipy.fft.dct(logs.astype(float), norm="ortho", axis=1)[:, :13].astype(np.float32),
        window=scipy.signal.windows.hann(2 * WINDOW, sym=False)[1::2].astype(np.float32),
    )
    picture = np.random.default_rng(7).integers(0, 256, (37, 53, 3)).astype(np.uint8)
    found = {"picture": picture}
    for name, (rows, columns) in {"smaller": (16, 20), "larger": (80, 60)}.items():
        y, x = ((np.arange(n) + 0.5) * size / n - 0.5 for n, size in ((rows, 37), (columns, 53)))
        at = np.stack(np.meshgrid(y, x, indexing="ij"))
        for kind, order in (("bilinear", 1), ("nearest", 0)):
            planes = [scipy.ndimage.map_coordinates(picture[..., c].astype(float), at, order=order, mode="nearest")
                      for c in range(3)]  # fmt: skip
            found[f"{name}_{kind}"] = np.stack(planes, axis=-1).astype(np.float32)
    np.savez_compressed(HERE / "picture.npz", **found)


if __name__ == "__main__":
    main()

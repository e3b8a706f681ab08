"""Speech for training and test, spoken by espeak-ng (Debian package espeak-ng), with noise of numpy.

Voices of the test are none of the training. The voices are rules and recordings of the eSpeak NG project; what it
speaks is free to use.
"""

from __future__ import annotations

import io
import itertools
import subprocess
import wave
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

RATE = 8000
ACCENTS = ("en-us", "en-gb", "en-gb-x-rp", "en-gb-scotland")
TRAIN_VARIANTS = (
    "m1", "m2", "m3", "m4", "m5", "m6", "f1", "f2", "f3", "Alex", "Andy", "Annie", "Gene", "Gene2", "Lee", "Linda",
    "Mario", "Michael", "Mike", "Denis", "Diogo", "aunty", "belinda", "benjamin", "boris", "david", "ed", "edward",
    "grandma", "grandpa", "john", "kaukovalta", "linda", "marcelo", "max", "miguel", "mike2", "paul", "pedro", "quincy",
    "rob", "robert", "sandro", "shelby", "steph", "steph2", "steph3", "travis", "victor", "zac",
)  # fmt: skip
TEST_VARIANTS = ("m7", "m8", "f4", "f5")
SPEEDS, PITCHES = (130, 160, 190), (35, 60)

Floats = npt.NDArray[np.float64]


def spoken(word: str, voice: str, speed: int, pitch: int) -> Floats:
    """Returns a word at `RATE`, without the silence around, its largest sample 1."""
    command = ["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "--stdout", word]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    with wave.open(io.BytesIO(data)) as file:
        rate = file.getframerate()
        # The length in the header of a pipe is unknown to espeak-ng.
        samples = np.frombuffer(data[44:], np.int16).astype(float)
    count = len(samples) * RATE // rate
    x = resampled(samples, count)
    loud = np.flatnonzero(np.abs(x) > 0.02 * np.abs(x).max())
    x = x[loud[0] : loud[-1] + 1]
    x /= np.abs(x).max()
    return x


def resampled(x: Floats, count: int) -> Floats:
    """Returns a sound in another number of samples, without what lies above half of the new rate."""
    spectrum, wanted = np.fft.rfft(x), count // 2 + 1
    kept = np.pad(spectrum[:wanted], (0, max(wanted - len(spectrum), 0)))
    found: Floats = np.fft.irfft(kept, count) * (count / len(x))
    return found


def voices(text: str, variants: tuple[str, ...], every: int) -> Iterator[Floats]:
    """Yields a text as a part of all combinations of voices, speeds and pitches speak it.

    Args:
        text: Words.
        variants: Voices.
        every: One in as many combinations is spoken.
    """
    for accent, variant, speed, pitch in itertools.product(ACCENTS, variants, SPEEDS, PITCHES):
        if hash_of(text, accent, variant, speed, pitch) % every == 0:
            yield spoken(text, f"{accent}+{variant}", speed, pitch)


def hash_of(*parts: object) -> int:
    """Returns a number that is the same in every run."""
    return sum(ord(letter) * 31**index % 65521 for index, letter in enumerate(" ".join(map(str, parts))))


def noise(rng: np.random.Generator, count: int) -> Floats:
    """Returns noise of a random colour, from white to brown, of variance 1."""
    spectrum = np.fft.rfft(rng.standard_normal(count)) / (np.arange(count // 2 + 1) + 8.0) ** rng.uniform(0, 1)
    x: Floats = np.fft.irfft(spectrum, count)
    x /= x.std()
    return x


def mixed(rng: np.random.Generator, word: Floats, start: int, count: int) -> npt.NDArray[np.int16]:
    """Returns a clip: a word from `start` on, which may be cut off at both ends, and noise whose level may change."""
    clip, level = np.zeros(count), np.exp(rng.uniform(np.log(2000), np.log(25000)))
    first, last = max(start, 0), min(start + len(word), count)
    if last > first:
        clip[first:last] = word[first - start : last - start] * level
    before, after = level * np.exp(rng.uniform(np.log(0.001), np.log(0.06), 2))
    if rng.random() < 0.4:
        after = before
    if rng.random() < 0.4:
        before = 10.0
    if rng.random() < 0.4:
        after = 10.0
    # The level changes at the beginning of the word, or at its end.
    edge = min(max(start if rng.random() < 0.5 else start + len(word), 0), count)
    clip += noise(rng, count) * np.where(np.arange(count) < edge, before, after)
    found: npt.NDArray[np.int16] = np.round(clip).clip(-(2**15), 2**15 - 1).astype(np.int16)
    return found


def silence(rng: np.random.Generator, count: int) -> npt.NDArray[np.int16]:
    """Returns noise alone, of a random level."""
    clip = noise(rng, count) * np.exp(rng.uniform(np.log(2), np.log(2000)))
    found: npt.NDArray[np.int16] = np.round(clip).clip(-(2**15), 2**15 - 1).astype(np.int16)
    return found


def compressed(samples: npt.NDArray[np.int16]) -> npt.NDArray[np.int8]:
    """Returns samples in 8 bits by a logarithm (mu-law)."""
    x = samples / 2**15
    found: npt.NDArray[np.int8] = np.round(np.sign(x) * np.log1p(255 * np.abs(x)) / np.log(256) * 127).astype(np.int8)
    return found


def expanded(codes: npt.NDArray[np.int8]) -> npt.NDArray[np.int16]:
    """Returns the samples that `compressed` has kept."""
    x = codes / 127
    values = np.sign(x) * np.expm1(np.abs(x) * np.log(256)) / 255 * (2**15 - 1)
    found: npt.NDArray[np.int16] = np.round(values).astype(np.int16)
    return found

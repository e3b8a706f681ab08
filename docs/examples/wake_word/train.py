"""Trains the models of this example and makes its test: encoder.tflite, scorer.tflite and test.npz.

    apt install espeak-ng
    pip install -e '.[onnx]'
    PYTHONPATH=../common python train.py

numpy trains one network of four convolutions over time (../common/network.py). Its first two become the encoder and the
others the scorer, so that the device computes each result of the encoder once. `aboard.quantize` makes the int8 models.
It takes some ten minutes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx

import aboard
import front_end
import network
import speech
import words
from aboard.frontend.audio import LOG_SCALE
from network import Convolution

HERE = Path(__file__).parent
SEED, EPOCHS = 21, 20
FRAMES = front_end.FRAMES + (front_end.ENCODED - 1) * front_end.FRAMES_PER_RUN
COUNT = front_end.FRONT_END.window + (FRAMES - 1) * front_end.FRONT_END.hop
#: The strides of the encoder are FRAMES_PER_RUN frames together, and its windows FRAMES.
ENCODER = (Convolution((5, 1), (2, 1), 24), Convolution((4, 1), (2, 1), 24))
SCORER = (Convolution((5, 1), (2, 1), 32), Convolution((5, 1), (1, 1), 32))
#: Words of the test for each label, and their longest.
TEST_WORDS, LONGEST = 52, 10000

Floats = npt.NDArray[np.float32]


def clips(rng: np.random.Generator) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int64]]:
    """Returns windows of samples [clips, COUNT] and labels: words at random places, cut off words, and noise."""
    found: list[npt.NDArray[np.int16]] = []
    labels: list[int] = []

    def add(word: speech.Floats, start: int, label: int) -> None:
        found.append(speech.mixed(rng, word, start, COUNT))
        labels.append(label)

    for word in speech.voices(words.WAKE, speech.TRAIN_VARIANTS, 2):
        for _ in range(5):
            # A resampled voice is one of another size and another speed.
            varied = speech.resampled(word, int(len(word) * rng.uniform(0.85, 1.1)))
            add(varied, int(rng.integers(0, max(COUNT - len(varied), 0) + 1)), 1)
        for _ in range(2):
            seen = int(len(word) * rng.uniform(0.1, 0.6))
            add(word, seen - len(word) if rng.random() < 0.5 else COUNT - seen, 0)
    for text in words.OTHERS:
        for word in speech.voices(text, speech.TRAIN_VARIANTS, 20):
            for _ in range(3):
                varied = speech.resampled(word, int(len(word) * rng.uniform(0.85, 1.15)))
                add(varied, int(rng.integers(-len(varied) // 3, COUNT - 2 * len(varied) // 3)), 0)
    for _ in range(len(found) // 12):
        found.append(speech.silence(rng, COUNT))
        labels.append(0)
    return np.stack(found), np.asarray(labels, np.int64)


def features(samples: npt.NDArray[np.int16]) -> Floats:
    """Returns the features of windows as real numbers [clips, FRAMES, 1, channels], as the device computes them."""
    return (front_end.FRONT_END(samples) / LOG_SCALE).astype(np.float32)[:, :, None, :]


def quantised(weights: network.Weights, layers: tuple[Convolution, ...], x: Floats, name: str) -> None:
    """Writes the int8 model of some layers, with ranges from inputs `x`."""
    onnx.save(network.as_onnx(weights, layers, x.shape[1:]), HERE / f"{name}.onnx")
    np.savez(HERE / "calibration.npz", x=x)
    aboard.quantize(HERE / f"{name}.onnx", HERE / "calibration.npz").save(HERE / f"{name}.tflite", force=True)
    for file in ("calibration.npz", f"{name}.onnx"):
        (HERE / file).unlink()


def encoded(weights: network.Weights, x: Floats) -> Floats:
    """Returns what the encoder makes of windows: [clips, ENCODED, 1, channels]."""
    for index, layer in enumerate(ENCODER):
        x = np.maximum(network.windows(x, layer) @ weights[2 * index] + weights[2 * index + 1], 0)
    return x


def test_words(rng: np.random.Generator) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """Returns compressed words [words, LONGEST] of other voices, with zeros behind them, and 1 for each wake word."""
    wake = list(speech.voices(words.WAKE, speech.TEST_VARIANTS, 1))
    others = [word for text in words.OTHERS for word in speech.voices(text, speech.TEST_VARIANTS, 4)]
    found, labels = [], []
    for label, sounds in enumerate((others, wake)):
        for index in rng.permutation(len(sounds))[:TEST_WORDS]:
            word = sounds[index][:LONGEST]
            found.append(np.pad(word, (0, LONGEST - len(word))))
            labels.append(label)
    order = rng.permutation(len(found))
    samples = np.round(np.stack(found)[order] * (2**15 - 1)).astype(np.int16)
    return speech.compressed(samples), np.asarray(labels, np.int8)[order]


def main() -> None:
    """Makes the clips, trains, quantises, and writes the files."""
    rng = np.random.default_rng(SEED)
    codes, wanted = test_words(rng)
    np.savez_compressed(HERE / "test.npz", words=codes, labels=wanted)
    samples, labels = clips(rng)
    print(f"{len(samples)} clips", flush=True)
    x = features(samples)
    weights = network.trained(x, labels, (*ENCODER, *SCORER), rng, classes=len(front_end.CLASSES), epochs=EPOCHS)
    chosen = x[rng.permutation(len(x))[:500]]
    first = 2 * len(ENCODER)
    quantised(weights[:first], ENCODER, chosen[:, : front_end.FRAMES], "encoder")
    quantised(weights[first:], SCORER, encoded(weights, chosen), "scorer")


if __name__ == "__main__":
    main()

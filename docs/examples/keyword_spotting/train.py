"""Trains the model of this example and makes its test: keywords.tflite and test.npz.

    apt install espeak-ng
    pip install -e '.[onnx]'
    PYTHONPATH=../common python train.py

numpy trains three convolutions over time (../common/network.py). The network is written as ONNX, and `aboard.quantize`
makes the int8 model. It takes some minutes.
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
SEED = 7
COUNT = front_end.FRONT_END.window + (front_end.FRAMES - 1) * front_end.FRONT_END.hop
LAYERS = (Convolution((6, 1), (2, 1), 24), Convolution((5, 1), (2, 1), 32), Convolution((3, 1), (1, 1), 32))
#: Samples of a test clip, and where its word begins.
CLIP, WORD = 5600, 400

Floats = npt.NDArray[np.float32]


def clips(
    variants: tuple[str, ...], rng: np.random.Generator, copies: int
) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int64]]:
    """Returns windows of samples [clips, COUNT] and labels: words at random places, cut off words, and noise."""
    found: list[npt.NDArray[np.int16]] = []
    labels: list[int] = []
    for label, word in words.spoken(variants, every=4):
        for _ in range(copies):
            # A resampled voice is one of another size and another speed.
            varied = speech.resampled(word, int(len(word) * rng.uniform(0.85, 1.15)))
            room = max(COUNT - len(varied), 0)
            found.append(speech.mixed(rng, varied, int(rng.integers(0, room + 1)), COUNT))
            labels.append(label)
        if rng.random() < 0.5:
            seen = int(len(word) * rng.uniform(0.1, 0.5))
            found.append(speech.mixed(rng, word, seen - len(word) if rng.random() < 0.5 else COUNT - seen, COUNT))
            labels.append(0)
    for _ in range(len(found) // 12):
        found.append(speech.silence(rng, COUNT))
        labels.append(0)
    return np.stack(found), np.asarray(labels, np.int64)


def features(samples: npt.NDArray[np.int16]) -> Floats:
    """Returns the features of windows as real numbers [clips, FRAMES, 1, channels], as the device computes them."""
    return (front_end.FRONT_END(samples) / LOG_SCALE).astype(np.float32)[:, :, None, :]


def test_clips(rng: np.random.Generator) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """Returns compressed clips [110, CLIP] of other voices and their labels, 22 of each class, in random order."""
    by_label: dict[int, list[npt.NDArray[np.float64]]] = {label: [] for label in range(len(front_end.CLASSES))}
    for label, word in words.spoken(speech.TEST_VARIANTS, every=1):
        by_label[label].append(word)
    found, labels = [], []
    for label, sounds in by_label.items():
        for index in rng.permutation(len(sounds))[:22]:
            found.append(speech.mixed(rng, sounds[index], WORD, CLIP))
            labels.append(label)
    order = rng.permutation(len(found))
    return speech.compressed(np.stack(found)[order]), np.asarray(labels, np.int8)[order]


def main() -> None:
    """Makes the clips, trains, quantises, and writes both files."""
    rng = np.random.default_rng(SEED)
    samples, labels = clips(speech.TRAIN_VARIANTS, rng, copies=5)
    print(f"{len(samples)} clips", flush=True)
    x = features(samples)
    weights = network.trained(x, labels, LAYERS, rng, classes=len(front_end.CLASSES))
    chosen = rng.permutation(len(x))[:500]
    np.savez(HERE / "calibration.npz", x=x[chosen], y=labels[chosen])
    onnx.save(network.as_onnx(weights, LAYERS, x.shape[1:]), HERE / "keywords.onnx")
    aboard.quantize(HERE / "keywords.onnx", HERE / "calibration.npz").save(HERE / "keywords.tflite", force=True)
    for name in ("calibration.npz", "keywords.onnx"):
        (HERE / name).unlink()
    codes, wanted = test_clips(rng)
    np.savez_compressed(HERE / "test.npz", clips=codes, labels=wanted)


if __name__ == "__main__":
    main()

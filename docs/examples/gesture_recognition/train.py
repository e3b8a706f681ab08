"""Simulates motion, and trains the model of this example with it: gestures.tflite.

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
import motion
import network
from network import Convolution

HERE = Path(__file__).parent
SEED, RECORDINGS, EPOCHS = 3, 1500, 20
LAYERS = (Convolution((5, 1), (2, 1), 16), Convolution((5, 1), (2, 1), 24), Convolution((5, 1), (1, 1), 24))
SECONDS = front_end.FRAME / motion.RATE


def windows(rng: np.random.Generator) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int64]]:
    """Returns windows [windows, FRAME, AXES] and labels: gestures at random places, parts of them, other motion."""
    found, labels = [], []

    def add(kind: str, label: int, start: float) -> float:
        samples, end = motion.recording(rng, kind, front_end.FRAME, start)
        found.append(samples)
        labels.append(label)
        return end - start

    for label, kind in enumerate(motion.GESTURES, 1):
        for _ in range(RECORDINGS):
            # The length of a gesture is random: this recording tells how long they are.
            length = min(add(kind, label, 0.02), SECONDS)
            add(kind, label, float(rng.uniform(0, max(SECONDS - length, 0.02))))
            if rng.random() < 0.4:
                # Only the beginning is seen.
                add(kind, 0, SECONDS - length * float(rng.uniform(0.02, 0.3)))
    for kind in motion.OTHERS:
        for _ in range(RECORDINGS):
            add(kind, 0, float(rng.uniform(-0.5, SECONDS)))
    return np.stack(found), np.asarray(labels, np.int64)


def main() -> None:
    """Simulates, trains, quantises, and writes the model."""
    rng = np.random.default_rng(SEED)
    samples, labels = windows(rng)
    print(f"{len(samples)} windows", flush=True)
    x = (samples * front_end.STEP).astype(np.float32)[:, :, None, :]
    weights = network.trained(x, labels, LAYERS, rng, classes=len(front_end.CLASSES), epochs=EPOCHS)
    onnx.save(network.as_onnx(weights, LAYERS, x.shape[1:]), HERE / "gestures.onnx")
    chosen = rng.permutation(len(x))[:500]
    np.savez(HERE / "calibration.npz", x=x[chosen], y=labels[chosen])
    aboard.quantize(HERE / "gestures.onnx", HERE / "calibration.npz").save(HERE / "gestures.tflite", force=True)
    for name in ("calibration.npz", "gestures.onnx"):
        (HERE / name).unlink()


if __name__ == "__main__":
    main()

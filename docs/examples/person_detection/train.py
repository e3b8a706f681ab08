"""Draws pictures, and trains the model of this example with them: person.tflite.

    pip install -e '.[onnx]'
    PYTHONPATH=../common python train.py

numpy trains five convolutions (../common/network.py). The network is written as ONNX, and `aboard.quantize` makes the
int8 model. It takes some ten minutes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

import aboard
import front_end
import network
import pictures
from network import Convolution

HERE = Path(__file__).parent
SEED, SCENES, EPOCHS = 5, 16000, 20
LAYERS = (
    *(Convolution((3, 3), (2, 2), channels) for channels in (8, 16, 24, 32)),
    Convolution((3, 3), (1, 1), 48),
)


def main() -> None:
    """Draws, trains, quantises, and writes the model."""
    rng = np.random.default_rng(SEED)
    drawn, labels = pictures.scenes(rng, SCENES, 1)
    x = np.stack([front_end.FIT.bilinear(each[0, :, :, None]) for each in drawn])
    print(f"{len(x)} pictures", flush=True)
    weights = network.trained(x, labels, LAYERS, rng, classes=len(front_end.CLASSES), epochs=EPOCHS)
    weights[0] = weights[0] / np.float32(front_end.STEP)  # The model's input is 0 to 1.
    onnx.save(network.as_onnx(weights, LAYERS, x.shape[1:]), HERE / "person.onnx")
    np.savez(HERE / "calibration.npz", x=x[:400] * np.float32(front_end.STEP), y=labels[:400])
    aboard.quantize(HERE / "person.onnx", HERE / "calibration.npz").save(HERE / "person.tflite", force=True)
    for name in ("calibration.npz", "person.onnx"):
        (HERE / name).unlink()


if __name__ == "__main__":
    main()

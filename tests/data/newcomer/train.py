"""Trains a newcomer's own model with Keras, saves it, and converts the file as aboard does.

make test-frameworks                         # makes .venv-frameworks
.venv-frameworks/bin/python tests/data/newcomer/train.py

own.keras is what a user has; own.tflite is the same model for tests without TensorFlow. The data are the digits of
scikit-learn.
"""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
from sklearn.datasets import load_digits

from aboard import frameworks

layers = keras.layers
FOLDER = Path(__file__).parent


def main() -> None:
    """Writes own.keras and own.tflite."""
    keras.utils.set_random_seed(7)
    x, y = load_digits(return_X_y=True)
    images = (x / 16).astype(np.float32).reshape(-1, 8, 8, 1)
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(8, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dense(10, "softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(5e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(images[:1500], y[:1500], batch_size=32, epochs=10, verbose=0)
    _, accuracy = model.evaluate(images[1500:], y[1500:], verbose=0)
    print(f"accuracy {accuracy:.3f}")
    model.save(FOLDER / "own.keras")
    (FOLDER / "own.tflite").write_bytes(frameworks.read_bytes(FOLDER / "own.keras"))


if __name__ == "__main__":
    main()

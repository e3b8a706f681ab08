"""Trains five networks with Keras, saves them, and converts the files as aboard does.

make test-frameworks                         # makes .venv-frameworks
.venv-frameworks/bin/python tests/data/frameworks/train_keras.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from samples import STORED, Split, digits, series, store

from aboard import frameworks

layers = keras.layers


def networks() -> dict[str, tuple[list[Any], Split]]:
    """Returns the layers of each network, and its data."""
    images, sines = digits(), series()
    picture = layers.Reshape((8, 8, 1))
    return {
        "mlp": (
            [layers.Flatten(), layers.Dense(32, "relu"), layers.Dense(16, "tanh"), layers.Dense(10, "softmax")],
            images,
        ),
        "cnn": (
            [
                picture,
                layers.Conv2D(8, 3),
                layers.BatchNormalization(),
                layers.ReLU(),
                layers.MaxPooling2D(2),
                layers.Dropout(0.2),
                layers.Flatten(),
                layers.Dense(10, "softmax"),
            ],
            images,
        ),
        "separable": (
            [
                picture,
                layers.Conv2D(8, 3, strides=2, padding="same", activation="relu"),
                layers.SeparableConv2D(16, 3, padding="same", activation="relu"),
                layers.SeparableConv2D(24, 3, padding="same", activation="relu"),
                layers.GlobalAveragePooling2D(),
                layers.Dense(10, "softmax"),
            ],
            images,
        ),
        "tcn": (
            [
                *(layers.Conv1D(8, 3, padding="causal", dilation_rate=1 << n, activation="relu") for n in range(3)),
                layers.GlobalAveragePooling1D(),
                layers.Dense(2, "softmax"),
            ],
            sines,
        ),
        "lstm": ([layers.LSTM(8), layers.Dense(2, "softmax")], sines),
    }


def main() -> None:
    """Writes keras_*.tflite and keras.npz."""
    tf.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(13)  # layers draw the seeds of their weights when they are made
    files, arrays = {}, {}
    for name, (network, (x, test, y, labels)) in networks().items():
        model = keras.Sequential([keras.Input(x.shape[1:], name="x"), *network])
        model.compile(keras.optimizers.Adam(5e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
        model.fit(x, y, batch_size=16, epochs=8, verbose=0)
        print(name, "accuracy", round(model.evaluate(test, labels, verbose=0)[1], 3))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.keras"
            model.save(path)
            files[name] = frameworks.read_bytes(path)
        arrays[f"{name}/x"] = test[:STORED]
        arrays[f"{name}/y"] = model.predict(test[:STORED], verbose=0)
    store("keras", ".tflite", files, arrays)


if __name__ == "__main__":
    main()

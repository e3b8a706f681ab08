"""Trains the textbook Keras networks that tests/golden/test_keras.py compiles, and converts them as tutorials do.

    pip install -e '.[train]' tflite
    python tests/data/keras/train.py --output tests/data/keras

The images are scikit-learn's `load_digits`, 8x8 in [0, 1]; the series are sines of two frequencies with noise, made
here. The converter has TensorFlow's defaults: the batch dimension is free, so that shapes are computed by operators.
Seeds are fixed and TensorFlow is told to be deterministic; another version of it gives slightly different files.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from sklearn.datasets import load_digits

Floats = npt.NDArray[np.float32]
layers = tf.keras.layers

SEED = 13
EPOCHS = 8
CALIBRATION = 100
STEPS = 64
LSTM_STEPS = 6


@dataclass(frozen=True)
class Data:
    """Samples (N, ...) with what is learnt of each: a class, or the sample itself for an autoencoder."""

    x: Floats
    y: npt.NDArray[Any]
    loss: str


def digits() -> Data:
    """Returns images (N, 8, 8, 1) and their classes 0 to 9."""
    found = load_digits()
    return Data(
        (found.images / 16).astype(np.float32)[..., np.newaxis], found.target, "sparse_categorical_crossentropy"
    )


def pictures() -> Data:
    """Returns images (N, 8, 8, 1) that are to be reproduced."""
    x = digits().x
    return Data(x, x, "mse")


def series(steps: int) -> Data:
    """Returns series (N, steps, 2) of a slow (class 0) or fast (1) sine with a cosine beside it, in noise."""
    generator = np.random.default_rng(SEED)
    y = generator.integers(0, 2, 800)
    angles = np.arange(steps) * (0.2 + 0.3 * y[:, np.newaxis]) + generator.uniform(0, 6, (800, 1))
    x = np.stack([np.sin(angles), np.cos(angles)], axis=-1) + generator.normal(0, 0.3, (800, steps, 2))
    return Data(x.astype(np.float32), y, "sparse_categorical_crossentropy")


def mlp() -> list[Any]:
    """Returns the layers of a perceptron with a Flatten before it."""
    return [layers.Flatten(), layers.Dense(24, "relu"), layers.Dense(16, "tanh"), layers.Dense(10, "softmax")]


def cnn() -> list[Any]:
    """Returns the layers of a convolutional classifier with batch normalisation, pooling, dropout and Flatten."""
    return [
        layers.Conv2D(8, 3, use_bias=False),
        layers.BatchNormalization(),
        layers.ReLU(),
        layers.MaxPooling2D(2),
        layers.SeparableConv2D(16, 3, padding="same", activation="relu"),
        layers.Dropout(0.2),
        layers.Flatten(),
        layers.Dense(10, "softmax"),
    ]


def conv1d() -> list[Any]:
    """Returns the layers of a classifier of series by strided convolutions and pooling over time."""
    return [
        layers.Conv1D(8, 5, strides=2, activation="relu"),
        layers.MaxPooling1D(2),
        layers.Conv1D(16, 3, padding="same", activation="relu"),
        layers.GlobalAveragePooling1D(),
        layers.Dense(2, "softmax"),
    ]


def tcn() -> list[Any]:
    """Returns the layers of a temporal convolutional network: causal convolutions of dilation 1, 2, 4 and 8."""
    return [
        *(layers.Conv1D(8, 3, padding="causal", dilation_rate=1 << n, activation="relu") for n in range(4)),
        layers.GlobalAveragePooling1D(),
        layers.Dense(2, "softmax"),
    ]


def autoencoder() -> list[Any]:
    """Returns the layers of an autoencoder whose decoder has transposed convolutions."""
    return [
        layers.Conv2D(8, 3, strides=2, padding="same", activation="relu"),
        layers.Conv2D(4, 3, strides=2, padding="same", activation="relu"),
        layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="relu"),
        layers.Conv2DTranspose(1, 3, strides=2, padding="same", activation="sigmoid"),
    ]


def lstm() -> list[Any]:
    """Returns the layers of a recurrent classifier whose steps are unrolled into the graph."""
    return [layers.LSTM(8, unroll=True), layers.Dense(2, "softmax")]


#: Per network: its layers, its data, and the element types it is converted to.
NETWORKS: dict[str, tuple[Callable[[], list[Any]], Callable[[], Data], tuple[str, ...]]] = {
    "mlp": (mlp, digits, ("int8", "float32")),
    "cnn": (cnn, digits, ("int8", "float32", "int16")),
    "conv1d": (conv1d, lambda: series(STEPS), ("int8", "float32")),
    "tcn": (tcn, lambda: series(STEPS), ("int8", "float32")),
    "autoencoder": (autoencoder, pictures, ("int8", "float32")),
    "lstm": (lstm, lambda: series(LSTM_STEPS), ("int8", "float32")),
}


def convert(model: Any, samples: Floats, kind: str) -> bytes:
    """Returns the network as a TFLite file.

    Args:
        model: A Keras model.
        samples: (N, ...) inputs by which ranges are calibrated.
        kind: `float32`; `int8`; `int16` for activations of 16 and weights of 8 bits.
    """
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if kind == "float32":
        return bytes(converter.convert())

    def batches() -> Iterator[list[Floats]]:
        for sample in samples:
            yield [sample[np.newaxis]]

    sets = tf.lite.OpsSet
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = batches
    converter.target_spec.supported_ops = [
        sets.TFLITE_BUILTINS_INT8
        if kind == "int8"
        else sets.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
    ]
    converter.inference_input_type = converter.inference_output_type = getattr(tf, kind)
    return bytes(converter.convert())


def trained(network: Callable[[], list[Any]], data: Data) -> Any:
    """Returns the network, trained on the data."""
    tf.keras.utils.set_random_seed(SEED)
    model = tf.keras.Sequential([tf.keras.Input(data.x.shape[1:]), *network()])
    model.compile(optimizer=tf.keras.optimizers.Adam(5e-3), loss=data.loss)
    model.fit(data.x, data.y, batch_size=32, epochs=EPOCHS, verbose=0)
    return model


def main() -> None:
    """Trains and writes `<network>_<type>.tflite` for each network and type."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, help="folder the files are written to")
    folder: Path = parser.parse_args().output
    tf.config.experimental.enable_op_determinism()
    for name, (network, source, kinds) in NETWORKS.items():
        data = source()
        model = trained(network, data)
        for kind in kinds:
            file = convert(model, data.x[:CALIBRATION], kind)
            (folder / f"{name}_{kind}.tflite").write_bytes(file)
            print(f"{name}_{kind}.tflite: {len(file)} bytes")


if __name__ == "__main__":
    main()

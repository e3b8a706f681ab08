"""Trains the digits model that comes with the package: 8x8 grey images of handwritten digits to one of ten classes.

    pip install -e '.[train,oracle]'
    python -m aboard.models.train_digits --output host/aboard/models

The data are scikit-learn's `load_digits` (1,797 images, pixels 0 to 16, from the UCI repository's optical recognition
data set). A quarter of them, stratified by class, is the test split; it is used for nothing but the accuracy. Seeds
are fixed and TensorFlow is told to be deterministic, so one version of TensorFlow on one kind of processor gives one
model; another version gives a slightly different one, so `digits.json` records the version and the SHA-256 of what is
shipped.

Written files:

    digits.tflite       int8 throughout, int8 input and output, per-channel convolution weights
    digits_f32.tflite   the same trained network in float32
    digits_test.npz     `x` int8 (N, 8, 8, 1) as digits.tflite takes it, `x_f32` the same for the float twin, `y` labels
    digits.json         accuracies measured with tflite-micro, sizes, hashes, versions
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
import tensorflow as tf
import tflite_micro
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.int8]
Labels = npt.NDArray[np.int64]

SEED = 20
EPOCHS = 60
BATCH = 32
TEST_SHARE = 0.25
SHIPPED_SAMPLES = 100
LARGEST_PIXEL = 16.0


@dataclass(frozen=True)
class Data:
    """Images as float32 (N, 8, 8, 1) in [0, 1], and their labels 0 to 9."""

    train_x: Floats
    train_y: Labels
    test_x: Floats
    test_y: Labels


def load() -> Data:
    """Returns the data set, split once and for all by the seed."""
    digits = load_digits()
    images = (digits.images / LARGEST_PIXEL).astype(np.float32)[..., np.newaxis]
    labels = digits.target.astype(np.int64)
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels, test_size=TEST_SHARE, random_state=SEED, stratify=labels
    )
    return Data(train_x, train_y, test_x, test_y)


def network(batch: int | None = None) -> Any:
    """Returns the untrained network: convolution, depthwise-separable block, pooling, dense layer, softmax.

    Args:
        batch: Batch size fixed into the shapes; None leaves it open, for training.
    """
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            tf.keras.Input(shape=(8, 8, 1), batch_size=batch, name="image"),
            layers.Conv2D(16, 3, padding="same", activation="relu", name="stem"),
            layers.DepthwiseConv2D(3, padding="same", activation="relu", name="depthwise"),
            layers.Conv2D(24, 1, activation="relu", name="pointwise"),
            layers.MaxPooling2D(2, name="pool"),
            layers.Flatten(name="flat"),
            layers.Dense(10, name="dense"),
            layers.Softmax(name="probabilities"),
        ]
    )


def augmented(images: Floats, generator: np.random.Generator) -> Floats:
    """Returns the images, each moved by -1, 0 or 1 pixels in both directions."""
    moved = np.zeros_like(images)
    for index, (down, right) in enumerate(generator.integers(-1, 2, (len(images), 2))):
        padded = np.pad(images[index], ((1, 1), (1, 1), (0, 0)))
        moved[index] = padded[1 - down : 9 - down, 1 - right : 9 - right]
    return moved


def train(data: Data) -> Any:
    """Returns the trained network, with batch size 1."""
    tf.keras.utils.set_random_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    generator = np.random.default_rng(SEED)
    model = network()
    steps = EPOCHS * -(-len(data.train_x) // BATCH)
    model.compile(
        optimizer=tf.keras.optimizers.Adam(tf.keras.optimizers.schedules.CosineDecay(3e-3, steps)),
        loss="sparse_categorical_crossentropy",
    )
    for epoch in range(EPOCHS):
        images = augmented(data.train_x, generator)
        model.fit(images, data.train_y, batch_size=BATCH, epochs=1, verbose=0)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1} of {EPOCHS}")
    single = network(batch=1)
    single.set_weights(model.get_weights())
    return single


def convert(model: Any, calibration: Floats | None) -> bytes:
    """Returns the network as a TFLite file: int8 when calibration images are given, float32 without."""
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if calibration is not None:
        images = calibration

        def batches() -> Iterator[list[Floats]]:
            for image in images:
                yield [image[np.newaxis]]

        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = batches
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = tf.int8
        converter.inference_output_type = tf.int8
    return bytes(converter.convert())


def quantized(model: bytes, images: Floats) -> Bytes:
    """Returns images as the int8 model takes them, by the scale and zero point of its input."""
    details = tf.lite.Interpreter(model_content=model).get_input_details()[0]
    scale, zero_point = details["quantization"]
    codes: Floats = np.round(images / np.float32(scale)) + np.float32(zero_point)
    return np.clip(codes, -128, 127).astype(np.int8)


def predictions(model: bytes, images: Floats | Bytes) -> Labels:
    """Returns the classes that TensorFlow Lite for Microcontrollers gives for each image."""
    interpreter = tflite_micro.runtime.Interpreter.from_bytes(model, arena_size=1 << 20)
    classes = []
    for image in images:
        interpreter.set_input(image[np.newaxis], 0)
        interpreter.invoke()
        classes.append(int(np.argmax(interpreter.get_output(0)[0])))
    return np.array(classes, np.int64)


def report(int8_model: bytes, float_model: bytes, data: Data, shipped: int) -> dict[str, Any]:
    """Returns the record that is written as digits.json."""
    files: dict[str, Any] = {}
    inputs: list[tuple[str, bytes, Floats | Bytes]] = [
        ("digits.tflite", int8_model, quantized(int8_model, data.test_x)),
        ("digits_f32.tflite", float_model, data.test_x),
    ]
    for name, model, images in inputs:
        right = predictions(model, images) == data.test_y
        files[name] = {
            "bytes": len(model),
            "sha256": hashlib.sha256(model).hexdigest(),
            "test_samples": len(right),
            "test_correct": int(right.sum()),
            "test_accuracy": round(float(right.mean()), 4),
            "shipped_samples": shipped,
            "shipped_correct": int(right[:shipped].sum()),
            "shipped_accuracy": round(float(right[:shipped].mean()), 4),
        }
    return {
        "data": "scikit-learn load_digits",
        "seed": SEED,
        "train_samples": len(data.train_x),
        "measured_with": f"tflite-micro {tflite_micro.__version__}",
        "trained_with": {
            "tensorflow": tf.__version__,
            "scikit-learn": sklearn.__version__,
            "numpy": np.__version__,
            "machine": platform.machine(),
        },
        "files": files,
    }


def main() -> None:
    """Trains, converts, measures and writes the four files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, help="folder the files are written to")
    folder: Path = parser.parse_args().output
    data = load()
    model = train(data)
    int8_model, float_model = convert(model, data.train_x[:500]), convert(model, None)
    record = report(int8_model, float_model, data, SHIPPED_SAMPLES)
    (folder / "digits.tflite").write_bytes(int8_model)
    (folder / "digits_f32.tflite").write_bytes(float_model)
    shipped_x, shipped_y = data.test_x[:SHIPPED_SAMPLES], data.test_y[:SHIPPED_SAMPLES]
    np.savez_compressed(
        folder / "digits_test.npz", x=quantized(int8_model, shipped_x), x_f32=shipped_x, y=shipped_y.astype(np.int8)
    )
    (folder / "digits.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(record["files"], indent=2))


if __name__ == "__main__":
    main()

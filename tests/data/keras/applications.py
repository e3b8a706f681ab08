"""Writes the structure of networks of keras.applications, converted to int8, without their weights.

    pip install -e '.[train]' tflite
    PYTHONPATH=tests python tests/data/keras/applications.py --output tests/data/keras

The networks have ten classes and no softmax, which would hide differences. Their weights are uniform with He's
variance, with which signals keep their size through all layers; ranges are calibrated with random pictures of coarse to
fine grain. Tests draw the weights anew from a seed, uniformly too, so that the scales fit.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from support import keras_weights

SEED = 13
SIDE = 96
PICTURES = 8

_APPLICATIONS = tf.keras.applications
#: Per network: its constructor and the arguments that make it small.
NETWORKS: dict[str, tuple[Any, dict[str, Any]]] = {
    "mobilenet_v1": (_APPLICATIONS.MobileNet, {"alpha": 0.25}),
    "mobilenet_v2": (_APPLICATIONS.MobileNetV2, {"alpha": 0.35}),
    "mobilenet_v3": (_APPLICATIONS.MobileNetV3Small, {}),
    "efficientnet_b0": (_APPLICATIONS.EfficientNetB0, {}),
}


def draw_weights(model: Any) -> None:
    """Gives every convolution and dense layer uniform weights of variance 2 over the number of inputs of a sum.

    One weight of each channel is the largest there can be: so all channels have one scale, which compresses well.
    """
    generator = np.random.default_rng(SEED)
    for layer in model.layers:
        if isinstance(layer, (tf.keras.layers.Conv2D, tf.keras.layers.DepthwiseConv2D, tf.keras.layers.Dense)):
            kernel = layer.get_weights()[0]
            depthwise = isinstance(layer, tf.keras.layers.DepthwiseConv2D)
            limit = np.sqrt(6 / np.prod(kernel.shape[:2] if depthwise else kernel.shape[:-1]))
            weights = generator.uniform(-limit, limit, kernel.shape)
            weights[(0, 0) if depthwise else (0,) * (kernel.ndim - 1)] = limit
            layer.set_weights([weights, *layer.get_weights()[1:]])


def convert(model: Any) -> bytes:
    """Returns the network as a TFLite file of int8."""
    generator = np.random.default_rng(SEED)
    pictures = [
        generator.integers(0, 256, (1, side, side, 3)).repeat(SIDE // side, 1).repeat(SIDE // side, 2)
        for side in (2, 4, 8, 16, 24, 32, 48, 96)[:PICTURES]
    ]
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([picture.astype(np.float32)] for picture in pictures)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    return bytes(converter.convert())


def main() -> None:
    """Writes `<network>.tflite.xz` for each network."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, help="folder the files are written to")
    folder: Path = parser.parse_args().output
    for name, (network, options) in NETWORKS.items():
        tf.keras.utils.set_random_seed(SEED)
        model = network(input_shape=(SIDE, SIDE, 3), weights=None, classes=10, classifier_activation=None, **options)
        draw_weights(model)
        packed = keras_weights.pack(convert(model))
        (folder / f"{name}.tflite.xz").write_bytes(packed)
        print(f"{name}.tflite.xz: {len(packed)} bytes", flush=True)


if __name__ == "__main__":
    main()

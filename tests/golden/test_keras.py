"""Textbook networks of Keras, converted with TensorFlow's defaults, against the reference: integers bit for bit.

tests/data/keras holds the files and the scripts that made them. Networks of keras.applications have weights drawn here;
ABOARD_FULL=1 runs all of these, else the smallest.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.importers import load
from support import keras_weights, oracle

FOLDER = Path(__file__).resolve().parents[1] / "data" / "keras"
TRAINED = sorted(path.stem for path in FOLDER.glob("*.tflite"))
APPLICATIONS = sorted(path.name.split(".")[0] for path in FOLDER.glob("*.tflite.xz"))
SAMPLES = 8
#: Of probabilities and pixels, which are between 0 and 1: sums are ordered differently.
TOLERANCE = 1e-5
#: What tflite-micro cannot run with a free batch: it believes stated shapes that are wrong within a dilation, and
#: refuses to fill a state of computed shape.
BEYOND_TFLM = ("tcn", "lstm")


def reference(name: str) -> Callable[..., list[np.ndarray]]:
    """Returns tflite-micro, or LiteRT's reference kernels where tflite-micro cannot run the network."""
    return oracle.litert_ref if name.startswith(BEYOND_TFLM) else oracle.tflm


def samples(data: bytes, count: int) -> list[np.ndarray]:
    """Returns inputs: noise over all values that integers have, or over 0 to 1."""
    (record,) = load(data).inputs
    generator = np.random.default_rng(5)
    if record.dtype.is_float:
        return [generator.uniform(0, 1, record.shape).astype(np.float32) for _ in range(count)]
    limits = np.iinfo(record.dtype.numpy)
    return [generator.integers(limits.min, limits.max + 1, record.shape).astype(limits.dtype) for _ in range(count)]


def check(data: bytes, expected_of: Callable[..., list[np.ndarray]], count: int) -> None:
    module = aboard.compile(data, target="c -runtime=host")
    expected = []
    for x in samples(data, count):
        expected += expected_of(data, x)
        got = module.run(x)
        assert got.dtype == expected[-1].dtype
        if got.dtype == np.float32:
            np.testing.assert_allclose(got, expected[-1], rtol=0, atol=TOLERANCE)
        else:
            np.testing.assert_array_equal(got, expected[-1])
    assert len({value.tobytes() for value in expected}) > count // 2, "the outputs hardly vary"


def test_every_textbook_network_is_here() -> None:
    assert {name.split("_")[0] for name in TRAINED} == {"mlp", "cnn", "conv1d", "tcn", "autoencoder", "lstm"}
    assert APPLICATIONS == ["efficientnet_b0", "mobilenet_v1", "mobilenet_v2", "mobilenet_v3"]


@pytest.mark.parametrize("name", TRAINED)
def test_trained_networks(name: str) -> None:
    check((FOLDER / f"{name}.tflite").read_bytes(), reference(name), SAMPLES)


@pytest.mark.parametrize("name", APPLICATIONS if os.environ.get("ABOARD_FULL") else ["mobilenet_v1"])
def test_networks_of_keras_applications(name: str) -> None:
    check(keras_weights.unpack(FOLDER / f"{name}.tflite.xz", seed=1), oracle.tflm, 4)

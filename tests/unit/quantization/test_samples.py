"""What is read as samples, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from aboard.errors import InputError
from aboard.importers import load
from aboard.quantization import samples
from support import float_models
from support.tflite_builder import ModelBuilder

GRAPH = load(float_models.convolutional(0), name="drawn")
IMAGES = float_models.images(6, 0)
LABELS = np.arange(6) % float_models.CLASSES


def two_inputs():
    builder = ModelBuilder()
    for name in ("a", "b", "y"):
        builder.tensor(name, (1, 4), np.float32)
    return load(builder.op("ADD", ["a", "b"], ["y"]).build(["a", "b"], ["y"]), name="two")


def test_a_file_with_labels_and_calibration(tmp_path):
    path = tmp_path / "samples.npz"
    np.savez(path, x=IMAGES, y=LABELS, calibration=IMAGES[:2])
    found = samples.read(path, GRAPH)
    assert (len(found.calibration), len(found.test)) == (2, 6)
    np.testing.assert_array_equal(found.test[3]["x"], IMAGES[3:4])
    np.testing.assert_array_equal(found.labels, LABELS)


@pytest.mark.parametrize(
    "data",
    [IMAGES, {"x": IMAGES}, {"x": IMAGES[:, None]}, {"x": (IMAGES * 0).astype(np.int8), "x_f32": IMAGES}],
    ids=["array", "by name", "with the batch", "real numbers first"],
)
def test_forms_of_samples(data):
    found = samples.read(data, GRAPH)
    assert found.calibration is found.test
    assert found.labels is None
    np.testing.assert_array_equal(np.concatenate([each["x"] for each in found.test]), IMAGES)


def test_pixels_become_real_numbers():
    pixels = np.arange(2 * 8 * 8 * 3, dtype=np.uint8).reshape(2, 8, 8, 3)
    found = samples.read(pixels, GRAPH)
    assert found.test[1]["x"].dtype == np.float32
    np.testing.assert_array_equal(found.test[1]["x"][0], pixels[1])


def test_several_inputs_by_name():
    found = samples.read({"a": np.ones((3, 4), np.float32), "b": np.zeros((3, 1, 4), np.float32)}, two_inputs())
    assert [sorted(each) for each in found.test] == [["a", "b"]] * 3


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"z": IMAGES}, "samples: got z, expected an array for input x (or x). Add the samples under that name"),
        ({}, "samples: got nothing, expected an array for input x (or x). Add the samples under that name"),
        (
            IMAGES.transpose(0, 3, 1, 2),
            "samples: samples of input x, got shape [6, 3, 8, 8], expected [count, 8, 8, 3]. Transpose the samples to",
        ),
        (
            IMAGES[:, :4],
            "samples: samples of input x, got shape [6, 4, 8, 3], expected [count, 8, 8, 3]. Give samples of",
        ),
        (IMAGES.astype(str), "samples: samples of input x, got <U32, expected float32. Convert them"),
        (IMAGES * np.float32(np.nan), "samples: samples of input x have NaN or infinity. Remove those samples"),
        (
            IMAGES[:0],
            "samples: got 0 samples, expected as many for each input, and one at least. Give",
        ),
        ({"x": IMAGES, "y": LABELS[:3]}, "samples: labels y, got 3 of int64, expected 6 whole numbers from 0 to 4."),
        ({"x": IMAGES, "y": LABELS + 1}, "samples: labels y, got 6 of int64, expected 6 whole numbers from 0 to 4."),
        ({"x": IMAGES, "y": LABELS / 2}, "samples: labels y, got 6 of float64, expected 6 whole numbers from 0 to 4."),
    ],
)
def test_samples_that_do_not_fit(data, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        samples.read(data, GRAPH)


def test_inputs_with_different_numbers_of_samples():
    with pytest.raises(InputError, match=r"^samples: got 2 and 3 samples, expected as many for each input"):
        samples.read({"a": np.ones((3, 4), np.float32), "b": np.ones((2, 4), np.float32)}, two_inputs())
    with pytest.raises(InputError, match=r"^samples: got a, expected an array for input b\. Add"):
        samples.read({"a": np.ones((3, 4), np.float32)}, two_inputs())


def test_labels_need_scores():
    builder = ModelBuilder().tensor("x", (1, 4), np.float32).tensor("y", (1, 1), np.float32)
    builder.tensor("w", (1, 4), np.float32, data=np.ones((1, 4), np.float32))
    graph = load(builder.op("FULLY_CONNECTED", ["x", "w"], ["y"]).build(["x"], ["y"]), name="one")
    with pytest.raises(InputError, match=r"^samples: labels for a model with 1 outputs, the first of shape \[1, 1\]"):
        samples.read({"x": np.ones((3, 4), np.float32), "y": np.zeros(3, np.int64)}, graph)


def test_files_that_are_none(tmp_path):
    with pytest.raises(InputError, match=r"none\.npz: cannot be read, got: No such file or directory\. Check the path"):
        samples.read(tmp_path / "none.npz", GRAPH)
    (tmp_path / "text.npz").write_text("x = 1")
    with pytest.raises(InputError, match=r"text\.npz: no file of arrays, got: .*\. Save it with numpy\.savez"):
        samples.read(tmp_path / "text.npz", GRAPH)
    np.save(tmp_path / "one.npy", IMAGES)
    with pytest.raises(InputError, match=r"one\.npy: one array, expected a \.npz file\. Save it with numpy\.savez"):
        samples.read(tmp_path / "one.npy", GRAPH)

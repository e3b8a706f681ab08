"""The shipped model: its files are those that were measured, and the generated C is as accurate as they were."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

import aboard
from aboard.base import resources
from aboard.importers import load
from support import oracle

RECORD = json.loads((resources.models() / "digits.json").read_text())
FILES = {"digits.tflite": "x", "digits_f32.tflite": "x_f32"}


@pytest.fixture(scope="module")
def samples() -> dict[str, np.ndarray]:
    with np.load(resources.models() / "digits_test.npz") as archive:
        return {name: archive[name] for name in archive.files}


@pytest.mark.parametrize("name", FILES)
def test_files_are_those_that_were_measured(name: str) -> None:
    model = (resources.models() / name).read_bytes()
    assert hashlib.sha256(model).hexdigest() == RECORD["files"][name]["sha256"]
    assert len(model) == RECORD["files"][name]["bytes"]


def test_samples_are_consistent(samples: dict[str, np.ndarray]) -> None:
    assert samples["x"].shape == samples["x_f32"].shape == (100, 8, 8, 1)
    assert samples["y"].shape == (100,)
    assert sorted(set(samples["y"].tolist())) == list(range(10))
    quant = load(resources.models() / "digits.tflite").inputs[0].quant
    codes = np.round(samples["x_f32"] / np.float32(quant.scale)) + quant.zero_point
    np.testing.assert_array_equal(samples["x"], codes.astype(np.int8))


def test_recorded_accuracy_is_worth_shipping() -> None:
    for record in RECORD["files"].values():
        assert record["test_accuracy"] >= 0.97
        assert record["test_accuracy"] == round(record["test_correct"] / record["test_samples"], 4)


def test_int8_is_exact_and_as_accurate_as_recorded(samples: dict[str, np.ndarray]) -> None:
    model = (resources.models() / "digits.tflite").read_bytes()
    module = aboard.compile(model, target="c -runtime=host", name="digits")
    outputs = np.concatenate([np.asarray(module.run(x[np.newaxis])) for x in samples["x"]])
    expected = np.concatenate([oracle.tflm(model, x[np.newaxis])[0] for x in samples["x"]])
    np.testing.assert_array_equal(outputs, expected)
    assert int((outputs.argmax(1) == samples["y"]).sum()) == RECORD["files"]["digits.tflite"]["shipped_correct"]


def test_float_is_as_accurate_as_recorded(samples: dict[str, np.ndarray]) -> None:
    model = (resources.models() / "digits_f32.tflite").read_bytes()
    module = aboard.compile(model, target="c -runtime=host", name="digits_f32")
    outputs = np.concatenate([np.asarray(module.run(x[np.newaxis])) for x in samples["x_f32"]])
    expected = np.concatenate([oracle.tflm(model, x[np.newaxis])[0] for x in samples["x_f32"]])
    np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-6)
    assert int((outputs.argmax(1) == samples["y"]).sum()) == RECORD["files"]["digits_f32.tflite"]["shipped_correct"]

"""Samples with labels, and what is counted of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aboard.base.manifest import Manifest
from aboard.base.manifest_records import TensorRecord
from aboard.check import evaluate
from aboard.device.timing import Duration, RunResult
from aboard.errors import InputError
from support.bundles import tiny_manifest


def tensor(name: str, dtype: str, *shape: int, scale: float | None = None, zero: int | None = None) -> TensorRecord:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return TensorRecord(
        name=name, c_name=name, dtype=dtype, shape=shape, offset=0, bytes=size, scale=scale, zero_point=zero
    )


def classifier(dtype: str = "int8", classes: int = 3) -> Manifest:
    scale, zero = (0.5, -10) if dtype == "int8" else (None, None)
    inputs, outputs = tensor("x", dtype, 1, 2, scale=scale, zero=zero), tensor("y", dtype, 1, classes)
    return tiny_manifest("cortex-m4", "m").model_copy(update={"inputs": (inputs,), "outputs": (outputs,)})


@dataclass
class Device:
    """Answers as a session does: the first input value is the class it predicts."""

    manifest: Manifest
    resets: int = 0

    def reset_state(self) -> None:
        self.resets += 1

    @property
    def models(self) -> list[Manifest]:
        return [self.manifest]

    def infer(self, x: Any) -> RunResult:
        scores = np.zeros((1, 3), np.int8)
        scores[0, int(x[0])] = 9
        return RunResult({"y": scores}, Duration(100 + int(x[0]), 1_000_000, 40 * (100 + int(x[0]))), 64 + int(x[0]))


def save(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def test_accuracy_confusion_and_time() -> None:
    x = np.array([[0, 0], [1, 0], [2, 0], [2, 0]], np.int8)
    seen = []
    device = Device(classifier())
    found = evaluate.evaluate(
        device,  # type: ignore[arg-type]  # a stand-in
        evaluate.Samples(x, np.array([0, 1, 2, 1])),
        lambda: seen.append(1),
    )
    assert found.confusion.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 1]]
    assert found.accuracy == 0.75
    assert found.ticks == round((100 + 101 + 102 + 102) / 4)
    assert found.instructions == 40 * (100 + 101 + 102 + 102) // 4
    assert found.seconds == pytest.approx(101.25e-6)
    assert found.stack_bytes == 66
    assert (len(seen), device.resets) == (4, 4)


@pytest.mark.parametrize("label_first", [True, False])
def test_scores_beside_a_label_are_those_of_a_classifier(label_first: bool) -> None:
    scores, label = tensor("y", "int8", 1, 3), tensor("label", "int64", 1)
    manifest = classifier().model_copy(update={"outputs": (label, scores) if label_first else (scores, label)})
    x = np.array([[0, 0], [2, 0]], np.int8)
    found = evaluate.evaluate(
        Device(manifest),  # type: ignore[arg-type]  # a stand-in
        evaluate.Samples(x, np.array([0, 1])),
    )
    assert found.confusion.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_two_outputs_with_scores_are_no_classifier(tmp_path: Path) -> None:
    manifest = classifier().model_copy(update={"outputs": (tensor("y", "int8", 1, 3), tensor("z", "int8", 1, 2))})
    with pytest.raises(InputError, match=r"outputs of shape \[1, 3\], \[1, 2\], expected .* alone or beside a label"):
        evaluate.load(tmp_path / "a.npz", manifest)


def test_samples_are_read_in_the_models_type(tmp_path: Path) -> None:
    data = save(
        tmp_path / "d.npz", x=np.array([[1, 2], [3, 4]], np.int8), x_f32=np.ones((2, 2), np.float32), y=np.array([0, 2])
    )
    integers = evaluate.load(data, classifier())
    assert integers.x.dtype == np.int8
    assert integers.x.tolist() == [[1, 2], [3, 4]]
    floats = evaluate.load(data, classifier("float32"))
    assert floats.x.dtype == np.float32
    assert floats.x.tolist() == [[1, 1], [1, 1]]
    assert len(evaluate.load(data, classifier(), 1)) == 1


def test_floats_are_quantised_and_clipped(tmp_path: Path) -> None:
    data = save(tmp_path / "d.npz", x=np.array([[0.0, 1.0], [-500.0, 500.0]]), y=np.array([0, 0]))
    assert evaluate.load(data, classifier()).x.tolist() == [[-10, -8], [-128, 127]]


def test_what_is_wrong_with_samples_is_said(tmp_path: Path) -> None:
    x = np.zeros((2, 2), np.int8)
    (tmp_path / "noise.npz").write_bytes(b"\x00" * 50)
    cases = {
        tmp_path / "none.npz": "cannot be read, got: No such file",
        tmp_path / "noise.npz": r"not an \.npz file of numbers",
        save(tmp_path / "a.npz", x=x): r"y is missing, got x, expected x \(inputs\) and y \(labels\)",
        save(tmp_path / "b.npz", x=x, y=np.array([0])): "got 2 inputs and 1 labels",
        save(tmp_path / "c.npz", x=x[:0], y=np.array([], int)): "got 0 inputs and 0 labels",
        save(tmp_path / "d.npz", x=x, y=np.array([0, 3])): "from 0 to 3, expected whole numbers below 3",
        save(tmp_path / "e.npz", x=x, y=np.array([0.5, 1])): "labels, got float64",
    }
    for path, message in cases.items():
        with pytest.raises(InputError, match=message):
            evaluate.load(path, classifier())
    with pytest.raises(InputError, match=r"m: no classifier, got 1 inputs and outputs of shape \[1, 1\]"):
        evaluate.load(tmp_path / "a.npz", classifier(classes=1))

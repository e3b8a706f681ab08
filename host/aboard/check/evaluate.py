"""Evaluation: accuracy, confusion matrix and time of a classifier on the device."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aboard.base import classifiers
from aboard.base.manifest import Manifest
from aboard.base.manifest_records import TensorRecord
from aboard.device import real_values
from aboard.device.session import Session
from aboard.device.tensor_io import Values
from aboard.device.timing import RunResult
from aboard.errors import InputError


@dataclass(frozen=True)
class Samples:
    """Labelled inputs.

    Attributes:
        x: Inputs in the model's element type; the first dimension counts samples.
        y: Label of each sample, from 0.
    """

    x: Values
    y: Values

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Evaluation:
    """The results of a classifier on a device.

    Attributes:
        confusion: Numbers of samples; row: label, column: prediction.
        runs: The run of each sample.
    """

    confusion: Values
    runs: tuple[RunResult, ...]

    @property
    def accuracy(self) -> float:
        """Share of the samples whose largest output is their label."""
        return float(np.trace(self.confusion) / max(int(self.confusion.sum()), 1))

    @property
    def instructions(self) -> int | None:
        """Mean instructions a sample; None if they are unknown."""
        counts = [run.instructions for run in self.runs if run.instructions is not None]
        return round(sum(counts) / len(counts)) if counts else None

    @property
    def ticks(self) -> int:
        """Mean ticks a sample."""
        return round(sum(run.ticks for run in self.runs) / len(self.runs))

    @property
    def seconds(self) -> float | None:
        """Mean time a sample in seconds; None in an emulator, which measures no time."""
        times = [run.microseconds for run in self.runs if run.microseconds is not None]
        return sum(times) / len(times) / 1e6 if times else None

    @property
    def stack_bytes(self) -> int:
        """High-water mark of the stack over all samples; 0 if it is unknown."""
        return max(run.stack_bytes for run in self.runs)


def load(path: Path, manifest: Manifest, count: int | None = None) -> Samples:
    """Reads samples for a model from a `.npz` file: inputs `x` and labels `y`.

    A file may hold float inputs as `x_f32`. For a model with integer inputs they are quantised.

    Args:
        path: The file.
        manifest: The model; it must be a classifier with one input.
        count: Number of samples to read from the start; None for all.

    Raises:
        InputError: The file cannot be read or does not fit the model, or the model is no classifier.
    """
    tensor, _, classes = _classifier(manifest)
    arrays = _read(path)
    x = arrays.get("x_f32", arrays["x"]) if tensor.dtype == "float32" else arrays["x"]
    y = arrays["y"].ravel()
    if len(x) != len(y) or len(y) == 0:
        raise InputError(
            f"{path}: got {len(x)} inputs and {len(y)} labels, expected as many of each, and one at "
            "least. Give each input a label"
        )
    if y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= classes:
        raise InputError(
            f"{path}: labels, got {y.dtype} from {y.min()} to {y.max()}, expected whole numbers below {classes}. "
            f"Correct the labels: {manifest.name} has that many classes"
        )
    return Samples(_typed(x, tensor)[:count], y[:count].astype(np.int64))


def evaluate(device: Session, samples: Samples, on_sample: Callable[[], None] = lambda: None) -> Evaluation:
    """Runs samples on a device. For a model with state, each sample is the first of a sequence.

    Args:
        device: A session with one model.
        samples: The samples.
        on_sample: Called after each sample.

    Raises:
        InputError: The shape of the samples differs from the model's input.
    """
    (manifest,) = device.models
    _, scores, classes = _classifier(manifest)
    confusion = np.zeros((classes, classes), np.int64)
    runs = []
    for x, label in zip(samples.x, samples.y, strict=True):
        device.reset_state()
        run = device.infer(x)
        confusion[int(label), int(np.argmax(run.outputs[scores.name]))] += 1
        runs.append(run)
        on_sample()
    return Evaluation(confusion, tuple(runs))


def _classifier(manifest: Manifest) -> tuple[TensorRecord, TensorRecord, int]:
    """Returns the input of a classifier, the output with a score for each class, and the number of classes."""
    sizes = [int(np.prod(output.shape)) for output in manifest.outputs]
    at = classifiers.scores_at(sizes)
    if len(manifest.inputs) != 1 or at is None:
        shapes = ", ".join(str(list(output.shape)) for output in manifest.outputs)
        raise InputError(
            f"{manifest.name}: no classifier, got {len(manifest.inputs)} inputs and outputs of shape {shapes}, "
            "expected one input, and scores of classes as the output, alone or beside a label. Use `aboard verify`"
        )
    return manifest.inputs[0], manifest.outputs[at], sizes[at]


def _read(path: Path) -> dict[str, Values]:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in getattr(file, "files", [])}
    except OSError as error:
        raise InputError(f"{path}: cannot be read, got: {error.strerror or error}. Check the path of --data") from error
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not an .npz file of numbers, got: {error}. Write it with numpy.savez") from error
    for name in ("x", "y"):
        if name not in arrays:
            raise InputError(
                f"{path}: {name} is missing, got {', '.join(arrays) or 'nothing'}, expected x (inputs) and y (labels). "
                "Write both with numpy.savez"
            )
    return arrays


def _typed(x: Values, tensor: TensorRecord) -> Values:
    """Returns inputs in the model's type; quantises floats."""
    return real_values.quantised(x, tensor) if x.dtype.kind == "f" and real_values.is_quantised(tensor) else x

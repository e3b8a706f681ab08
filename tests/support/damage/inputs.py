"""Plausible samples: handwritten digits where a model is trained with them, otherwise smooth noise in its range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from aboard.base import resources
from support.damage.records import Pair
from support.damage.tflite_file import TFLiteFile

_DIGITS = ("digits", "torch_cnn", "torch_mlp", "torch_separable", "keras_cnn", "keras_mlp", "keras_separable")
_LARGEST_PIXEL = 16

# Ranges of inputs of real numbers by the start of the file's name; inputs of integers state theirs.
_RANGES = {"ic_f32": (0.0, 255.0), "vww_f32": (0.0, 1.0), "keras_": (-1.9, 1.9), "torch_": (-1.9, 1.9)}
_OTHER_RANGE = (-3.5, 3.5)

# Axes with fewer elements are channels, between which nothing is smooth.
_LEAST_EXTENT = 5


@dataclass(frozen=True)
class Input:
    """An input of a file; `scale` is 0 for real numbers."""

    name: str
    shape: tuple[int, ...]
    scale: float = 0.0
    zero_point: int = 0

    def stored(self, values: np.ndarray) -> np.ndarray:
        """Returns real numbers in the input's own type, which is int8 or float32."""
        if self.scale == 0:
            return values.astype(np.float32)
        return np.clip(np.rint(values / self.scale) + self.zero_point, -128, 127).astype(np.int8)

    def range(self, name: str) -> tuple[float, float]:
        """Returns the least and the largest sensible value; `name` is that of the file."""
        if self.scale:
            return (-128 - self.zero_point) * self.scale, (127 - self.zero_point) * self.scale
        return next((found for start, found in _RANGES.items() if name.startswith(start)), _OTHER_RANGE)


def inputs(data: bytes) -> list[Input]:
    """Returns the inputs of a TFLite or ONNX file; a free dimension has one element."""
    if data[4:8] == b"TFL3":
        file = TFLiteFile(data)
        found = []
        for number in map(int, file.graph.inputs):
            shape = tuple(int(extent) for extent in file.graph.tensors[number].shape)
            scales = file.scales(number)
            plain = Input(file.name(number), shape)
            found.append(
                plain if scales is None else Input(plain.name, shape, float(scales[0]), file.zero_point(number))
            )
        return found
    graph = onnx.load_from_string(data).graph
    constants = {each.name for each in graph.initializer}
    return [
        Input(each.name, tuple(size.dim_value or 1 for size in each.type.tensor_type.shape.dim))
        for each in graph.input
        if each.name not in constants
    ]


def samples(path: Path, rng: np.random.Generator, count: int = 8, data: bytes | None = None) -> dict[str, np.ndarray]:
    """Returns samples by the names of inputs, as `numpy.savez` takes them.

    Args:
        path: The file; its name chooses the kind of samples.
        rng: Draws them.
        count: The first dimension of each array; the others are the input's without a first dimension of one.
        data: The file's content if it is not at that path.
    """
    known = inputs(data or path.read_bytes())
    return {each.name: _inner(each, each.stored(_real(path.stem, each, rng, count))) for each in known}


def pair_samples(pair: Pair, rng: np.random.Generator, count: int = 8) -> tuple[dict[str, np.ndarray], ...]:
    """Returns the same samples for both files of a pair, each in the type and the order of axes of its inputs."""
    (first,), (second,) = inputs(pair.first), inputs(pair.second)
    values = _real(pair.first_name, first, rng, count)
    other = values
    if first.shape != second.shape:
        other = np.moveaxis(values, 2, -1) if pair.first[4:8] != b"TFL3" else np.moveaxis(values, -1, 2)
    assert other.shape[1:] == second.shape, (pair.first_name, pair.second_name)
    return tuple({each.name: _inner(each, each.stored(real))} for each, real in ((first, values), (second, other)))


def feeds(data: bytes, arrays: dict[str, np.ndarray]) -> Sequence[dict[str, np.ndarray]]:
    """Returns samples one by one, of the shapes that a file states."""
    known = inputs(data)
    count = len(arrays[known[0].name])
    return [{each.name: arrays[each.name][number].reshape(each.shape) for each in known} for number in range(count)]


def _inner(given: Input, values: np.ndarray) -> np.ndarray:
    return values.reshape(len(values), *(given.shape[1:] if given.shape[0] == 1 else given.shape))


def _real(name: str, given: Input, rng: np.random.Generator, count: int) -> np.ndarray:
    """Returns real numbers of shape [count, *shape of the input]."""
    shape = (count, *given.shape)
    if name.startswith((*_DIGITS, "sklearn")):
        with np.load(resources.models() / "digits_test.npz") as file:
            images = file["x_f32"][rng.choice(len(file["x_f32"]), count, replace=False)]
        return images.reshape(shape) * (_LARGEST_PIXEL if name.startswith("sklearn") else 1)
    low, high = given.range(name)
    noise = np.stack([_smooth(given.shape, rng) for _ in range(count)])
    return low + (high - low) * noise


def _smooth(shape: Sequence[int], rng: np.random.Generator) -> np.ndarray:
    """Returns noise from 0 to 1 in which neighbours are alike, with a drawn contrast."""
    fine, coarse = rng.random(shape), rng.standard_normal(shape)
    if coarse.size == 1:
        return fine
    for axis, extent in enumerate(shape):
        if extent >= _LEAST_EXTENT:
            for _ in range(3):
                coarse = sum(np.roll(coarse, step, axis) for step in (-1, 0, 1)) / 3
    spread = np.ptp(coarse)
    coarse = (coarse - coarse.min()) / spread if spread > 0 else fine
    contrast = rng.uniform(0.7, 1.0)
    return np.clip(contrast * (0.85 * coarse + 0.15 * fine) + (1 - contrast) * rng.random(), 0, 1)

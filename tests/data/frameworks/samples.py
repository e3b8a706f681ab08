"""Data of the training scripts: digits and flowers of scikit-learn, and sines; and how their outputs are stored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HERE = Path(__file__).parent

#: Samples whose outputs are stored for each model.
STORED = 4

STEPS = 32

Array = np.ndarray[Any, Any]
Split = tuple[Array, Array, Array, Array]


def split(x: Array, y: Array) -> Split:
    """Returns x to train on, x to test with, and the labels of both."""
    found = train_test_split(x.astype(np.float32), y, test_size=0.3, random_state=0)
    return found[0], found[1], found[2], found[3]


def digits() -> Split:
    """Returns images (N, 8, 8) from 0 to 1 and their classes 0 to 9."""
    found = load_digits()
    return split(found.images / 16, found.target)


def series() -> Split:
    """Returns series (N, STEPS, 2) of a slow (class 0) or fast (1) sine with a cosine beside it, in noise."""
    generator = np.random.default_rng(13)
    y = generator.integers(0, 2, 600)
    angles = np.arange(STEPS) * (0.2 + 0.3 * y[:, np.newaxis]) + generator.uniform(0, 6, (600, 1))
    x = np.stack([np.sin(angles), np.cos(angles)], axis=-1) + generator.normal(0, 0.3, (600, STEPS, 2))
    return split(x, y)


def store(framework: str, suffix: str, files: Mapping[str, bytes], arrays: Mapping[str, Array]) -> None:
    """Writes the files of a framework's models and the arrays, and prints sizes."""
    for name, data in files.items():
        (HERE / f"{framework}_{name}{suffix}").write_bytes(data)
        print(f"{framework}_{name}{suffix}: {len(data)} bytes")
    np.savez_compressed(HERE / f"{framework}.npz", **arrays)

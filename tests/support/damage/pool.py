"""Draws of damaged models and of undamaged pairs, from all models that tests have."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

import aboard
from aboard.base import resources
from aboard.exporters import onnx, tflite
from aboard.importers import load
from support import models
from support.damage import inputs, onnx_layers, tflite_layers
from support.damage.records import CAUSES, Damaged, NoFaultError, Pair

_CHECKOUT = Path(__file__).resolve().parents[3]
_SHIPPED = ("digits.tflite", "digits_f32.tflite")
_IN_TESTS = (
    "onnx/digits.onnx",
    "onnx/sklearn_mlp.onnx",
    *(f"frameworks/keras_{name}.tflite" for name in ("mlp", "cnn", "separable", "tcn", "lstm")),
    *(f"frameworks/torch_{name}.onnx" for name in ("mlp", "cnn", "separable", "tcn", "gru")),
)
_TFLITE = ("hello_world", "keras_tcn", "keras_mnist", "kws", "sww", "ic", "ad", "person", "ic_f32", "vww", "vww_f32")
_ONNX = (
    *(f"{network}_{form}" for network in ("digits_torch", "dscnn", "tcn", "unet") for form in ("dynamo", "qdq")),
    *(f"{network}_legacy" for network in ("dscnn", "tcn", "lstm", "resnet8")),
    *("lstm_dynamo", "resnet8_qdq", "tinyvit_dynamo"),
)

_QUANTISED = (
    ("digits_f32.tflite", "digits.tflite"),
    ("ic_f32.tflite", "ic.tflite"),
    ("vww_f32.tflite", "vww.tflite"),
    *((f"{network}_dynamo.onnx", f"{network}_qdq.onnx") for network in ("digits_torch", "dscnn", "tcn", "unet")),
    ("resnet8_legacy.onnx", "resnet8_qdq.onnx"),
)
_SAME_NETWORK = tuple((f"{network}_legacy.onnx", f"{network}_dynamo.onnx") for network in ("dscnn", "tcn", "lstm"))
# Float models that are small enough to quantise and to write in the other format within a test.
_SMALL = ("digits_f32.tflite", "digits.onnx", "keras_cnn.tflite", "keras_separable.tflite", "torch_cnn.onnx")
_CALIBRATION_SAMPLES = 16

# Samples on which a fault shows.
_SHOWN_ON = 4


def originals() -> dict[str, Path]:
    """Returns the models of the pool by file name, small ones first; without `ABOARD_MODELS` those of this checkout."""
    paths = [resources.models() / name for name in _SHIPPED]
    paths += [_CHECKOUT / "tests/data" / name for name in _IN_TESTS]
    folder = models.folder()
    if folder is not None:
        paths += [folder / f"{name}.tflite" for name in _TFLITE]
        paths += [folder / "onnx" / f"{name}.onnx" for name in _ONNX]
    return {path.name: path for path in sorted(paths, key=lambda path: (path.stat().st_size, path.name))}


def damage(path: Path, data: bytes, rng: np.random.Generator, cause: str | None = None) -> Damaged:
    """Returns a model with a drawn fault that shows on drawn samples.

    Args:
        path: Its file name chooses the samples.
        data: The file.
        rng: Draws.
        cause: As for `choice.damaged`, whose errors are raised.
    """
    feeds = inputs.feeds(data, inputs.samples(path, rng, _SHOWN_ON, data))
    kind = tflite_layers if path.suffix == ".tflite" else onnx_layers
    return kind.damage(data, rng, feeds, cause)


def draw(seed: int, count: int) -> list[tuple[Path, bytes, Damaged]]:
    """Returns drawn faults: the path of the original, its bytes, and the damaged file.

    Each cause is equally likely. A model that cannot have the cause drawn is replaced by another.
    """
    pool = list(originals().values())
    found = []
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        cause = str(rng.choice(CAUSES))
        for place in rng.permutation(len(pool)):
            data = pool[int(place)].read_bytes()
            try:
                found.append((pool[int(place)], data, damage(pool[int(place)], data, rng, cause)))
                break
            except NoFaultError:
                continue
    return found


def undamaged(seed: int, count: int) -> list[Pair]:
    """Returns drawn pairs of files of one network without a fault; each relation is equally likely."""
    found = []
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        known = pairs()
        relation = str(rng.choice(sorted(known)))
        first, second = known[relation][int(rng.integers(len(known[relation])))]
        found.append(pair(relation, first, second))
    return found


def pairs() -> dict[str, list[tuple[str, str]]]:
    """Returns the names of the files of all pairs by their relation; a made file has the name of its original."""
    known = originals()
    tables = {
        "same file": [(name, name) for name in known],
        "quantised": _QUANTISED,
        "quantised here": [(name, name) for name in _SMALL],
        "other exporter": _SAME_NETWORK,
        "other format": [(name, name) for name in _SMALL],
    }
    return {relation: [names for names in table if set(names) <= set(known)] for relation, table in tables.items()}


@lru_cache(maxsize=64)
def pair(relation: str, first: str, second: str) -> Pair:
    """Returns a pair of `pairs`."""
    known = originals()
    data = known[first].read_bytes()
    stem, other = Path(first).stem, Path(second).stem
    if relation == "quantised here":
        calibration = inputs.samples(known[first], np.random.default_rng(0), _CALIBRATION_SAMPLES)
        return Pair(stem, data, f"{stem}_int8", aboard.quantize(data, calibration).model, relation)
    if relation == "other format":
        writer = tflite if first.endswith(".onnx") else onnx
        return Pair(stem, data, f"{stem}_written", writer.write(load(data, name=stem)), relation)
    return Pair(stem, data, other, known[second].read_bytes(), relation)

"""Mutations of a TFLite file: by what its format means, or byte by byte."""

from __future__ import annotations

import struct
from contextlib import suppress

import numpy as np
import tflite

from fuzz.hostile_mutations import HOSTILE
from fuzz.minimise import read, written
from fuzz.model_parts import NothingToChangeError, choice
from fuzz.sound_mutations import SOUND


def mutated(data: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    """Returns a mutated file, and the names of what was done to it.

    Args:
        data: A sound file.
        rng: What happens follows from it.
    """
    kind = rng.random()
    if kind < 0.06:
        return _flipped(data, rng), "bytes"
    if kind < 0.10:
        return rescaled(data, rng), "scales in place"
    model = read(data)
    steps = [choice(rng, SOUND) for _ in range(int(rng.integers(1, 4)))]
    if kind > 0.62:
        steps += [choice(rng, HOSTILE) for _ in range(int(rng.integers(1, 3)))]
    for step in steps:
        with suppress(NothingToChangeError):
            step(model, rng)
    try:
        return written(model), ", ".join(step.__name__ for step in steps)
    except (TypeError, OverflowError, struct.error):
        # A value does not fit its field: no file can hold it.
        return _flipped(data, rng), "bytes"


def _flipped(data: bytes, rng: np.random.Generator) -> bytes:
    """Returns the file with a few bytes changed, mostly near its ends, where the tables are; or cut off."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        near = int(rng.integers(min(len(data), 4000)))
        at = near if rng.random() < 0.5 else len(data) - 1 - near
        bit, anything = 1 << int(rng.integers(8)), int(rng.integers(256))
        changed[at] = choice(rng, (0, 1, 0x7F, 0x80, 0xFF, anything, changed[at] ^ bit))
    return bytes(changed[: int(rng.integers(len(data)))] if rng.random() < 0.05 else changed)


def rescaled(data: bytes, rng: np.random.Generator) -> bytes:
    """Returns the file with other scales and all else where it was."""
    changed, graph = bytearray(data), tflite.Model.GetRootAs(data, 0).Subgraphs(0)
    for index in range(graph.TensorsLength()):
        quantization = graph.Tensors(index).Quantization()
        for k in range(quantization.ScaleLength() if quantization is not None else 0):
            at = quantization._tab.Vector(quantization._tab.Offset(8)) + 4 * k
            changed[at : at + 4] = struct.pack("<f", quantization.Scale(k) * rng.uniform(0.5, 2))
    return bytes(changed)

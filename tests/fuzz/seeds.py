"""What model files are mutated from: parts of public models, of this package's, and of random graphs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aboard.base import resources
from fuzz import minimise, random_graph
from support import control_models, layer_shapes, models, zoo

#: Beyond, only parts of a model are taken: compiling it whole takes seconds.
_WHOLE_BYTES = 60_000
_MOST_OPERATORS = 4


@dataclass(frozen=True)
class Source:
    """A model to take parts of."""

    name: str
    data: bytes

    @property
    def is_small(self) -> bool:
        return len(self.data) <= _WHOLE_BYTES


def sources() -> list[Source]:
    """Returns the models: the package's, those of the tests, and those in the folder of public models."""
    files: list[Path] = sorted(resources.models().glob("*.tflite"))
    public = models.folder()
    if public is not None:
        files += sorted(public.glob("*.tflite")) + sorted((public / "cases").glob("*.tflite"))
    found = [Source(path.stem, path.read_bytes()) for path in files]
    found += [Source("branches", control_models.chosen(0))]
    found += [Source(f"zoo_{np.dtype(t).name}", zoo.many_ops(t)) for t in (np.int8, np.int16, np.float32)]
    return [*found, Source("shapes", layer_shapes.sample("many_shapes"))]


def draw(rng: np.random.Generator, known: list[Source]) -> bytes:
    """Returns a sound file: a random graph, a part of a model, or a small model."""
    if rng.random() < 0.4:
        return random_graph.draw(rng, limits=random_graph.Limits(4000, 100_000, 4))
    source = known[int(rng.integers(len(known)))]
    if source.is_small and rng.random() < 0.04:
        return source.data
    model = minimise.read(source.data)
    count = len(model.subgraphs[0].operators)
    first = int(rng.integers(count))
    taken = minimise.part(model, list(range(first, min(count, first + int(rng.integers(1, _MOST_OPERATORS + 1))))))
    return source.data if taken is None else minimise.written(taken)

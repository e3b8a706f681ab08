"""A wake word from samples to score in tflite-micro, with every tensor of both graphs, to compare aboard with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aboard.check.reference import Reference
from support import models
from support.sequences import FRAMES, FRONT_END, WAKE_WORD, windows

Array = NDArray[np.generic]


@dataclass(frozen=True)
class Run:
    """A run of one of the two models.

    Attributes:
        model: Its name.
        given: The input.
        tensors: Every tensor that an operator computed, by its index in the model file.
        output: The output.
    """

    model: str
    given: Array
    tensors: Mapping[int, Array]
    output: Array


def runs(sound: NDArray[np.int16]) -> Iterator[Run]:
    """Yields the runs of both models for a sound: the front end for each window, the other after every third."""
    references = {name: Reference.open(models.read(name), "tflm") for name in (FRONT_END, WAKE_WORD)}

    def run(name: str, given: Array) -> Run:
        graph = references[name].graph
        tensors = references[name].tensors({graph.inputs[0].name: given})
        source = graph.outputs[0].source
        assert source is not None
        return Run(name, given, tensors, tensors[source])

    frames = []
    for window in windows(sound):
        features = run(FRONT_END, window)
        yield features
        frames.append(features.output)
        if len(frames) == FRAMES:
            yield run(WAKE_WORD, np.stack(frames)[None])
            frames.clear()


def scores(found: Iterable[Run]) -> bytes:
    """Returns the bytes of all scores."""
    return b"".join(run.output.tobytes() for run in found if run.model == WAKE_WORD)

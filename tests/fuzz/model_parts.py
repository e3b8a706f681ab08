"""Parts of a model's objects, chosen at random for mutations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Model = Any
Mutation = Callable[[Model, np.random.Generator], None]

#: By how much a size, an index or an option is often wrong.
NEAR = (-2, -1, 1, 2)
SIZES = (-2147483648, -2, -1, 0, 1, 2, 3, 7, 64, 255, 256, 65536, 2147483647)


class NothingToChangeError(Exception):
    """The file has none of what a mutation changes: an earlier mutation emptied a list."""


def choice(rng: np.random.Generator, items: Any) -> Any:
    """Returns one of some items."""
    if not items:
        raise NothingToChangeError
    return items[int(rng.integers(len(items)))]


def graph_of(model: Model) -> Any:
    """Returns the first graph, which most files have only."""
    return model.subgraphs[0]


def a_tensor(model: Model, rng: np.random.Generator) -> Any:
    """Returns a tensor."""
    return choice(rng, graph_of(model).tensors)


def an_operator(model: Model, rng: np.random.Generator) -> Any:
    """Returns an operator."""
    return choice(rng, graph_of(model).operators)


def a_quantisation(model: Model, rng: np.random.Generator) -> Any:
    """Returns the quantisation of a tensor that has one; None where none has."""
    found = [t.quantization for t in graph_of(model).tensors if t.quantization is not None]
    found = [quantization for quantization in found if quantization.scale is not None and len(quantization.scale)]
    return choice(rng, found) if found else None


def a_constant(model: Model, rng: np.random.Generator) -> Any:
    """Returns a buffer with content, which may be changed in place; None where there is none."""
    found = [buffer for buffer in model.buffers if buffer.data is not None and len(buffer.data)]
    if not found:
        return None
    buffer = choice(rng, found)
    buffer.data = np.array(buffer.data, np.uint8)
    return buffer

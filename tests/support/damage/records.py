"""What a damaged model and a pair of undamaged models are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

SCALE, ZERO_POINT, TRANSPOSITION, PADDING, ACTIVATION = (
    "scale",
    "zero point",
    "transposition",
    "padding",
    "activation",
)
CAUSES = (SCALE, ZERO_POINT, TRANSPOSITION, PADDING, ACTIVATION)

#: Values by the name of an input of the file.
Values: TypeAlias = Mapping[str, np.ndarray]


class NoFaultError(Exception):
    """A model has no layer in which a fault of the wanted cause shows on the samples."""


@dataclass(frozen=True)
class Damaged:
    """A model file with a fault in exactly one layer.

    Attributes:
        data: The file.
        cause: One of `CAUSES`.
        layer: Index of the damaged operator in the file: of ONNX in `graph.node`, of TFLite in the first subgraph.
        tensor: Name of the first output of that operator in the file.
        form: What was edited, from a small fixed set of names, such as `weight scale of one channel`.
        description: The edit with its numbers.
        carriers: Names of later tensors of an ONNX file that a compiler may merge with `tensor`: the results of a bias,
            an activation, QuantizeLinear and DequantizeLinear behind it. A report that names one of them is right too.
            For a fault of QuantizeLinear also the tensor before it, which holds the same activation.
    """

    data: bytes
    cause: str
    layer: int
    tensor: str
    form: str
    description: str
    carriers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pair:
    """Two files of one network, neither of which is damaged.

    Attributes:
        first_name: Name of the first file without its ending.
        first: The first file.
        second_name: Name of the second file.
        second: The second file.
        relation: `same file`, `quantised` (by its authors), `quantised here` (by `aboard.quantize`), `other exporter`
            (of PyTorch) or `other format` (ONNX and TFLite).
    """

    first_name: str
    first: bytes
    second_name: str
    second: bytes
    relation: str


@dataclass(frozen=True)
class Edit:
    """A change of one layer that can be drawn.

    Attributes:
        layer: Index of the operator.
        make: Returns the form, the description and the file of the changed model; None if the draw changes nothing.
    """

    layer: int
    make: Callable[[np.random.Generator], tuple[str, str, bytes] | None] = field(repr=False)


def factor(rng: np.random.Generator) -> float:
    """Returns a factor from 0.5 to 2, at least 10 % away from 1; below and above 1 are equally likely."""
    return float(rng.uniform(0.5, 0.9) if rng.random() < 0.5 else rng.uniform(1.1, 2.0))


def steps(rng: np.random.Generator) -> int:
    """Returns an error of a zero point: 3 to 40 steps in either direction."""
    return int(rng.integers(3, 41)) * int(rng.choice([-1, 1]))

"""One node of an ONNX file, and the table of functions that read nodes."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from aboard.ir import Tensor
from aboard.ops.registry import SourceNode

if TYPE_CHECKING:
    from aboard.importers.onnx.builder import Builder


@dataclass(frozen=True)
class Operator(SourceNode):
    """One node of the file. `options` has its attributes by name, those that are absent with their defaults.

    Attributes:
        opset: Version of the operators of its domain in this file.
        since: Version in which the definition that holds for `opset` was introduced.
        results: Names of the results; "" for one that nobody reads.
    """

    opset: int = 0
    since: int = 0
    results: tuple[str, ...] = ()

    def optional(self, index: int) -> Tensor | None:
        """Returns an operand; None if it is absent."""
        return self.inputs[index] if index < len(self.inputs) else None

    def axis(self, given: int, rank: int) -> int:
        """Returns an axis counted from the front.

        Raises:
            ModelError: There is no such axis.
        """
        if not -rank <= given < rank:
            raise self.unsupported(
                f"axis, got {given}, expected a number in [{-rank}, {rank - 1}]. Export the model again"
            )
        return given % rank


#: Reads one node: makes nodes of the intermediate representation, and returns the results in the order of the file.
#: Results behind the last that is returned must have no reader.
Read = Callable[[Operator, "Builder"], "Tensor | Sequence[Tensor | None]"]

_READERS: dict[str, Read] = {}


def reads(*kinds: str) -> Callable[[Read], Read]:
    """Adds the function that reads some operators (function decorator).

    Args:
        kinds: Names in the standard, such as `Conv`; with the domain and a dot before them for other domains.
    """

    def add(read: Read) -> Read:
        for kind in kinds:
            if kind in _READERS:
                raise ValueError(f"operator {kind} is registered twice")
            _READERS[kind] = read
        return read

    return add


@cache
def readers() -> dict[str, Read]:
    """Returns the functions by the name of the operator."""
    package = importlib.import_module("aboard.importers.onnx.operators")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return _READERS

"""What the subgraphs of one import of a TFLite file share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

from aboard.importers.diagnostics import Diagnostics
from aboard.importers.tflite_carried import Called
from aboard.importers.tflite_file import File
from aboard.importers.tflite_state import Variable, Variables
from aboard.ir import Tensor

#: Number of the subgraph that is the model.
MAIN = 0

#: For each input of a subgraph, the variable whose handle it is; None for values.
Handles = tuple[Variable | None, ...]


class Role(Enum):
    """What a subgraph is.

    Attributes:
        MODEL: The model.
        INITIAL: Sets variables before the first run (CALL_ONCE).
        BODY: A branch, or a part of a loop.
    """

    MODEL = auto()
    INITIAL = auto()
    BODY = auto()


def _unread(_number: int, _user: str, _handles: Handles) -> Called | None:
    return None


@dataclass
class Context:
    """What the subgraphs of one import share.

    Attributes:
        file: The file.
        where: Its name, for messages.
        diagnostics: Collects all problems.
        variables: The resource variables.
        called: Numbers of the subgraphs that CALL_ONCE has called.
        corrected: Operators whose results have other shapes than the file states, each with a result of it.
        body: Reads a subgraph that an operator calls in each run: its number, the operator for messages, and the
            handles among its operands; None with the problems noted.
    """

    file: File
    where: str
    diagnostics: Diagnostics
    variables: Variables
    called: set[int] = field(default_factory=set)
    corrected: dict[str, Tensor] = field(default_factory=dict)
    body: Callable[[int, str, Handles], Called | None] = _unread

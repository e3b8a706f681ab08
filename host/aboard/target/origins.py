"""The origins of a target's attributes: the board, its SoC, a default, or the user."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aboard import boards
from aboard.errors import TargetError
from aboard.target.kind import Value
from aboard.target.target import Target


@dataclass(frozen=True)
class Origin:
    """The origin of an attribute.

    Attributes:
        name: Name of the attribute.
        value: Value of the attribute.
        origin: The origin in words.
        file: File with the value; None if the value does not come from a file.
    """

    name: str
    value: Value
    origin: str
    file: Path | None = None


def origins(target: Target) -> list[Origin]:
    """Returns the origin of each attribute of a target with hardware, sorted by name.

    Raises:
        TargetError: The target names no hardware.
    """
    if target.hardware is None:
        raise TargetError(f"target {str(target)!r}: names no hardware, expected a board. `aboard hardware` lists them")
    board = boards.of_hardware(target.hardware)
    soc_path = boards.soc_path_of(board)
    path, what = (soc_path, "the SoC") if board.is_soc else (boards.path_of(board.id), "the board")
    said = {
        "hardware": Origin("hardware", board.target, what, path),
        "mcpu": Origin("mcpu", board.core().mcpu, f"core {board.core().name} of the SoC", soc_path),
        "runtime": Origin("runtime", board.runtime, what, None if board.is_soc else path),
    }
    return [_origin(target, name, value, said.get(name)) for name, value in target.attrs.items()]


def _origin(target: Target, name: str, value: Value, said: Origin | None) -> Origin:
    if said is not None and said.value == value:
        return said
    attribute = target.kind.schema[name]
    if said is None and attribute.default is None and attribute.implied:
        return Origin(name, value, f"follows from {attribute.implied}")
    return Origin(name, value, "default" if said is None and value == attribute.default else "given")

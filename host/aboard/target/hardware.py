"""Hardware strings: `vendor/board`, `vendor/board:core` or an alias, and what they imply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from aboard.errors import BoardError, TargetError, did_you_mean
from aboard.target import cpu as cpus
from aboard.target.kind import Value, kinds, left_out

if TYPE_CHECKING:
    from aboard.target.target import Target


@dataclass(frozen=True)
class Hardware:
    """A core of a board.

    Attributes:
        name: Canonical name: `vendor/board`, with `:core` where the board has several.
        kind: Kind of target the core is.
        implied: Attributes it implies.
    """

    name: str
    kind: str
    implied: Mapping[str, Value] = field(default_factory=dict)


def resolve(text: str, where: str) -> Hardware:
    """Returns the hardware a string names.

    Args:
        text: `vendor/board`, `vendor/board:core`, `vendor/board/core`, or with an alias in the place of `vendor/board`.
        where: The target, for messages.

    Raises:
        TargetError: There is no such board or core.
    """
    # Board files name cores of the CPU table, so aboard.boards imports this package, and not at import the other way.
    from aboard import boards

    try:
        if not boards.is_known(text):
            raise TargetError(_unknown(text, where, [*boards.names(), *boards.aliases()]))
        board = boards.load(text)
    except BoardError as error:
        raise TargetError(f"{where}: {error}") from error
    implied: dict[str, Value] = {"hardware": board.target, "mcpu": board.core().mcpu, "runtime": board.runtime}
    return Hardware(board.target, "c", implied)


def _unknown(text: str, where: str, known: list[str]) -> str:
    is_core = text.partition("+")[0] in cpus.names()
    what_to_do = f"For a core write `c -mcpu={text}`." if is_core else did_you_mean(text, [*kinds(), *known])
    return (
        f"{where}: unknown kind or hardware, got {text}. {what_to_do}{left_out()} "
        "`aboard targets` lists kinds and `aboard hardware` boards; ABOARD_BOARDS names further folders"
    )


@dataclass(frozen=True)
class Origin:
    """Where a target has an attribute from.

    Attributes:
        name: Name of the attribute.
        value: Its value.
        origin: What says so, in words.
        file: The file that says so; None where it is no file.
    """

    name: str
    value: Value
    origin: str
    file: Path | None = None


def origins(target: Target) -> list[Origin]:
    """Returns where a target with hardware has each of its attributes from, sorted by name.

    Raises:
        TargetError: It names no hardware.
    """
    from aboard import boards

    if target.hardware is None:
        raise TargetError(f"target {str(target)!r}: names no hardware, expected a board. `aboard hardware` lists them")
    board = boards.load(target.hardware)
    path, soc_path = boards.path_of(board.id), boards.soc_path_of(board)
    said = {
        "hardware": Origin("hardware", board.target, "the board", path),
        "mcpu": Origin("mcpu", board.core().mcpu, f"core {board.core().name} of the SoC", soc_path),
        "runtime": Origin("runtime", board.runtime, "the board", path),
    }
    return [_origin(target, name, value, said.get(name)) for name, value in target.attrs.items()]


def _origin(target: Target, name: str, value: Value, said: Origin | None) -> Origin:
    if said is not None and said.value == value:
        return said
    attribute = target.kind.schema[name]
    if said is None and attribute.default is None and attribute.implied:
        return Origin(name, value, f"follows from {attribute.implied}")
    return Origin(name, value, "default" if said is None and value == attribute.default else "given")

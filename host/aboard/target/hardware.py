"""Hardware strings: `vendor/board`, `vendor/board:core` or an alias, and what they imply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aboard.errors import BoardError, TargetError, did_you_mean
from aboard.target import cpu as cpus
from aboard.target.kind import Value, kinds


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

    name, _, core_name = text.partition(":")
    if not core_name and not boards.is_known(name) and "/" in name:
        shorter, _, last = name.rpartition("/")
        if boards.is_known(shorter):
            name, core_name = shorter, last
    if not boards.is_known(name):
        known = [*kinds(), *boards.names(), *boards.aliases()]
        is_core = name.partition("+")[0] in cpus.names()
        what_to_do = f"For a core write `c -mcpu={name}`." if is_core else did_you_mean(name, known)
        raise TargetError(
            f"{where}: unknown kind or hardware, got {text}. {what_to_do} "
            f"`aboard targets` lists kinds and `aboard boards` boards; {boards.SEARCH_PATH} names further folders"
        )
    try:
        board = boards.load(name)
        core = board.core(core_name or None)
    except BoardError as error:
        raise TargetError(f"{where}: {error}") from error
    canonical = board.id if len(board.cores) == 1 else f"{board.id}:{core.name}"
    implied: dict[str, Value] = {"hardware": canonical, "mcpu": core.mcpu, "runtime": board.runtime}
    return Hardware(canonical, "c", implied)

"""Hardware strings and the attributes that they imply.

A hardware string is `vendor/board` or an alias, or `vendor/soc` for a SoC without a board; `:core` may follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aboard import boards
from aboard.boards import cpu as cpus
from aboard.boards import socs
from aboard.errors import BoardError, TargetError, did_you_mean
from aboard.target.kind import Value
from aboard.target.lookup import kinds, left_out


@dataclass(frozen=True)
class Hardware:
    """A core of a board or SoC.

    Attributes:
        name: Canonical name: `vendor/board` or `vendor/soc`, with `:core` if there are several cores.
        kind: Target kind of the core.
        implied: Target attributes that the hardware implies.
    """

    name: str
    kind: str
    implied: Mapping[str, Value] = field(default_factory=dict)


def resolve(text: str, where: str) -> Hardware:
    """Returns the hardware that a string names.

    Args:
        text: `vendor/board`, `vendor/board:core` or `vendor/board/core`; an alias or a SoC may replace `vendor/board`.
        where: The target, for messages.

    Raises:
        TargetError: No board, SoC or core has that name.
    """
    try:
        if not boards.is_known(text):
            raise TargetError(_unknown(text, where, [*boards.names(), *boards.aliases(), *socs.names()]))
        board = boards.of_hardware(text)
    except BoardError as error:
        raise TargetError(f"{where}: {error}") from error
    implied: dict[str, Value] = {"hardware": board.target, "mcpu": board.core().mcpu, "runtime": board.runtime}
    return Hardware(board.target, "c", implied)


def _unknown(text: str, where: str, known: list[str]) -> str:
    is_core = text.partition("+")[0] in cpus.names()
    what_to_do = f"For a core write `c -mcpu={text}`." if is_core else did_you_mean(text, [*kinds(), *known])
    return (
        f"{where}: unknown kind or hardware {text}. {what_to_do}{left_out()} "
        "`aboard targets` lists kinds and `aboard hardware` boards; ABOARD_BOARDS names further folders"
    )

"""Zephyr modules: the repositories besides Zephyr's own that a board needs, and how to get them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from aboard.base import resources, toml
from aboard.boards import cpu as cpus
from aboard.boards.board import Board

#: Modules that Zephyr has replaced, and their successors. Either of the two is enough.
_SUCCESSORS = {"cmsis": "cmsis_6"}


@functools.cache
def _table() -> dict[str, dict[str, list[str]]]:
    return toml.read(resources.project_templates() / "zephyr" / "modules.toml")


def needed(board: Board) -> list[str]:
    """Returns the modules that a board needs in any supported release of Zephyr, sorted."""
    table = _table()
    core = cpus.find(board.core().mcpu)
    by_arch = table["arch"]["arm"] if core.is_arm_m else []
    vendor = board.soc.partition("/")[0]
    return sorted({*by_arch, *table["soc"].get(board.soc, table["vendor"].get(vendor, []))})


def missing(wanted: Iterable[str], present: Iterable[str]) -> list[str]:
    """Returns the wanted modules that are not present. A module also counts as present if its successor is.

    Args:
        wanted: Names of modules.
        present: Names of the modules in the workspace.
    """
    # hal_stm32 and others have no name in their module.yml; Zephyr then uses the name of the folder.
    there = {name for folder in present for name in (folder, f"hal_{folder}")}
    gone = [name for name in wanted if name not in there]
    either = {name for pair in _SUCCESSORS.items() for name in pair if there & set(pair)}
    second = {new for old, new in _SUCCESSORS.items() if old in gone}
    return [name for name in gone if name not in either and name not in second]


def advice(board: str, modules: Sequence[str]) -> str:
    """Returns the message for a board whose modules are missing, with the command that fetches them.

    Args:
        board: Zephyr's name of the board.
        modules: Names of the modules, one or more.
    """
    names = " and ".join(modules)
    return (
        f"board {board} needs the module{'s' if len(modules) > 1 else ''} {names} of Zephyr. "
        f"In the workspace, run: west update {' '.join(modules)}"
    )

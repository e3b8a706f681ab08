"""Zephyr's modules: the repositories beside Zephyr's own that a board needs, and how to get them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Sequence

from aboard.base import resources
from aboard.boards import cpu as cpus
from aboard.boards.board import Board

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Modules of which one is enough: Zephyr has put the second in the place of the first.
_SUCCESSORS = {"cmsis": "cmsis_6"}


@functools.cache
def _table() -> dict[str, dict[str, list[str]]]:
    text = (resources.project_templates() / "zephyr" / "modules.toml").read_text(encoding="utf-8")
    table: dict[str, dict[str, list[str]]] = tomllib.loads(text)
    return table


def needed(board: Board) -> list[str]:
    """Returns the modules that a board needs in one revision of Zephyr or another, sorted."""
    table = _table()
    core = cpus.find(board.core().mcpu)
    by_arch = table["arch"]["arm"] if core.is_arm_m else []
    vendor = board.soc.partition("/")[0]
    return sorted({*by_arch, *table["soc"].get(board.soc, table["vendor"].get(vendor, []))})


def missing(wanted: Iterable[str], present: Iterable[str]) -> list[str]:
    """Returns the modules that are wanted and not there; where one has a successor, either will do.

    Args:
        wanted: Names of modules.
        present: Those that a workspace has.
    """
    # hal_stm32 and others have no name in their module.yml, and are then called by their folder.
    there = {name for folder in present for name in (folder, f"hal_{folder}")}
    gone = [name for name in wanted if name not in there]
    either = {name for pair in _SUCCESSORS.items() for name in pair if there & set(pair)}
    second = {new for old, new in _SUCCESSORS.items() if old in gone}
    return [name for name in gone if name not in either and name not in second]


def advice(board: str, modules: Sequence[str]) -> str:
    """Returns what to say of a board whose modules are missing.

    Args:
        board: Zephyr's name of the board.
        modules: Names of the modules, one or more.
    """
    names = " and ".join(modules)
    return (
        f"board {board} needs the module{'s' if len(modules) > 1 else ''} {names} of Zephyr. "
        f"In the workspace: west update {' '.join(modules)}"
    )

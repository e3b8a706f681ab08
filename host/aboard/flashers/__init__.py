"""Flashers: tools that write an image into a board's flash. Each is a module here or in a plug-in package.

A class of a module here that derives from `Flasher` and has a `name` is a flasher; there is no list. Other packages
name their flashers in entry points of the group `aboard.flashers` (docs/how-to/adding_a_runner.md).
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

from aboard.base import extensions
from aboard.base.extensions import Extension
from aboard.boards.board import Board
from aboard.errors import ToolError, did_you_mean
from aboard.flashers.base import Capabilities, Done, Finding, Flasher, Job, Settings
from aboard.flashers.problems import Diagnosis, Problem

__all__ = [
    "GROUP",
    "Capabilities",
    "Diagnosis",
    "Done",
    "Finding",
    "Flasher",
    "Job",
    "Problem",
    "Settings",
    "all_flashers",
    "choose",
    "from_packages",
    "possible",
]

#: Group of entry points.
GROUP = "aboard.flashers"


@functools.cache
def _ours() -> tuple[type[Flasher[Any]], ...]:
    found: list[type[Flasher[Any]]] = []
    for module in pkgutil.iter_modules(__path__):
        members = vars(importlib.import_module(f"{__name__}.{module.name}")).values()
        found += [m for m in members if isinstance(m, type) and issubclass(m, Flasher) and hasattr(m, "name")]
    return tuple(dict.fromkeys(found))


@functools.cache
def from_packages() -> tuple[Extension, ...]:
    """Returns the flashers of other packages, loaded or with the reason why loading failed."""
    return tuple(extensions.load(GROUP, Flasher))


@functools.cache
def all_flashers() -> Mapping[str, Flasher[Any]]:
    """Returns the flashers by name, in the order in which they are tried: those of other packages first."""
    theirs: list[type[Flasher[Any]]] = [extension.found for extension in from_packages() if extension.found is not None]
    named = {flasher.name: flasher for flasher in (*_ours(), *theirs)}
    ordered = sorted(named.values(), key=lambda flasher: (flasher.order, flasher.name))
    return {flasher.name: flasher() for flasher in ordered}


def possible(board: Board, template: str | None = None) -> list[Flasher[Any]]:
    """Returns the flashers that can flash a board, installed or not, in the order in which they are tried."""
    return [flasher for flasher in all_flashers().values() if flasher.supports(board, template) is None]


@extensions.blamed()
def choose(
    board: Board, name: str | None = None, template: str | None = None, *, installed: bool = True
) -> Flasher[Any]:
    """Returns the flasher for a board.

    Args:
        board: The board.
        name: Name of a flasher; by default the first installed one that can flash the board.
        template: Template of the project.
        installed: Require that the flasher's tool is installed.

    Raises:
        ToolError: The flasher is unknown, cannot flash the board, or is not installed.
    """
    if name is not None:
        return _named(board, name, template, installed)
    missing: list[str] = []
    for flasher in possible(board, template):
        problem = flasher.missing() if installed else None
        if problem is None:
            return flasher
        missing.append(f"{flasher.name}: {problem}")
    if missing:
        raise ToolError(f"{board.id}: nothing to flash it with, expected one of its tools. {'; '.join(missing)}")
    refusals: dict[str | None, list[str]] = {}
    for each in all_flashers().values():
        refusals.setdefault(each.supports(board, template), []).append(each.name)
    reasons = ", ".join(f"{reason} ({', '.join(tools)})" for reason, tools in refusals.items())
    raise ToolError(
        f"{board.id}: cannot be flashed, got a board {reasons}. Add the table of a tool to the board's file "
        "(docs/how-to/flashing.md), or use an emulator: `aboard run`"
    )


def _named(board: Board, name: str, template: str | None, installed: bool) -> Flasher[Any]:
    flasher = all_flashers().get(name)
    if flasher is None:
        raise ToolError(f"runner {name}: unknown. {did_you_mean(name, all_flashers())}")
    reason = flasher.supports(board, template)
    if reason is not None:
        able = ", ".join(other.name for other in possible(board, template))
        raise ToolError(
            f"runner {name}: cannot flash {board.id}, {reason}, expected a board it can. "
            f"Choose one that flashes this board: {able or 'none'}"
        )
    problem = flasher.missing() if installed else None
    if problem is not None:
        raise ToolError(f"runner {name}: {problem}")
    return flasher

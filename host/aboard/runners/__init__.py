"""Runners: what makes a built image run, and gives the line to it. Each is one module of this package.

A module is a runner's when it defines a class that derives from `Runner` and has a `name`; nothing lists them.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping

from aboard.board import Board
from aboard.errors import ToolError, did_you_mean
from aboard.runners.base import Runner

__all__ = ["Runner", "all_runners", "choose"]


@functools.cache
def all_runners() -> Mapping[str, type[Runner]]:
    """Returns the runners by name, in the order in which they are tried."""
    found: list[type[Runner]] = []
    for module in pkgutil.iter_modules(__path__):
        members = vars(importlib.import_module(f"{__name__}.{module.name}")).values()
        found += [m for m in members if isinstance(m, type) and issubclass(m, Runner) and hasattr(m, "name")]
    ordered = sorted(set(found), key=lambda runner: (runner.order, runner.name))
    return {runner.name: runner for runner in ordered}


def choose(board: Board, name: str | None = None, **options: object) -> Runner:
    """Returns a runner for a board, not started.

    Args:
        board: The board.
        name: Which runner; without it the first that can be the board and is installed.
        options: Further arguments of the runner's class.

    Raises:
        ToolError: The runner is not known, cannot be the board, or is not installed.
    """
    if name is not None:
        return _named(board, name)(board, **options)
    missing: list[str] = []
    for runner in all_runners().values():
        if runner.supports(board) is not None:
            continue
        problem = runner.missing(board)
        if problem is None:
            return runner(board, **options)
        missing.append(f"{runner.name}: {problem}")
    if missing:
        raise ToolError(f"{board.id}: nothing to run it with, expected one of its runners. {'; '.join(missing)}")
    reasons = "; ".join(f"{runner.name}: {runner.supports(board)}" for runner in all_runners().values())
    raise ToolError(f"{board.id}: no runner can be this board, expected one. {reasons}")


def _named(board: Board, name: str) -> type[Runner]:
    runner = all_runners().get(name)
    if runner is None:
        raise ToolError(f"runner {name}: not known, got {name}. {did_you_mean(name, all_runners())}")
    reason = runner.supports(board)
    if reason is not None:
        able = [other.name for other in all_runners().values() if other.supports(board) is None]
        raise ToolError(
            f"runner {name}: cannot be {board.id}, {reason}, expected a board it can be. "
            f"Runners for this board: {', '.join(able) or 'none'}"
        )
    problem = runner.missing(board)
    if problem is not None:
        raise ToolError(f"runner {name}: {problem}")
    return runner

"""Runners: each makes a built image run and opens the line to it. One module of this package per runner.

A class of a module here that derives from `Runner` and has a `name` is a runner; there is no list. Other packages name
their runners in entry points of the group `aboard.runners`. Each flasher is a runner, too: it flashes the board and
connects to it.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping, Sequence

from aboard import flashers
from aboard.base import extensions
from aboard.base.extensions import Extension
from aboard.boards.board import Board
from aboard.errors import ToolError, did_you_mean
from aboard.runners.base import Runner, devices_of, needed
from aboard.runners.flashed import runner_of
from aboard.runners.serial import SerialRunner
from aboard.target import Target

__all__ = ["GROUP", "Runner", "all_runners", "choose", "devices_of", "emulators", "from_packages", "is_real", "needed"]

#: Group of entry points.
GROUP = "aboard.runners"


@functools.cache
def from_packages() -> tuple[Extension, ...]:
    """Returns the runners of other packages, loaded or with the reason why loading failed."""
    return tuple(extensions.load(GROUP, Runner))


@functools.cache
def all_runners() -> Mapping[str, type[Runner]]:
    """Returns the runners by name, in the order in which they are tried; without the flashers."""
    found: list[type[Runner]] = []
    for module in pkgutil.iter_modules(__path__):
        members = vars(importlib.import_module(f"{__name__}.{module.name}")).values()
        found += [m for m in members if isinstance(m, type) and issubclass(m, Runner) and "name" in vars(m)]
    found += [extension.found for extension in from_packages() if extension.found is not None]
    ordered = sorted(set(found), key=lambda runner: (runner.order, runner.name))
    return {runner.name: runner for runner in ordered}


@extensions.blamed()
def choose(
    board: Board,
    name: str | None = None,
    *,
    devices: Sequence[Target] = (),
    device: str | None = None,
    port: str | None = None,
    flash: bool = False,
    **options: object,
) -> Runner:
    """Returns a runner for a board, not started.

    Args:
        board: The board.
        name: Name of a runner or flasher. By default the first installed emulator that supports the board and its
            devices. If no emulator supports the board, the board itself.
        devices: Devices that the image uses in addition to the board's own parts (`devices_of`).
        device: Serial number or serial port of the attached board. Selects the board itself as the runner.
        port: Serial port of the board's RPC, if it is not the probe's.
        flash: Flash the board itself first, if no name is given.
        options: Further arguments of the runner's class.

    Raises:
        ToolError: The runner is unknown, does not support the board, has no model of a device, or is not installed.
    """
    is_meant = device is not None or port is not None
    if name is None and (is_meant or (is_real(board) and not _emulated(board, devices))):
        name = flashers.choose(board).name if flash else SerialRunner.name
    if name is None:
        return _first(board, devices)(board, **options)
    chosen = _named(board, name, devices)
    if issubclass(chosen, SerialRunner):
        return chosen(board, device, port, **options)
    if is_meant:
        raise ToolError(
            f"runner {name}: does not reach attached boards, got --device or --port. Choose a runner that does: "
            f"{', '.join([SerialRunner.name, *(f.name for f in flashers.possible(board))])}"
        )
    return chosen(board, **options)


def is_real(board: Board) -> bool:
    """True for a physical board; False for a machine that exists only in an emulator, or for this machine."""
    return board.flash is not None or bool(board.usb)


def emulators(board: Board) -> list[str]:
    """Returns the names of the runners that emulate a board, installed or not, in the order in which they are tried."""
    return [] if board.is_host else [runner.name for runner in _emulated(board, ())]


def _emulated(board: Board, devices: Sequence[Target]) -> list[type[Runner]]:
    return [runner for runner in all_runners().values() if runner.automatic and _reason(runner, board, devices) is None]


def _first(board: Board, devices: Sequence[Target]) -> type[Runner]:
    missing: list[str] = []
    for runner in _emulated(board, devices):
        problem = runner.missing(board)
        if problem is None:
            return runner
        missing.append(f"{runner.name}: {problem}")
    if missing:
        raise ToolError(f"{board.id}: nothing to run it with, expected one of its runners. {'; '.join(missing)}")
    tried = (runner for runner in all_runners().values() if runner.automatic)
    reasons = ", ".join(f"{_reason(runner, board, devices)} ({runner.name})" for runner in tried)
    raise ToolError(
        f"{board.id}: no runner supports this board, got a board {reasons}. Add an emulator to the board's file "
        "(docs/how-to/adding_a_board.md), or choose another board"
    )


def _reason(runner: type[Runner], board: Board, devices: Sequence[Target]) -> str | None:
    return runner.supports(board) or runner.lacks(devices)


def _named(board: Board, name: str, devices: Sequence[Target]) -> type[Runner]:
    runner = all_runners().get(name)
    if runner is None and name in flashers.all_flashers():
        runner = runner_of(name)
    if runner is None:
        known = [*all_runners(), *flashers.all_flashers()]
        broken = {found.name: found for found in (*from_packages(), *flashers.from_packages()) if found.problem}
        if name in broken:
            found = broken[name]
            raise ToolError(f"runner {name} of {found.source}: {found.problem}")
        raise ToolError(f"runner {name}: unknown. {did_you_mean(name, known)}")
    reason = _reason(runner, board, devices)
    if reason is not None:
        able = [other.name for other in _emulated(board, devices)]
        if is_real(board):
            able += [SerialRunner.name, *(flasher.name for flasher in flashers.possible(board))]
        raise ToolError(
            f"runner {name}: cannot be {board.id}, {reason}, expected a board it can be. "
            f"Choose one for this board: {', '.join(able) or 'none'}"
        )
    problem = runner.missing(board)
    if problem is not None:
        raise ToolError(f"runner {name}: {problem}")
    return runner

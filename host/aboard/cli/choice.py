"""Chooses the runner for the options of a command: one of this machine, or a board of a farm."""

from __future__ import annotations

from collections.abc import Sequence

import click

from aboard import runners
from aboard.boards.board import Board
from aboard.cli.console import Console
from aboard.errors import InputError
from aboard.runners.base import Runner
from aboard.target import Target


def runner(
    board: Board,
    devices: Sequence[Target],
    name: str | None,
    device: str | None,
    port: str | None,
    farm: str | None,
    *,
    flash: bool = False,
) -> Runner:
    """Returns the runner, not started.

    Args:
        board: The board.
        devices: Devices that the image uses in addition to the board's own parts.
        name: `--runner`.
        device: `--device`.
        port: `--port`.
        farm: `--farm`.
        flash: Flash the board itself first, if no name is given.

    Raises:
        InputError: A farm is given, and a part of this machine.
        ToolError: No runner of this machine is suitable.
        ExtraError: The package of farms is not installed.
    """
    if farm is None:
        return runners.choose(board, name, devices=devices, device=device, port=port, flash=flash)
    if name is not None or device is not None or port is not None:
        raise InputError(
            f"{farm}: a farm has its own runners, devices and ports, got one of this machine too. Leave the farm out, "
            "or the runner, the device and the port"
        )
    from aboard.farm import engine
    from aboard.farm.runner import FarmRunner

    engine.require()
    ctx = click.get_current_context(silent=True)
    return FarmRunner(board, farm) if ctx is None else FarmRunner(board, farm, ctx.ensure_object(Console).note)

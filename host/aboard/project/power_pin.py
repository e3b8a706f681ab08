"""The pin that tells a power analyser when a model runs (`-O power_pin=on`, `-O power_pin_layers=on`)."""

from __future__ import annotations

from collections.abc import Mapping

from aboard.boards import registry
from aboard.boards.board import Board
from aboard.errors import BoardError, ProjectError
from aboard.project.templates import OptionValue

_OPTIONS = ("power_pin", "power_pin_layers")


def asked_for(options: Mapping[str, OptionValue]) -> bool:
    """True if an image drives the pin."""
    return any(options.get(name) for name in _OPTIONS)


def prepare(board: Board, options: Mapping[str, OptionValue]) -> Board:
    """Returns the board with the steps that make the pin an output, if an image drives it.

    Raises:
        ProjectError: The file of the board names no pin.
    """
    if not asked_for(options):
        return board
    if board.power_pin is None:
        known = [name for name in registry.names() if _has_pin(name)]
        raise ProjectError(
            f"option power_pin: the board file names no pin, got {board.id}, expected [power_pin] in it. Add the table "
            f"(docs/how-to/measuring_power.md), or take a board that has one: {', '.join(known)}"
        )
    return board.model_copy(update={"setup": (*board.setup, *board.power_pin.setup)})


def _has_pin(name: str) -> bool:
    """True if the file of a board names a pin; False if the file is wrong."""
    try:
        return registry.load(name).power_pin is not None
    except BoardError:
        return False

"""Attributes of a device that the board of its host determines, from `[[accelerators]]` in the file of the SoC.

A board names no device by itself: `vendor/board` is the CPU alone, with or without the packages of its accelerators.
`vendor/board + KIND` takes the attributes of the file.
"""

from __future__ import annotations

from collections.abc import Mapping

from aboard import boards
from aboard.boards.board import Accelerator, Board
from aboard.errors import TargetError
from aboard.target.kind import Kind, Value


def implied(kind: Kind, hardware: str | None) -> dict[str, Value]:
    """Returns the attributes of a device that the board of its host states and that the kind knows.

    Args:
        kind: The kind of the device.
        hardware: The board and core of the host; None if the host is any board.
    """
    found = _accelerator(kind, hardware)
    if found is None:
        return {}
    return {name: value for name, value in found[1].attributes.items() if name in kind.schema}


def check(kind: Kind, attrs: Mapping[str, Value], hardware: str | None, where: str) -> None:
    """Checks that a device is the hardware that the board of its host has.

    Args:
        kind: The kind of the device.
        attrs: All attributes of the device.
        hardware: The board and core of the host; None if the host is any board.
        where: The target, for messages.

    Raises:
        TargetError: An attribute names other hardware than that of the board.
    """
    found = _accelerator(kind, hardware)
    if found is None:
        return
    board, accelerator = found
    for name, value in accelerator.attributes.items():
        attribute = kind.schema.get(name)
        is_fixed = attribute is not None and attribute.identity and name not in accelerator.configurable
        if is_fixed and attrs.get(name) != value:
            raise TargetError(
                f"{where}: -{name} is not that of {board.target}, got {attrs.get(name)}, expected {value}: its "
                f"{kind.name} does not run code for another. Leave -{name} out"
            )


def _accelerator(kind: Kind, hardware: str | None) -> tuple[Board, Accelerator] | None:
    if hardware is None:
        return None
    board = boards.of_hardware(hardware)
    found = board.accelerator(kind.name)
    return None if found is None else (board, found)

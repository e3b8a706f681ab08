"""The runner of a pretended board (`support.pretended_board`) in the process of a test."""

from __future__ import annotations

from pathlib import Path

from typing_extensions import override

from aboard.boards.board import Board
from aboard.device.usb import Connection
from aboard.project.project import Project
from aboard.runners.serial import SerialRunner
from aboard.transports.base import Transport
from support.pretended_board import PretendedBoard


class PretendedRunner(SerialRunner):
    """The runner of a pretended board: each start flashes it, and connects to its serial port."""

    def __init__(self, board: Board, device: str | None = None, port: str | None = None) -> None:
        super().__init__(board, device, port)
        self._pretended: PretendedBoard | None = None

    @override
    def connect(self, project: Project, place: Connection) -> Transport:
        assert self.port is not None
        self._pretended = PretendedBoard(project.image, Path(self.port))
        self._pretended.boot()
        return super().connect(project, place)

    @override
    def stop(self) -> None:
        super().stop()
        if self._pretended is not None:
            self._pretended.vanish()

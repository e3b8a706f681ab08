"""Runners of images that run in a program of this machine: an emulator, or the image itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from typing_extensions import override

from aboard.base.scratch import Scratch
from aboard.boards.board import Board
from aboard.errors import ToolError
from aboard.runners.base import Runner
from aboard.runners.process import Supervised

if TYPE_CHECKING:
    from typing_extensions import Self

#: Kind of the line to an emulator: a socket, or a pseudo-terminal that is opened as a serial port.
Serial = Literal["socket", "pty"]


class ProgramRunner(Runner):
    """Runs images in a program that it starts."""

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self._process: Supervised | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the program; None when it was not started."""
        return self._process.pid if self._process else None

    @override
    def stop(self) -> None:
        if self._process:
            self._process.stop()

    @override
    def alive(self) -> bool:
        return self._process is not None and self._process.alive()

    @override
    def end_reason(self) -> str:
        return self._process.end_reason() if self._process else "it was not started"


class EmulatorRunner(ProgramRunner):
    """Runs images in an emulator with a folder for its line."""

    def __init__(self, board: Board, serial: Serial = "socket") -> None:
        """Prepares it.

        Args:
            board: The board.
            serial: Kind of line.
        """
        super().__init__(board)
        self._serial = serial
        self._scratch: Scratch | None = None

    @override
    def fresh(self) -> Self:
        return type(self)(self.board, self._serial)

    def _unsupported(self) -> ToolError:
        return ToolError(
            f"runner {self.name}: cannot be {self.board.id}, {self.supports(self.board)}. Choose another runner, or "
            "add the emulator to the board's file (docs/how-to/adding_a_board.md)"
        )

    @override
    def stop(self) -> None:
        super().stop()
        if self._scratch:
            self._scratch.close()
            self._scratch = None

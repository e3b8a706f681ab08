"""The board itself over its serial port, with an image that was flashed before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from aboard.boards.board import Board
from aboard.device import flash, usb
from aboard.device.board_lock import BoardLock
from aboard.errors import ToolError
from aboard.runners.base import Runner
from aboard.transports.base import Transport

if TYPE_CHECKING:
    from aboard.project.project import Project


class SerialRunner(Runner):
    """Connects to a board that was flashed before. The session checks that it runs the project's build."""

    name: ClassVar[str] = "serial"
    order: ClassVar[int] = 90
    automatic: ClassVar[bool] = False
    has_devices: ClassVar[bool] = True

    def __init__(self, board: Board, device: str | None = None, port: str | None = None) -> None:
        """Prepares it.

        Args:
            board: The board.
            device: Serial number or serial port, if several devices may be the board.
            port: Serial port of the RPC, if it is not the probe's.
        """
        super().__init__(board)
        self.device = device
        self.port = port
        self._line: Transport | None = None
        self._lock: BoardLock | None = None
        self._is_board = True

    @property
    def real_time(self) -> bool:
        """True, except on a pseudo-terminal: an emulator may be behind it (`aboard debug` opens one)."""
        return self._is_board

    @classmethod
    @override
    def supports(cls, board: Board) -> str | None:
        if board.is_host:
            return "which is a machine of host class"
        return None if board.rpc or board.zephyr else "whose file has no [rpc]"

    @classmethod
    @override
    def missing(cls, board: Board) -> str | None:
        """Needs nothing but the board."""
        return None

    @override
    def fresh(self) -> Runner:
        return type(self)(self.board, self.device, self.port)

    @override
    def start(self, project: Project) -> Transport:
        """Opens the port; see `Runner.start`.

        Raises:
            ToolError: The board is not attached, or several devices may be the board.
            TransportError: Another process, which the message names, holds the board or its port.
        """
        place = self._taken()
        try:
            self._line = self.connect(project, place)
        except BaseException:
            self.stop()
            raise
        return self._line

    def _taken(self) -> usb.Connection:
        """Returns where the board is attached, and locks it until `stop`."""
        self.stop()
        place = usb.find(self.board, self.device)
        self._lock = BoardLock(usb.Connection(place.serial_number, self.port or place.port))
        return place

    def connect(self, project: Project, place: usb.Connection) -> Transport:
        """Opens the serial port of an attached board."""
        port = flash.port_of(project, place, self.port)
        if port is None:
            named = f" with serial number {place.serial_number}" if place.serial_number else ""
            raise ToolError(
                f"{self.board.id}: no serial port, as no attached board{named} has one. Plug the board in, or name "
                "the port of its RPC: --port /dev/ttyUSB0; `aboard devices` lists them"
            )
        self._is_board = not Path(port).resolve().is_relative_to("/dev/pts")
        return flash.open_line(project, port)

    def stop(self) -> None:
        """Closes the port. The board keeps running."""
        if self._line is not None:
            self._line.close()
            self._line = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def alive(self) -> bool:
        """True while the port is open. Only the board's replies show whether it runs."""
        return self._line is not None

    @override
    def end_reason(self) -> str:
        return "" if self.alive() else "it was not started"

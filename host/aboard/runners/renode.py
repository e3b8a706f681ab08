"""Runs the image in Renode. Renode is not a pip or apt package: the user installs one of its releases.

Renode executes the project's script `renode/board.resc`. The command line adds the image and the serial line.
"""

from __future__ import annotations

import os
import re
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from aboard.base import programs
from aboard.base.scratch import Scratch
from aboard.boards.board import Board, Renode
from aboard.errors import ToolError, TransportError
from aboard.runners.base import require_image, scaled
from aboard.runners.process import Supervised
from aboard.runners.program import EmulatorRunner, Serial
from aboard.transports.base import Transport
from aboard.transports.paced import PacedTransport
from aboard.transports.serial import SerialTransport
from aboard.transports.tcp import SocketTransport

if TYPE_CHECKING:
    from aboard.project.project import Project

#: The script in a project.
SCRIPT = "renode/board.resc"
_START_TIMEOUT_S = 90.0
_TRY_S = 0.2
# Messages of Renode's monitor if a line of a script fails. The monitor then waits for commands.
_FAILED = re.compile(
    r"^.*(?:There was an error executing|Could not (?:tokenize|find)|No such (?:command|variable)).*", re.M
)
_ERRORS = re.compile(r"^.*\[ERROR\].*$", re.MULTILINE)


def monitor_path(path: Path | str) -> str:
    """Returns a path quoted for Renode's monitor."""
    return "@" + str(path).replace(" ", "\\ ")


def command(program: str, script: str, image: str, port: int, log: str, further: tuple[str, ...] = ()) -> list[str]:
    """Returns Renode's command line: its monitor on standard input and output, no window.

    Args:
        program: Renode's program.
        script: The script to execute.
        image: The ELF file.
        port: TCP port for the serial line.
        log: File for Renode's log. A log on standard output would block Renode once nobody reads it.
        further: Commands between the script and the start of the emulation.
    """
    lines = [
        f"logFile {monitor_path(log)} true",
        f"$elf={monitor_path(image)}",
        f"$port={port}",
        f"include {monitor_path(script)}",
        *further,
        "start",
    ]
    options = ["--console", "--disable-xwt", "--plain", "--hide-log"]
    return [program, *options, *(word for line in lines for word in ("-e", line))]


class RenodeRunner(EmulatorRunner):
    """Runs images on boards that Renode emulates."""

    name: ClassVar[str] = "renode"
    order: ClassVar[int] = 30

    def __init__(self, board: Board, serial: Serial = "socket") -> None:
        super().__init__(board, serial)
        self._folder: Path | None = None
        self._said = ""

    @classmethod
    @override
    def supports(cls, board: Board) -> str | None:
        return None if board.emulator.renode else "whose file has no [emulator.renode]"

    @classmethod
    @override
    def missing(cls, board: Board) -> str | None:
        program = programs.find_renode()
        if program is None:
            named = os.environ.get(programs.RENODE_PATH)
            place = f"at {named}" if named else "on PATH"
            return f"renode is not {place}, expected Renode. To get it: {programs.RENODE_SOURCE}"
        return programs.renode_problem(program)

    @override
    def start(self, project: Project) -> Transport:
        self.stop()
        renode = self.board.emulator.renode
        if renode is None:
            raise self._unsupported()
        image, script = require_image(project), project.path / SCRIPT
        if not script.is_file():
            raise ToolError(f"{script}: missing, expected the script that Renode executes. Make the project again")
        program, missing = programs.find_renode(), self.missing(self.board)
        if program is None or missing is not None:
            raise ToolError(f"runner renode: {missing}")
        self._scratch = Scratch()
        self._folder = self._scratch.path
        port, pty = _free_port(), self._folder / "rpc"
        further = _pty_commands(pty, renode) if self._serial == "pty" else ()
        words = command(str(program), str(script), image, port, str(self._folder / "log"), further)
        self._process = Supervised("Renode", words, cwd=self._folder, farewell="quit")
        try:
            line = self._open_pty(pty) if self._serial == "pty" else self._open_socket(port)
        except BaseException:
            self.stop()
            raise
        return PacedTransport(line, renode.receive_bytes_per_second) if renode.receive_bytes_per_second else line

    def _open_socket(self, port: int) -> Transport:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while True:
            try:
                return SocketTransport.tcp("127.0.0.1", port, timeout_s=_TRY_S)
            except TransportError:
                self._check_start(deadline)

    def _open_pty(self, path: Path) -> Transport:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not path.exists():
            self._check_start(deadline)
            time.sleep(_TRY_S)
        return SerialTransport(path.resolve())

    def _check_start(self, deadline: float) -> None:
        """Raises ToolError if Renode has ended, reports an error in the script, or takes too long."""
        process = self._process
        if process is None:
            raise ToolError("runner renode: was stopped while it started. Start it again")
        self._said = (self._said + process.seen())[-4000:] if process.alive() else self._said
        failed = _FAILED.search(self._said)
        if failed is None and process.alive() and time.monotonic() < deadline:
            return
        got = " ".join(self._said[failed.start() :].split()) if failed else process.end_reason() or "no serial line"
        raise ToolError(
            f"Renode: did not start, got {got}, expected a serial line. Try the script by hand: renode {SCRIPT}"
        )

    @override
    def stop(self) -> None:
        if self._process:
            self._process.stop()  # its log is complete then
        if self._scratch:
            self._said, self._folder = self._errors(), None
        super().stop()

    @override
    def end_reason(self) -> str:
        reason = super().end_reason()
        errors = self._errors() if self._folder else self._said
        return f"{reason}; its log: {errors}" if reason and errors else reason

    def _errors(self) -> str:
        """Returns the last errors of Renode's log, joined to one line."""
        log = self._folder / "log" if self._folder else None
        if log is None or not log.is_file():
            return ""
        return " / ".join(_ERRORS.findall(log.read_text(encoding="utf-8", errors="replace"))[-2:])

    def instructions(self, ticks: int, tick_hz: int) -> int | None:
        """Returns the instructions in a number of ticks, exact to one tick."""
        renode = self.board.emulator.renode
        return scaled(ticks, tick_hz, renode.instructions_per_second) if renode else None


def _pty_commands(path: Path, renode: Renode) -> tuple[str, ...]:
    create = f'emulation CreateUartPtyTerminal "pty" "{path}" true'
    return create, f"connector Connect sysbus.{renode.uart} pty"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

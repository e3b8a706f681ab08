"""Runs the image in QEMU at one instruction a virtual nanosecond, so that ticks give exact instruction counts."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from aboard.base import programs
from aboard.base.scratch import Scratch
from aboard.boards.board import Board, Qemu
from aboard.cycles import histogram, plugin
from aboard.cycles.histogram import CountedRun
from aboard.errors import ToolError
from aboard.runners.base import require_image, scaled
from aboard.runners.process import Supervised
from aboard.runners.program import EmulatorRunner, Serial
from aboard.transports.base import Transport
from aboard.transports.serial import SerialTransport
from aboard.transports.tcp import SocketTransport

if TYPE_CHECKING:
    from aboard.project.project import Project

_LOG = logging.getLogger(__name__)
#: Debian package of each program.
PACKAGES = {"qemu-system-arm": "qemu-system-arm", "qemu-system-riscv32": "qemu-system-misc"}
_START_TIMEOUT_S = 20.0
_POLL_S = 0.01
# The longest path of a local socket, on Linux and macOS.
_SOCKET_PATH_LIMIT = 100
_PTY = re.compile(r"redirected to (/dev/\S+)")


def command(program: str, emulator: Qemu, image: str, chardev: str, further: Sequence[str] = ()) -> list[str]:
    """Returns QEMU's command line.

    Args:
        program: QEMU's program.
        emulator: QEMU's settings in the board's file.
        image: The ELF file.
        chardev: Backend of the serial line, such as `pty`.
        further: Further arguments.
    """
    # Serial ports before the RPC's stay unconnected. The line is not multiplexed, so that the guest can send 0x01.
    silent = [argument for _ in range(emulator.serial) for argument in ("-serial", "null")]
    return [
        program,
        "-machine",
        emulator.machine,
        *(("-cpu", emulator.cpu) if emulator.cpu else ()),
        *emulator.arguments,
        *further,
        "-icount",
        "shift=0",
        "-display",
        "none",
        "-monitor",
        "none",
        "-chardev",
        f"{chardev},id=rpc",
        *silent,
        "-serial",
        "chardev:rpc",
        "-kernel",
        image,
    ]


class QemuRunner(EmulatorRunner):
    """Runs images on boards that QEMU emulates."""

    name: ClassVar[str] = "qemu"
    order: ClassVar[int] = 10
    debugs: ClassVar[bool] = True

    def __init__(self, board: Board, serial: Serial = "socket") -> None:
        super().__init__(board, serial)
        self._is_counting = False
        # What the plugin writes; None if QEMU runs without it.
        self._counts: Path | None = None

    @classmethod
    @override
    def supports(cls, board: Board) -> str | None:
        return None if board.emulator.qemu else "whose file has no [emulator.qemu]"

    @classmethod
    @override
    def missing(cls, board: Board) -> str | None:
        program = board.emulator.qemu.program if board.emulator.qemu else "qemu-system-arm"
        if programs.find(program):
            return None
        return f"{program} is not on PATH, expected QEMU. To get it: apt install {PACKAGES[program]}"

    def version(self) -> str | None:
        """Returns QEMU's version."""
        emulator = self.board.emulator.qemu
        program = None if emulator is None else programs.find(emulator.program)
        return None if program is None else programs.version(program)

    @override
    def start(self, project: Project) -> Transport:
        self.stop()
        emulator = self.board.emulator.qemu
        if emulator is None:
            raise self._unsupported()
        image = require_image(project)
        program = programs.require(emulator.program, f"To get it: apt install {PACKAGES[emulator.program]}")
        self._scratch = _short_scratch()
        socket = self._scratch.path / "rpc"
        backend = "pty" if self._serial == "pty" else f"socket,path={socket},server=on,wait=on"
        counting = self._counting(program, project.image) if self._is_counting else []
        self._process = Supervised("QEMU", command(str(program), emulator, image, backend, counting))
        try:
            return self._pty() if self._serial == "pty" else self._socket(socket)
        except BaseException:
            self.stop()
            raise

    @override
    def count_instructions(self) -> None:
        self._is_counting = True

    @override
    def counted(self) -> list[CountedRun]:
        if self._counts is None or not self._counts.is_file():
            return []
        return histogram.parse(self._counts.read_text(encoding="ascii"))

    def _counting(self, program: Path, image: Path) -> list[str]:
        """Returns the arguments that load the plugin; none if it cannot be built or loaded, or not for this image."""
        folder = self._scratch.path if self._scratch else None
        if folder is None:
            return []
        try:
            places = [*histogram.arguments(image), *histogram.fetch_arguments(self.board)]
            library = plugin.build(folder, program)
        except (ToolError, OSError, subprocess.SubprocessError) as error:
            _LOG.info("instructions are not counted one by one: %s", error)
            return []
        self._counts = folder / "counts"
        return ["-plugin", plugin.argument(library, self._counts, places)]

    @override
    def gdb_server(self, project: Project, port: int) -> list[str] | None:
        emulator = self.board.emulator.qemu
        if emulator is None:
            return None
        program = programs.require(emulator.program, f"To get it: apt install {PACKAGES[emulator.program]}")
        return [*command(str(program), emulator, require_image(project), "pty"), "-S", "-gdb", f"tcp:127.0.0.1:{port}"]

    @classmethod
    @override
    def announced(cls, said: str) -> str | None:
        found = _PTY.search(said)
        return found.group(1) if found else None

    def _socket(self, path: Path) -> Transport:
        self._until(path.exists)
        return SocketTransport.unix(path)

    def _pty(self) -> Transport:
        def named() -> str | None:
            # QEMU's version decides which stream it prints to.
            return self.announced(f"{self._process.last_words()}\n{self._process.seen()}") if self._process else None

        self._until(lambda: named() is not None)
        return SerialTransport(named() or "")

    def _until(self, ready: Callable[[], bool]) -> None:
        process = self._process
        deadline = time.monotonic() + _START_TIMEOUT_S
        while process is not None and not ready():
            if not process.alive() or time.monotonic() > deadline:
                process.stop()
                raise ToolError(
                    f"QEMU: did not start, got {process.end_reason() or 'no sign of life'}, expected a serial line. "
                    "Try the command by hand, or another runner"
                )
            time.sleep(_POLL_S)

    @override
    def stop(self) -> None:
        super().stop()
        self._counts = None

    def instructions(self, ticks: int, tick_hz: int) -> int | None:
        """Returns the instructions in a number of ticks, exact to one tick."""
        emulator = self.board.emulator.qemu
        return scaled(ticks, tick_hz, emulator.instructions_per_second) if emulator else None


def _short_scratch() -> Scratch:
    """Returns a temporary folder whose path leaves room for the name of a socket."""
    found = Scratch()
    if len(os.fsencode(found.path)) < _SOCKET_PATH_LIMIT:
        return found
    found.close()
    return Scratch(within=Path("/tmp"))  # noqa: S108 - made there by mkdtemp

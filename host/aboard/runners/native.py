"""Runs the image as a process of this machine; the line is its pseudo-terminal, opened as a serial port.

The image prints the pseudo-terminal's path: our own port on a line of its own, Zephyr's native_sim at a line's end.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from aboard.boards import cpu as cpus
from aboard.boards.board import Board
from aboard.errors import ToolError
from aboard.runners.base import require_image
from aboard.runners.process import Supervised
from aboard.runners.program import ProgramRunner
from aboard.transports.base import Transport
from aboard.transports.serial import SerialTransport

if TYPE_CHECKING:
    from aboard.project.project import Project

_START_TIMEOUT_S = 10.0
_TERMINAL = re.compile(r"/dev/\S+$")


class NativeRunner(ProgramRunner):
    """Runs images for this machine."""

    name: ClassVar[str] = "native"
    order: ClassVar[int] = 0

    @property
    def real_time(self) -> bool:
        """True: the counter is this machine's clock."""
        return True

    @classmethod
    @override
    def supports(cls, board: Board) -> str | None:
        if not board.is_host:
            return "which is not a machine of host class"
        core = cpus.find(board.core().mcpu)
        return None if core.runs_here else f"whose {core.name} this machine does not execute"

    @classmethod
    @override
    def missing(cls, board: Board) -> str | None:
        """Needs nothing."""
        return None

    @override
    def start(self, project: Project) -> Transport:
        self.stop()
        self._process = Supervised("the firmware", [require_image(project)])
        path = _terminal(self._process)
        if path is None:
            self._process.stop()
            raise ToolError(
                f"{project.image}: did not start, got {self._process.end_reason()}, expected the path of its "
                "pseudo-terminal. Build the project again"
            )
        try:
            return SerialTransport(path)
        except BaseException:
            self.stop()
            raise


def _terminal(process: Supervised) -> str | None:
    """Returns the pseudo-terminal that a process prints; None if it prints none in time."""
    deadline = time.monotonic() + _START_TIMEOUT_S
    while (line := process.line(deadline - time.monotonic())) is not None:
        found = _TERMINAL.search(line)
        if found is not None:
            return found.group()
    return None

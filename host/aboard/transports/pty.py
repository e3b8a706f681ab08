"""A pair of pseudo-terminals: one end for a process, the other end is opened like a real serial port."""

from __future__ import annotations

import os
import sys

from aboard.base import platforms
from aboard.transports.serial import SerialTransport


class Pty:
    """A new pair of pseudo-terminals, both in raw mode from the start so that no byte is changed or echoed.

    Attributes:
        path: The terminal, for the host (`SerialTransport`) or for a process that opens its port by name.
        controller: Descriptor of the other end, for a process to inherit or for a `PipeTransport`.
    """

    def __init__(self) -> None:
        """Makes the pair.

        Raises:
            ToolError: This system has no pseudo-terminals.
        """
        if sys.platform == "win32":
            raise platforms.refusal("pseudo-terminals")
        import tty

        self.controller, self._terminal = os.openpty()
        tty.setraw(self.controller)
        tty.setraw(self._terminal)
        self.path = os.ttyname(self._terminal)

    def connect(self, baud: int = 115200) -> SerialTransport:
        """Opens the terminal as a serial port. As with a real port, bytes sent before are dropped.

        Closes the pair's own handle of the terminal, so that the port fails when the other end is closed.
        """
        transport = SerialTransport(self.path, baud)
        self._close_terminal()
        return transport

    def release(self) -> int:
        """Hands the controller's descriptor over to the caller, who closes it."""
        fd, self.controller = self.controller, -1
        return fd

    def close(self) -> None:
        """Closes the handles that are still open. A second call does nothing."""
        self._close_terminal()
        if self.controller >= 0:
            os.close(self.release())

    def _close_terminal(self) -> None:
        if self._terminal >= 0:
            os.close(self._terminal)
            self._terminal = -1

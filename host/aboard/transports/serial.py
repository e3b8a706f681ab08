"""Serial ports, and ptys, through pyserial. A port is opened for this process alone."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

import serial

from aboard.errors import TransportError
from aboard.transports.base import WRITE_TIMEOUT_S, Transport

_SLICE_S = 0.05
_BITS_PER_BYTE = 10


class SerialTransport(Transport):
    """Bytes over a serial port: 8 data bits, no parity, one stop bit."""

    def __init__(self, port: str | os.PathLike[str], baud: int = 115200, *, rtscts: bool = False) -> None:
        """Opens the port.

        Args:
            port: Its path, such as `/dev/ttyACM0`.
            baud: Bits a second.
            rtscts: Whether RTS and CTS are wired and used.

        Raises:
            TransportError: There is no such port, it may not be opened, or somebody else has it (who is named).
        """
        path = os.fspath(port)
        self.name = f"{path} at {baud} baud"
        self.bytes_per_second = baud / _BITS_PER_BYTE
        try:
            # A short timeout of the port and a loop here: to change it later would set the whole port up again.
            self._port: serial.Serial | None = serial.Serial(
                path, baud, timeout=_SLICE_S, write_timeout=WRITE_TIMEOUT_S, exclusive=True, rtscts=rtscts
            )
        except (serial.SerialException, OSError, ValueError) as error:
            raise _open_error(path, baud, error) from error

    def read(self, timeout_s: float) -> bytes:
        """Waits for bytes; see `Transport.read`."""
        port = self._opened()
        deadline = time.monotonic() + timeout_s
        try:
            while True:
                waiting = port.in_waiting
                if waiting or time.monotonic() < deadline:
                    data = bytes(port.read(waiting or 1))
                    if data:
                        return data + bytes(port.read(port.in_waiting))
                if time.monotonic() >= deadline:
                    return b""
        except (OSError, TypeError) as error:
            # TypeError: what pyserial does when the port is closed while it reads.
            raise self._gone(error) from error

    def write(self, data: bytes) -> None:
        """Sends all bytes; see `Transport.write`."""
        port = self._opened()
        try:
            port.write(data)
        except serial.SerialTimeoutException as error:
            raise TransportError(
                f"{self.name}: the port takes no bytes, got none sent for {WRITE_TIMEOUT_S:g} s. "
                "Check flow control and cable"
            ) from error
        except OSError as error:
            raise self._gone(error) from error

    def close(self) -> None:
        """Closes the port."""
        if self._port is None:
            return
        port, self._port = self._port, None
        port.close()

    def _opened(self) -> serial.Serial:
        if self._port is None:
            raise TransportError(f"{self.name}: the line is closed. Open a new session")
        return self._port

    def _gone(self, error: Exception) -> TransportError:
        return TransportError(
            f"{self.name}: the port is gone, got {error}, expected an open port. "
            "The board was unplugged or the emulator has stopped; open a new session"
        )


def _open_error(path: str, baud: int, error: Exception) -> TransportError:
    number = getattr(error, "errno", None)
    if isinstance(error, ValueError):
        return TransportError(f"{path}: the port cannot be set up, got baud rate {baud}: {error}. Use another rate")
    if number in (errno.EAGAIN, errno.EBUSY):
        holders = ", ".join(port_holders(path)) or "a process that may not be seen by this user"
        return TransportError(f"{path}: the port is busy, held by {holders}. Close it there, or choose another port")
    if number == errno.ENOENT:
        return TransportError(f"{path}: there is no such port. Plug the board in, or look for its name in /dev")
    if number == errno.EACCES:
        return TransportError(
            f"{path}: the port may not be opened, got {os.strerror(errno.EACCES)}. "
            "Add yourself to the port's group (often dialout)"
        )
    return TransportError(f"{path}: the port cannot be opened, got {error}, expected a serial port")


def port_holders(path: str) -> Iterator[str]:
    """Yields `name (pid n)` for each process that has the port open, as far as this user may see; Linux only."""
    wanted = os.path.realpath(path)
    for process in sorted(Path("/proc").glob("[0-9]*"), key=lambda p: int(p.name)):
        try:
            opened = any(os.path.realpath(fd) == wanted for fd in (process / "fd").iterdir())
            name = (process / "comm").read_text(encoding="utf-8").strip()
        except OSError:
            continue
        if opened:
            own = ", this process" if int(process.name) == os.getpid() else ""
            yield f"{name} (pid {process.name}{own})"

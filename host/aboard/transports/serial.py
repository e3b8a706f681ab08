"""Serial ports and ptys, through pyserial. Ports are opened for exclusive use."""

from __future__ import annotations

import errno
import os
import select
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import serial
from serial.tools import list_ports
from typing_extensions import override

from aboard.errors import TransportError
from aboard.transports.base import WRITE_TIMEOUT_S, Transport

_SLICE_S = 0.05
_BITS_PER_BYTE = 10
_RETRY_S = 0.05
_POLL_S = 0.001
#: Two UARTs tolerate a rate difference of about 5 %. The other side uses a part of that for its own error.
_RATE_TOLERANCE = 0.025
# <asm-generic/termbits.h>: four words of flags, the line discipline, 19 control characters, two rates.
_TCGETS2 = 0x802C542A
_TERMIOS2 = struct.Struct("=4IB19s2I")


class SerialTransport(Transport):
    """Bytes over a serial port: 8 data bits, no parity, one stop bit."""

    reopens = True

    def __init__(
        self,
        port: str | os.PathLike[str],
        baud: int = 115200,
        *,
        rtscts: bool = False,
        dtr: bool = True,
        rts: bool = True,
    ) -> None:
        """Opens the port.

        Args:
            port: Its path, such as `/dev/ttyACM0`.
            baud: Bits a second, up to the adapter's limit, often 3,000,000. Native USB ignores the rate.
            rtscts: Whether RTS and CTS are wired and used.
            dtr: Level of DTR. Devices with native USB send nothing before DTR is on; on some boards it is wired to
                reset.
            rts: Level of RTS where it is not used for flow control; on some boards it selects the boot loader.

        Raises:
            TransportError: There is no such port, the user may not open it, another process (which the message names)
                holds it, or it cannot run at this rate.
        """
        self._path = os.fspath(port)
        self._baud = baud
        self._lines = (rtscts, dtr, rts)
        self.name = f"{self._path} at {baud} baud"
        self.bytes_per_second = baud / _BITS_PER_BYTE
        self._usb = UsbPort.of(self._path)
        self._port: serial.Serial | None = self._open(self._path)

    def _open(self, path: str) -> serial.Serial:
        rtscts, dtr, rts = self._lines
        try:
            port = serial.Serial(
                None, self._baud, timeout=_SLICE_S, write_timeout=WRITE_TIMEOUT_S, exclusive=True, rtscts=rtscts
            )
            # Set before opening, so that the levels do not reset the board.
            port.dtr = dtr
            if not rtscts:
                port.rts = rts
            port.port = path
            port.open()
        except (serial.SerialException, OSError, ValueError) as error:
            raise _open_error(path, self._baud, error) from error
        actual = line_rate(port)
        if actual is not None and abs(actual - self._baud) > _RATE_TOLERANCE * self._baud:
            port.close()
            raise TransportError(
                f"{path}: the port cannot run at this rate, got {actual} baud, expected {self._baud}. "
                "Use a rate that it has, or another adapter"
            )
        return port

    @override
    def reopen(self, timeout_s: float) -> None:
        """Opens the port again, under its new name if the USB device has another one now; see `Transport.reopen`."""
        self.close()
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                path = self._usb.find() if self._usb else self._path
                if path is not None:
                    self._port = self._open(path)
                    return
            except TransportError:
                if time.monotonic() >= deadline:
                    raise
            if time.monotonic() >= deadline:
                raise TransportError(
                    f"{self.name}: the board is not back, got no port of it for {timeout_s:g} s. Plug it in again"
                )
            time.sleep(_RETRY_S)

    @override
    def read(self, timeout_s: float) -> bytes:
        port = self._opened()
        try:
            if not _wait(port, max(0.0, timeout_s)):
                return b""
            # A port that is gone counts as readable, and the read fails.
            return bytes(port.read(port.in_waiting or 1))
        except (OSError, TypeError, ValueError) as error:
            # TypeError, ValueError: raised if the port is closed during the read.
            raise self._gone(error) from error

    @override
    def write(self, data: bytes) -> None:
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
            "The board was unplugged or has restarted, or the emulator has stopped; open it again"
        )


@dataclass(frozen=True)
class UsbPort:
    """The identity of a USB device's serial port, which stays the same when the port's name changes."""

    vid: int
    pid: int
    serial_number: str | None
    interface: str | None

    @classmethod
    def of(cls, path: str) -> UsbPort | None:
        """Returns the identity of a port; None unless it belongs to a USB device."""
        return cls._ports().get(os.path.realpath(path))

    def find(self) -> str | None:
        """Returns the current name of the port; None while it is not attached."""
        return next((path for path, port in self._ports().items() if port == self), None)

    @classmethod
    def _ports(cls) -> dict[str, UsbPort]:
        return {
            info.device: cls(info.vid, info.pid, info.serial_number, info.interface)
            for info in list_ports.comports()
            if info.vid is not None and info.pid is not None
        }


def _wait(port: serial.Serial, timeout_s: float) -> bool:
    """Waits for bytes; False if none came in time. A port that is gone counts as readable."""
    if sys.platform != "win32":
        # Setting pyserial's timeout would configure the whole port again.
        return bool(select.select([port.fileno()], [], [], timeout_s)[0])
    # Windows selects sockets only.
    deadline = time.monotonic() + timeout_s
    while not port.in_waiting:
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_S)
    return True


def line_rate(port: serial.Serial) -> int | None:
    """Returns the actual rate of a port, which its driver may have rounded; None if it is unknown."""
    if sys.platform != "linux":
        return None
    import fcntl

    settings = bytearray(_TERMIOS2.size)
    try:
        fcntl.ioctl(port.fileno(), _TCGETS2, settings)
    except OSError:
        return None
    return int(_TERMIOS2.unpack(settings)[-1])


def _open_error(path: str, baud: int, error: Exception) -> TransportError:
    number = getattr(error, "errno", None)
    if isinstance(error, ValueError):
        return TransportError(f"{path}: the port cannot be set up, got baud rate {baud}: {error}. Use another rate")
    if number in (errno.EAGAIN, errno.EBUSY):
        holders = ", ".join(port_holders(path)) or "a process that may not be seen by this user"
        return TransportError(f"{path}: the port is busy, held by {holders}. Close it there, or choose another port")
    if number == errno.ENOENT:
        return TransportError(f"{path}: no such port. Plug the board in, or look for its name in /dev")
    if number == errno.EACCES:
        return TransportError(
            f"{path}: the port may not be opened, got {os.strerror(errno.EACCES)}. "
            "Add yourself to the port's group (often dialout)"
        )
    return TransportError(
        f"{path}: the port cannot be opened, got {error}, expected a serial port. Check its name and its adapter"
    )


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

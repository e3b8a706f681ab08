"""The lock of an attached board: one process at a time flashes it and talks to it.

The lock is an advisory lock (`flock`) on a file that is named after the board's debug probe, else after its serial
port. The system frees it when its process ends, and not before: also a process that is stopped keeps its board. A
process may take a lock several times. Programs that know nothing of aboard are kept away by the lock of the port
itself, as long as it is open (`transports.serial`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aboard.base import file_lock
from aboard.device.usb import Connection
from aboard.errors import TransportError

_FOLDERS = (Path("/run/lock"), Path("/var/lock"))
_NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
_LONGEST = 200
_TERMINALS = "/dev/pts/"
#: Name of this program in the messages of others.
HOLDER = "aboard"
# All users share the file, so that a board that one of them uses is busy for all.
_MODE = 0o666


@dataclass
class _Held:
    fd: int
    count: int


_held: dict[Path, _Held] = {}
_guard = threading.Lock()


class BoardLock:
    """A board that this process has for itself, until `release` or its end."""

    def __init__(self, place: Connection) -> None:
        """Takes the lock.

        Args:
            place: Where the board is attached, by the serial number of its probe or by its port.

        Raises:
            TransportError: Another process has the board; the message names the process.
        """
        self._path = _file(place)
        if self._path is None:
            return
        with _guard:
            known = _held.get(self._path)
            if known is None:
                known = _held[self._path] = _Held(_locked(self._path, _name(place)), 0)
            known.count += 1

    def release(self) -> None:
        """Gives the board back, once each holder in this process has. A second call does nothing."""
        path, self._path = self._path, None
        with _guard:
            known = _held.get(path) if path is not None else None
            if known is None or path is None:
                return
            known.count -= 1
            if known.count == 0:
                os.close(_held.pop(path).fd)


@contextlib.contextmanager
def locked(place: Connection) -> Iterator[None]:
    """Has a board for this process while the context lasts; errors as for `BoardLock`."""
    lock = BoardLock(place)
    try:
        yield
    finally:
        lock.release()


def _name(place: Connection) -> str:
    return place.serial_number or _port(place.port or "")


def _port(path: str) -> str:
    """Returns the name by which a serial port is locked: that of the device, whatever links lead to it.

    A link to a pseudo-terminal counts itself: once an emulator ends, the system gives the terminal's number to the next
    that opens one, whoever that is.
    """
    device = os.path.realpath(path)
    return str(Path(path).absolute()) if device.startswith(_TERMINALS) else device


def _file(place: Connection) -> Path | None:
    """Returns the file to lock; None for a board of which neither probe nor port is known."""
    if place.serial_number is None and place.port is None:
        return None
    key = place.serial_number.lstrip("0").lower() if place.serial_number else _port(place.port or "")
    folder = next((f for f in _FOLDERS if os.access(f, os.W_OK)), Path(tempfile.gettempdir()))
    return folder / f"aboard-board-{hashlib.sha256(key.encode()).hexdigest()[:16]}.lock"


def _locked(path: Path, name: str) -> int:
    fd = _opened(path)
    if file_lock.take(fd) is False:
        holder = os.read(fd, _LONGEST).decode(errors="replace").strip() or "another process"
        os.close(fd)
        raise TransportError(
            f"{name}: the board is busy, held by {holder}. Wait for it, end that process, or choose another board"
        )
    os.ftruncate(fd, 0)
    os.write(fd, f"{HOLDER} (pid {os.getpid()})".encode())
    return fd


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | _NO_FOLLOW)
    except FileNotFoundError:
        # Two processes may make it at once: both open the same file then.
        fd = os.open(path, os.O_RDWR | os.O_CREAT | _NO_FOLLOW, _MODE)
        with contextlib.suppress(OSError):
            path.chmod(_MODE)  # the mask of the process took rights away
        return fd
    except OSError as error:
        raise TransportError(
            f"{path}: the lock of the board cannot be opened, got {error.strerror}, expected a file of all users. "
            "Remove it, or give yourself the right to write it"
        ) from error

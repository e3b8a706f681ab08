"""A line made of file descriptors: the standard input and output of a process, a pipe, the controlling end of a pty."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time

from typing_extensions import override

from aboard.base import platforms
from aboard.errors import TransportError
from aboard.transports.base import WRITE_TIMEOUT_S, Transport

_CHUNK = 65536


class PipeTransport(Transport):
    """Reads from one descriptor and writes to another, or to the same. It owns both and closes them."""

    is_lossless = True

    def __init__(self, read_fd: int, write_fd: int, name: str) -> None:
        """Takes ownership of the descriptors and makes them non-blocking.

        Raises:
            ToolError: This system has no pipes that can be waited for.
        """
        if sys.platform == "win32":
            raise platforms.refusal("pipes to processes")
        self.name = name
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._closed = False
        for fd in (read_fd, write_fd):
            os.set_blocking(fd, False)

    @classmethod
    def of_process(cls, process: subprocess.Popen[bytes], name: str) -> PipeTransport:
        """Talks to a process that was started with `stdin=PIPE, stdout=PIPE`. The caller ends the process.

        Raises:
            TransportError: The process has no pipes.
        """
        if process.stdin is None or process.stdout is None:
            raise TransportError(
                f"{name}: no pipes, got a process without them, expected stdin=PIPE and stdout=PIPE. Start it with both"
            )
        read_fd, write_fd = os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno())
        process.stdout.close()
        process.stdin.close()
        return cls(read_fd, write_fd, name)

    @override
    def read(self, timeout_s: float) -> bytes:
        self._check_open()
        if not self._wait(self._read_fd, select.POLLIN, timeout_s):
            return b""
        try:
            data = os.read(self._read_fd, _CHUNK)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise self._gone(error) from error
        if not data:
            raise self._gone(None)
        return data

    @override
    def write(self, data: bytes) -> None:
        self._check_open()
        rest = memoryview(data)
        deadline = time.monotonic() + WRITE_TIMEOUT_S
        while rest:
            if not self._wait(self._write_fd, select.POLLOUT, deadline - time.monotonic()):
                raise TransportError(
                    f"{self.name}: the other side takes no bytes, got {len(rest)} of {len(data)} left after "
                    f"{WRITE_TIMEOUT_S:g} s. Restart the device"
                )
            try:
                rest = rest[os.write(self._write_fd, rest) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise self._gone(error) from error

    def close(self) -> None:
        """Closes the descriptors."""
        if self._closed:
            return
        self._closed = True
        for fd in {self._read_fd, self._write_fd}:
            os.close(fd)

    @staticmethod
    def _wait(fd: int, event: int, timeout_s: float) -> bool:
        poll = select.poll()
        poll.register(fd, event)
        return bool(poll.poll(max(0.0, timeout_s) * 1000))

    def _check_open(self) -> None:
        if self._closed:
            raise TransportError(f"{self.name}: the line is closed. Open a new session")

    def _gone(self, error: OSError | None) -> TransportError:
        what = error.strerror if error is not None else "end of file"
        return TransportError(
            f"{self.name}: the other end is gone, got {what!r}, expected an open line. "
            "The emulator or device has stopped; open a new session"
        )

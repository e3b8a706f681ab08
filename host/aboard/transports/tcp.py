"""Sockets: TCP and local (unix) ones, as emulators offer them for their UART."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable

from aboard.base import platforms
from aboard.errors import TransportError
from aboard.transports.pipe import PipeTransport

_RETRY_S = 0.02


class SocketTransport(PipeTransport):
    """Bytes over a connected stream socket."""

    def __init__(self, connection: socket.socket, name: str) -> None:
        """Takes ownership of the socket."""
        fd = os.dup(connection.fileno())
        connection.close()
        super().__init__(fd, fd, name)

    @classmethod
    def tcp(cls, host: str, port: int, timeout_s: float = 5.0) -> SocketTransport:
        """Connects to a TCP port. Retries for `timeout_s` seconds, because an emulator may still be starting.

        Raises:
            TransportError: Nobody listens there.
        """

        def connect() -> socket.socket:
            connection = socket.create_connection((host, port), timeout=timeout_s)
            # A request is one small packet: Nagle's algorithm would delay each by 40 ms.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection

        return cls._connect(connect, f"tcp {host}:{port}", timeout_s)

    @classmethod
    def unix(cls, path: str | os.PathLike[str], timeout_s: float = 5.0) -> SocketTransport:
        """Connects to a local socket. Retries for `timeout_s` seconds.

        Raises:
            TransportError: Nobody listens there.
            ToolError: This system has no local sockets.
        """
        if sys.platform == "win32":
            raise platforms.refusal("local sockets")

        def connect() -> socket.socket:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(os.fspath(path))
            except OSError:
                connection.close()
                raise
            return connection

        return cls._connect(connect, f"socket {os.fspath(path)}", timeout_s)

    @classmethod
    def _connect(cls, connect: Callable[[], socket.socket], name: str, timeout_s: float) -> SocketTransport:
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                return cls(connect(), name)
            except OSError as error:
                if time.monotonic() >= deadline:
                    raise TransportError(
                        f"{name}: cannot connect, got {error.strerror or error!s} for {timeout_s:g} s, "
                        "expected a listener. Check that the emulator is running"
                    ) from error
            time.sleep(_RETRY_S)

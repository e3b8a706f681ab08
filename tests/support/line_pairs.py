"""Both ends of real lines: ptys, sockets, pipes."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from aboard.transports.base import Transport
from aboard.transports.pipe import PipeTransport
from aboard.transports.pty import Pty
from aboard.transports.tcp import SocketTransport

ALL_BYTES = bytes(range(256)) * 3


def read_all(transport: Transport, count: int, timeout_s: float = 5.0) -> bytes:
    data = b""
    deadline = time.monotonic() + timeout_s
    while len(data) < count and time.monotonic() < deadline:
        data += transport.read(0.1)
    return data


@contextlib.contextmanager
def pty_pair() -> Iterator[tuple[Transport, Transport]]:
    pair = Pty()
    port = pair.connect()
    yield port, PipeTransport(fd := pair.release(), os.dup(fd), "controller")
    port.close()


@contextlib.contextmanager
def tcp_pair() -> Iterator[tuple[Transport, Transport]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = SocketTransport.tcp("127.0.0.1", server.getsockname()[1])
        yield client, SocketTransport(server.accept()[0], "server")
    client.close()


@contextlib.contextmanager
def unix_pair(folder: Path) -> Iterator[tuple[Transport, Transport]]:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "line"))
        server.listen()
        client = SocketTransport.unix(folder / "line")
        yield client, SocketTransport(server.accept()[0], "server")
    client.close()


@contextlib.contextmanager
def pipe_pair() -> Iterator[tuple[Transport, Transport]]:
    (a_read, b_write), (b_read, a_write) = os.pipe(), os.pipe()
    client = PipeTransport(a_read, a_write, "pipe")
    yield client, PipeTransport(b_read, b_write, "other end")
    client.close()

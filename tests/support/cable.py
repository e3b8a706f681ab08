"""A serial cable that is not there: a port with a transport behind it, as slow as its baud rate, to be unplugged."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
import tty
from collections.abc import Callable
from pathlib import Path

from aboard.errors import TransportError
from aboard.transports.base import Transport

_BITS_PER_BYTE = 10
#: Bytes pass in pieces that take so long, in seconds: what a clock of this machine keeps well.
_SLICE_S = 0.002
_POLL_S = 0.02
_CHUNK = 4096


class Pace:
    """When the next byte may pass."""

    def __init__(self, baud: int | None) -> None:
        self._piece = _CHUNK if baud is None else max(1, int(baud / _BITS_PER_BYTE * _SLICE_S))
        self._byte_s = 0.0 if baud is None else _BITS_PER_BYTE / baud
        self._free_at = 0.0

    def pass_on(self, data: bytes, give: Callable[[bytes], None], *, was_idle: bool) -> None:
        """Hands bytes on when the line would have; one that was not idle makes up for what this machine is late."""
        if was_idle:
            self._free_at = max(self._free_at, time.monotonic())
        for start in range(0, len(data), self._piece):
            piece = data[start : start + self._piece]
            self._free_at += len(piece) * self._byte_s
            time.sleep(max(0.0, self._free_at - time.monotonic()))
            give(piece)


class Cable:
    """A port that is there while the cable is plugged in.

    Attributes:
        port: Its path, which stays the same when the cable is plugged in again.
        device: What is or was at the other end.
    """

    def __init__(self, port: Path, device: Transport, baud: int | None = None) -> None:
        """Plugs a device in; the transport to it stays the caller's."""
        self.port = port
        self._baud = baud
        self._threads: list[threading.Thread] = []
        self._fds: tuple[int, ...] = ()
        self.plug(device)

    def plug(self, device: Transport) -> None:
        """Plugs a device in, the same or another."""
        self.unplug()
        self.device = device
        controller, terminal = os.openpty()
        tty.setraw(terminal)
        os.set_blocking(controller, False)
        self._fds = (controller, terminal)
        self._plugged = threading.Event()
        self._plugged.set()
        self.port.unlink(missing_ok=True)
        self.port.symlink_to(os.ttyname(terminal))
        pumps = (lambda: self._to_device(controller, device), lambda: self._to_host(controller, device))
        self._threads = [threading.Thread(target=pump) for pump in pumps]
        for thread in self._threads:
            thread.start()

    def unplug(self) -> None:
        """Takes the port away."""
        if not self._fds:
            return
        self._plugged.clear()
        for thread in self._threads:
            thread.join()
        self.port.unlink()
        for fd in self._fds:
            os.close(fd)
        self._fds = ()

    def _to_device(self, controller: int, device: Transport) -> None:
        pace, plugged = Pace(self._baud), self._plugged
        with contextlib.suppress(TransportError):
            while plugged.is_set():
                was_idle = not select.select([controller], [], [], 0)[0]
                if select.select([controller], [], [], _POLL_S)[0]:
                    pace.pass_on(os.read(controller, _CHUNK), device.write, was_idle=was_idle)

    def _to_host(self, controller: int, device: Transport) -> None:
        pace, plugged = Pace(self._baud), self._plugged

        def give(data: bytes) -> None:
            while data and plugged.is_set():
                if select.select([], [controller], [], _POLL_S)[1]:
                    data = data[os.write(controller, data) :]

        with contextlib.suppress(TransportError):
            while plugged.is_set():
                waiting = device.read(0)
                pace.pass_on(waiting or device.read(_POLL_S), give, was_idle=not waiting)

"""A line to a device in this process: a function takes the written bytes and returns the device's bytes."""

from __future__ import annotations

import time
from collections.abc import Callable

from aboard.errors import TransportError
from aboard.transports.base import Transport


class LoopbackTransport(Transport):
    """Talks to a function.

    The function takes the bytes written since its last call, possibly none, and returns the bytes that the device has
    sent since then.
    """

    def __init__(self, device: Callable[[bytes], bytes], name: str = "loopback") -> None:
        self.name = name
        self._device = device
        self._outgoing = bytearray()
        self._closed = False

    def read(self, timeout_s: float) -> bytes:
        """Passes the written bytes to the device, and returns the bytes that it sent."""
        self._check_open()
        outgoing = bytes(self._outgoing)
        self._outgoing.clear()
        data = self._device(outgoing)
        if not data and timeout_s > 0:
            # The device works only in the call above, so no more bytes will come: sleep for the rest of the time.
            time.sleep(timeout_s)
        return data

    def write(self, data: bytes) -> None:
        """Keeps bytes for the device's next turn."""
        self._check_open()
        self._outgoing += data

    def close(self) -> None:
        """Ends the line."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise TransportError(f"{self.name}: the line is closed. Open a new session")

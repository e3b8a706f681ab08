"""A line with a limited send rate, for emulated serial ports that lose bytes of bursts."""

from __future__ import annotations

import time

from typing_extensions import override

from aboard.transports.base import Transport

#: Shortest pause that this machine's clock keeps well, in seconds. At higher rates several bytes are sent between two
#: pauses.
_SHORTEST_PAUSE_S = 0.001


class PacedTransport(Transport):
    """Sends a few bytes at a time through another transport. Received bytes are not delayed."""

    def __init__(self, inner: Transport, bytes_per_second: float) -> None:
        """Takes ownership of a transport: `close` closes both.

        Args:
            inner: The transport.
            bytes_per_second: Rate at which bytes are sent.
        """
        self.name = inner.name
        self.is_lossless = inner.is_lossless
        self.bytes_per_second = bytes_per_second
        self._inner = inner
        self._step = max(1, int(bytes_per_second * _SHORTEST_PAUSE_S))
        self._free_at = 0.0

    @override
    def read(self, timeout_s: float) -> bytes:
        return self._inner.read(timeout_s)

    @override
    def write(self, data: bytes) -> None:
        for start in range(0, len(data), self._step):
            piece = data[start : start + self._step]
            time.sleep(max(0.0, self._free_at - time.monotonic()))
            self._inner.write(piece)
            self._free_at = time.monotonic() + len(piece) / (self.bytes_per_second or 1.0)

    def close(self) -> None:
        """Closes the transport inside."""
        self._inner.close()

"""A line that sends no faster than its other end takes."""

from __future__ import annotations

import time

import pytest

from aboard.transports.base import Transport
from aboard.transports.paced import PacedTransport


class Recorder(Transport):
    name = "recorder"

    def __init__(self) -> None:
        self.written: list[tuple[float, bytes]] = []
        self.closed = False

    def read(self, timeout_s: float) -> bytes:
        return b"back"

    def write(self, data: bytes) -> None:
        self.written.append((time.monotonic(), data))

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(("rate", "step"), [(500, 1), (1000, 1), (4000, 4)])
def test_bytes_go_a_few_at_a_time(rate: int, step: int) -> None:
    inner = Recorder()
    line = PacedTransport(inner, rate)
    started = time.monotonic()
    line.write(bytes(range(20)))
    line.write(b"end")
    assert b"".join(data for _, data in inner.written) == bytes(range(20)) + b"end"
    assert all(len(data) <= step for _, data in inner.written)
    assert inner.written[-1][0] - started >= (23 - step) / rate
    assert (line.read(1), line.name, line.bytes_per_second) == (b"back", "recorder", rate)
    line.close()
    assert inner.closed

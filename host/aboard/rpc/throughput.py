"""Measures the data rate of a line, without the overhead of requests, replies and waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from aboard.rpc.client import Client
from aboard.rpc.messages import StatsRequest, TensorKind


@dataclass(frozen=True)
class LineRate:
    """Measured data rates of a line.

    Attributes:
        line_bytes_per_second: Limit by the baud rate; None for a line without one, such as a socket.
        write_bytes_per_second: Data rate of writes to an input.
        read_bytes_per_second: Data rate of reads.
        round_trip_s: Shortest time of a request without data.
    """

    line_bytes_per_second: float | None
    write_bytes_per_second: float
    read_bytes_per_second: float
    round_trip_s: float

    @property
    def write_share(self) -> float | None:
        """Rate of writes as a share of the line's rate; None for a line without one."""
        return self.write_bytes_per_second / self.line_bytes_per_second if self.line_bytes_per_second else None

    @property
    def read_share(self) -> float | None:
        """Rate of reads as a share of the line's rate; None for a line without one."""
        return self.read_bytes_per_second / self.line_bytes_per_second if self.line_bytes_per_second else None


def measure(client: Client, line_bytes_per_second: float | None, input_bytes: int, count: int) -> LineRate:
    """Writes the first input of the first model and reads it back, `count` times each. Overwrites that input."""
    data = bytes(1 + index % 255 for index in range(input_bytes))

    def ask() -> None:
        client.call(StatsRequest())

    ask()
    return LineRate(
        line_bytes_per_second=line_bytes_per_second,
        write_bytes_per_second=count * input_bytes / _seconds(lambda: client.write_input(0, 0, data), count),
        read_bytes_per_second=count
        * input_bytes
        / _seconds(lambda: client.read_tensor(0, TensorKind.INPUT, 0, input_bytes), count),
        round_trip_s=min(_seconds(ask, 1) for _ in range(count)),
    )


def _seconds(action: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        action()
    return time.perf_counter() - start

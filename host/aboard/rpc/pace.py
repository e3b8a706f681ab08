"""Deadlines from measured round trips: a lost frame costs a round trip, not a fixed time.

The round trip is estimated as TCP does (Jacobson, "Congestion avoidance and control", 1988; RFC 6298): a mean and a
mean deviation, both smoothed, without the time that the bytes take on the line. Only requests that were sent once are
measured (Karn's rule), and requests whose reply came twice: there the first copy had arrived, and the repetition was
too early.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

from aboard.rpc import framing, messages
from aboard.rpc.line import Line
from aboard.rpc.messages import Header, Request
from aboard.rpc.timing import Timing

_GAIN = 1 / 8
_DEVIATION_GAIN = 1 / 4
_DEVIATIONS = 4
#: If the run time of an accepted request is unknown, the host repeats it after this many first waits.
_WORKING = 15
#: A run may take this many times as long as earlier runs.
_SLOWER = 2
#: The host waits longer for the acceptance of a run: bytes that arrive during a run interrupt the model and add to its
#: measured time.
_RUN_CARE = 3
#: Longest reply of a request without data.
_SHORT_REPLY_BYTES = 116
#: The error rate is counted over this many bytes; then both counts are halved.
_MEMORY_BYTES = 65536
#: Assumed number of bytes before the first error.
_PRIOR_BYTES = 1024
_OVERHEAD_BYTES = 2 * (messages.HEADER.size + framing.CRC_BYTES + 3)
_SHORTEST_PIECE = 16
_TICK_BYTES = 8


@dataclass(frozen=True)
class Errand:
    """The properties of a request that its deadlines depend on.

    Attributes:
        reply_bytes: Payload of its reply, at most.
        runs: How often it runs a model or node; 0 if it runs none.
        work: Key of its work: requests with an equal key take about the same time. None if it does no work.
    """

    reply_bytes: int = _SHORT_REPLY_BYTES
    runs: int = 0
    work: Hashable = None

    @classmethod
    def of(cls, request: Request) -> Errand:
        """Returns the properties of a request that its deadlines depend on."""
        if isinstance(request, (messages.ReadRequest, messages.OpReadRequest)):
            return cls(reply_bytes=request.length)
        if isinstance(request, messages.ProfileRequest):
            return cls(reply_bytes=_TICK_BYTES * request.count)
        if isinstance(request, messages.RunRequest):
            return cls(runs=request.count, work=(request.type, request.model, request.flags))
        if isinstance(request, messages.OpRunRequest):
            return cls(runs=request.count, work=(request.type, request.model, request.node))
        if isinstance(request, messages.WriteRequest):
            return cls(work=(request.type, request.model))
        return cls()


class Pace:
    """Measured speed and error rate of one line and its device."""

    def __init__(self, line: Line, timing: Timing) -> None:
        self._line = line
        self._timing = timing
        self._mean_s: float | None = None
        self._deviation_s = 0.0
        self._run_s: dict[Hashable, float] = {}
        self._last: tuple[Header, float] | None = None
        self._bytes = 0.0
        self._errors = 0.0

    def transfer_s(self, errand: Errand, frame_bytes: int) -> float:
        """Returns the seconds that a request and its reply take on the line."""
        reply_bytes = messages.HEADER.size + errand.reply_bytes
        return self._line.seconds_for(frame_bytes + framing.encoded_bytes(reply_bytes))

    def wait_s(self, errand: Errand, frame_bytes: int) -> float:
        """Returns how long the first attempt waits for the reply, or for the event of acceptance, in seconds."""
        timing = self._timing
        shortest = timing.shortest_s * (_RUN_CARE if errand.runs else 1)
        floor = timing.attempt_s if self._line.is_lossless else min(shortest, timing.attempt_s)
        known = None if self._mean_s is None else self._mean_s + _DEVIATIONS * self._deviation_s
        return max(floor, timing.attempt_s if known is None else known) + self.transfer_s(errand, frame_bytes)

    def working_s(self, errand: Errand, wait_s: float) -> float:
        """Returns how long the host waits after the acceptance before it repeats the request, in seconds."""
        per_run = self._run_s.get(errand.work)
        if per_run is None or self._line.is_lossless:
            return max(wait_s, _WORKING * self._timing.attempt_s)
        return wait_s + _SLOWER * per_run * max(errand.runs, 1)

    def measured(self, seconds: float, transfer_s: float) -> None:
        """Adds a measured round trip, in seconds with the time of its bytes on the line."""
        sample = max(0.0, seconds - transfer_s)
        if self._mean_s is None:
            self._mean_s, self._deviation_s = sample, sample / 2
        else:
            self._deviation_s += _DEVIATION_GAIN * (abs(sample - self._mean_s) - self._deviation_s)
            self._mean_s += _GAIN * (sample - self._mean_s)

    def worked(self, errand: Errand, runs: int, seconds: float) -> None:
        """Adds the time that a device worked on a request. One slow run raises the estimate for some time."""
        per_run = seconds / max(runs, 1)
        before = self._run_s.get(errand.work, 0.0)
        self._run_s[errand.work] = max(per_run, before + _DEVIATION_GAIN * (per_run - before))

    def answered(self, header: Header, seconds: float) -> None:
        """Notes the reply to a request, and the seconds since the request was first sent."""
        self._last = header, seconds

    def late(self, header: Header) -> None:
        """Takes a late reply. If it repeats the last reply, the first copy of the request had not been lost."""
        if self._last is not None and self._last[0] == header:
            self.measured(self._last[1], 0.0)
            self._last = None

    def passed(self, count: int, errors: int) -> None:
        """Counts the bytes of a request and its reply, and its repetitions because of damage."""
        if self._bytes > _MEMORY_BYTES:
            self._bytes, self._errors = self._bytes / 2, self._errors / 2
        self._bytes += count
        self._errors += errors

    def best_piece(self) -> int | None:
        """Returns the data bytes a message that maximise throughput; None if the line has shown no errors.

        A longer piece has less overhead a byte; a shorter piece is damaged less often. With n data bytes, h bytes of
        overhead and an error rate of p a byte, the share n / (n + h) * (1 - p) ** (n + h) passes.
        Its maximum is near n * (n + h) = h / p.
        """
        if self._errors < 1:
            return None
        rate = self._errors / (self._bytes + _PRIOR_BYTES)
        half = _OVERHEAD_BYTES / 2
        return max(_SHORTEST_PIECE, int(math.sqrt(half * half + _OVERHEAD_BYTES / rate) - half))

"""How fast a device answers, as measured on its line: what is lost costs a round trip, not a fixed time.

The round trip is estimated as TCP does (Jacobson, "Congestion avoidance and control", 1988; RFC 6298): a mean and a
mean deviation, both smoothed, without the time that the bytes take on the line. Only a request that was sent once is
measured (Karn's rule), or one whose reply came twice: then the first copy had arrived, and asking again was early.
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
#: A device that has accepted a request whose time is not known is asked again after so many first attempts.
_WORKING = 15
#: A run may take so many times as long as those before it.
_SLOWER = 2
#: Waits for the acceptance of a run are longer: bytes that arrive while a model runs interrupt it, and would be counted
#: in its time.
_RUN_CARE = 3
#: Longest reply of a request without data.
_SHORT_REPLY_BYTES = 116
#: Errors are remembered over so many bytes, then half of them.
_MEMORY_BYTES = 65536
#: Bytes that are taken to have passed before the first error.
_PRIOR_BYTES = 1024
_OVERHEAD_BYTES = 2 * (messages.HEADER.size + framing.CRC_BYTES + 3)
_SHORTEST_PIECE = 16
_TICK_BYTES = 8


@dataclass(frozen=True)
class Errand:
    """What deadlines depend on in a request.

    Attributes:
        reply_bytes: Payload of its reply, at most.
        runs: How often it runs a model or node; 0 where it runs none.
        work: What it works on: its time is that of earlier requests with the same work. None where it does no work.
    """

    reply_bytes: int = _SHORT_REPLY_BYTES
    runs: int = 0
    work: Hashable = None

    @classmethod
    def of(cls, request: Request) -> Errand:
        """Returns what a request means for its deadlines."""
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
    """What is known of the speed and the errors of one line and the device behind it."""

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
        """Returns how long a request and its reply take on the line."""
        reply_bytes = messages.HEADER.size + errand.reply_bytes
        return self._line.seconds_for(frame_bytes + framing.encoded_bytes(reply_bytes))

    def wait_s(self, errand: Errand, frame_bytes: int) -> float:
        """Returns how long the first attempt waits: for the reply, or for the event that the device has accepted it."""
        timing = self._timing
        shortest = timing.shortest_s * (_RUN_CARE if errand.runs else 1)
        floor = timing.attempt_s if self._line.is_lossless else min(shortest, timing.attempt_s)
        known = None if self._mean_s is None else self._mean_s + _DEVIATIONS * self._deviation_s
        return max(floor, timing.attempt_s if known is None else known) + self.transfer_s(errand, frame_bytes)

    def working_s(self, errand: Errand, wait_s: float) -> float:
        """Returns how long a device that has accepted a request is left alone."""
        per_run = self._run_s.get(errand.work)
        if per_run is None or self._line.is_lossless:
            return max(wait_s, _WORKING * self._timing.attempt_s)
        return wait_s + _SLOWER * per_run * max(errand.runs, 1)

    def measured(self, seconds: float, transfer_s: float) -> None:
        """Takes in a round trip that took so long, with the bytes on the line."""
        sample = max(0.0, seconds - transfer_s)
        if self._mean_s is None:
            self._mean_s, self._deviation_s = sample, sample / 2
        else:
            self._deviation_s += _DEVIATION_GAIN * (abs(sample - self._mean_s) - self._deviation_s)
            self._mean_s += _GAIN * (sample - self._mean_s)

    def worked(self, errand: Errand, runs: int, seconds: float) -> None:
        """Takes in how long a device worked; one slow run is remembered for some time."""
        per_run = seconds / max(runs, 1)
        before = self._run_s.get(errand.work, 0.0)
        self._run_s[errand.work] = max(per_run, before + _DEVIATION_GAIN * (per_run - before))

    def answered(self, header: Header, seconds: float) -> None:
        """Notes the reply to a request, and the time since it was sent for the first time."""
        self._last = header, seconds

    def late(self, header: Header) -> None:
        """Takes in a reply that nobody waits for: where it is the last one again, that had not been lost."""
        if self._last is not None and self._last[0] == header:
            self.measured(self._last[1], 0.0)
            self._last = None

    def passed(self, count: int, errors: int) -> None:
        """Counts bytes of a request and its reply, and how often it had to be repeated because of damage."""
        if self._bytes > _MEMORY_BYTES:
            self._bytes, self._errors = self._bytes / 2, self._errors / 2
        self._bytes += count
        self._errors += errors

    def best_piece(self) -> int | None:
        """Returns how many bytes of data a message should have for most to pass; None for any number.

        A longer piece shares the overhead among more bytes, a shorter one is damaged less often: of n bytes of data
        with h of overhead, n / (n + h) * (1 - p) ** (n + h) pass at an error rate of p, which is most where
        n * (n + h) is h / p.
        """
        if self._errors < 1:
            return None
        rate = self._errors / (self._bytes + _PRIOR_BYTES)
        half = _OVERHEAD_BYTES / 2
        return max(_SHORTEST_PIECE, int(math.sqrt(half * half + _OVERHEAD_BYTES / rate) - half))

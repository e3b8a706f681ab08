"""One request and its reply, on a line that may lose either."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from aboard.errors import DeviceError, DeviceTimeout, ProtocolError
from aboard.rpc import messages, replies
from aboard.rpc.line import Line
from aboard.rpc.messages import Header, Type

_BACK_OFF = 1.5
_LONGEST_WAIT_S = 8.0
#: A device that has accepted a request is asked again after so many first attempts: bytes that arrive while a model
#: runs interrupt it, and would be counted in its time.
_WORKING = 15


@dataclass(frozen=True)
class Timing:
    """Deadlines, in seconds.

    Attributes:
        attempt_s: How long the first attempt waits for a reply, beyond the time the message takes on the line; each
            further one waits half as long again, and 15 times as long once the device has accepted the request.
        attempts: How often a request is sent before the device is called silent.
        settle_s: So long after a damaged frame the request is repeated; half as long again on each further attempt.
        hello_s: How long a device has for its first answer: it may be booting.
        patience_s: How long a device that has accepted a request may work on it without a sign of life.
    """

    attempt_s: float = 1.0
    attempts: int = 6
    settle_s: float = 0.1
    hello_s: float = 30.0
    patience_s: float = 120.0

    def for_hello(self) -> Timing:
        """Returns the deadlines of a HELLO: short attempts, as many as fit."""
        attempt_s = min(self.attempt_s, 0.5)
        return replace(self, attempt_s=attempt_s, attempts=_attempts_within(self.hello_s, attempt_s))


def _attempts_within(seconds: float, attempt_s: float) -> int:
    attempts, wait, total = 1, attempt_s, attempt_s
    while total < seconds:
        wait = min(wait * _BACK_OFF, _LONGEST_WAIT_S)
        total += wait
        attempts += 1
    return attempts


class Exchange:
    """A request on its way. Made for one call, and thrown away."""

    def __init__(
        self,
        line: Line,
        timing: Timing,
        header: Header,
        payload: bytes,
        burst: int,
        on_tap: Callable[[replies.Tap], None] | None = None,
    ) -> None:
        self._line = line
        self._timing = timing
        self._header = header
        self._message = header.pack() + payload
        self._burst = burst
        self._on_tap = on_tap
        self._accepted = False
        self._alive_at = 0.0
        self._resend = False
        self._settle_s = timing.settle_s

    def run(self, patience_s: float | None = None) -> tuple[int, bytes]:
        """Sends the request until it is answered.

        Returns:
            The status and the payload of the reply.

        Raises:
            DeviceTimeout: It is not answered in time.
            ProtocolError: What comes back is damaged every time.
            TransportError: The line is gone.
        """
        patience = self._timing.patience_s if patience_s is None else patience_s
        started = time.monotonic()
        damaged = self._line.damaged
        wait = self._timing.attempt_s + self._line.seconds_for(2 * len(self._message))
        attempt = 0
        while attempt < self._timing.attempts or self._still_working(patience):
            attempt += 1
            self._line.send(self._message, self._burst)
            reply = self._await_reply(wait)
            if reply is not None:
                return reply
            wait = min(wait * _BACK_OFF, _LONGEST_WAIT_S)
            self._settle_s *= _BACK_OFF
        raise self._failure(attempt, time.monotonic() - started, self._line.damaged - damaged)

    def _still_working(self, patience_s: float) -> bool:
        return self._accepted and time.monotonic() < self._alive_at + patience_s

    def _await_reply(self, wait_s: float) -> tuple[int, bytes] | None:
        """Waits for the reply; None when it is time to ask again."""
        self._resend = False
        damaged = self._line.damaged
        deadline = time.monotonic() + wait_s
        while not self._resend:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            received = self._line.receive(left)
            for header, payload in received:
                if self._is_reply(header):
                    return header.code, payload
                self._take_event(header, payload)
            if received and self._accepted:
                deadline = time.monotonic() + max(wait_s, _WORKING * self._timing.attempt_s)
            if self._line.damaged != damaged:
                deadline = min(deadline, time.monotonic() + self._settle_s)
        return None

    def _is_reply(self, header: Header) -> bool:
        """True for the reply to this request; anything else is late, from another session, or an event."""
        return (header.type, header.id, header.session) == (
            self._header.type | messages.REPLY,
            self._header.id,
            self._header.session,
        )

    def _take_event(self, header: Header, payload: bytes) -> None:
        if not self._line.note_event(header, payload):
            return
        if header.type == Type.READY:
            # The device says that it has started. If that was after this request, its answer to the next one shows it.
            self._resend = self._header.type != Type.HELLO
        elif (header.id, header.session) == (self._header.id, self._header.session):
            self._accepted = True
            self._alive_at = time.monotonic()
            if header.type == Type.TAP and self._on_tap is not None:
                self._on_tap(replies.Tap.unpack(payload))

    def _failure(self, attempts: int, seconds: float, damaged: int) -> DeviceError:
        name = Type(self._header.type).name
        tried = f"{attempts} attempts in {seconds:.1f} s"
        if damaged:
            return ProtocolError(
                f"{self._line.name}: the replies to {name} are damaged, got {damaged} broken frames in {tried}, "
                "expected a whole one. Check baud rate and wiring, and that the image is one of aboard's"
            )
        if self._accepted:
            return DeviceTimeout(
                f"{self._line.name}: no reply to {name}, got silence since the device accepted it ({tried}), "
                "expected a result. Give it more time, or reset it"
            )
        return DeviceTimeout(
            f"{self._line.name}: no answer to {name}, got silence after {tried}, expected a reply. Check that the "
            "board has power and runs an image of aboard's, and that port and baud rate are right"
        )

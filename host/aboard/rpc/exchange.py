"""One request and its reply, on a line that may lose either."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from aboard.errors import DeviceError, DeviceTimeout, ProtocolError
from aboard.rpc import framing, messages, replies
from aboard.rpc.flow import Window
from aboard.rpc.line import Line
from aboard.rpc.messages import Header, Type

_BACK_OFF = 1.5
_LONGEST_WAIT_S = 8.0
#: A device that has accepted a request is asked again after so many first attempts: bytes that arrive while a model
#: runs interrupt it, and would be counted in its time.
_WORKING = 15
#: Pause after a burst, for devices that ask for one: they take a few bytes at a time and lose the rest.
BURST_PAUSE_S = 0.002


@dataclass(frozen=True)
class Timing:
    """Deadlines, in seconds.

    Attributes:
        attempt_s: How long the first attempt waits for a reply, beyond the time the message takes on the line; each
            further one waits half as long again, and 15 times as long once the device has accepted the request.
        attempts: How often a request is sent before the device is called silent.
        settle_s: When the line has been quiet so long after a damaged frame, or in one, the request is repeated; half
            as long again on each further attempt.
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


#: Status and payload.
Reply: TypeAlias = tuple[int, bytes]


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
        window: Window,
        on_tap: Callable[[replies.Tap], None] | None = None,
    ) -> None:
        self._line = line
        self._timing = timing
        self._header = header
        self._frame = framing.encode(header.pack() + payload)
        self._window = window
        self._on_tap = on_tap
        self._accepted = False
        self._alive_at = 0.0
        self._resend = False
        self._settle_s = timing.settle_s

    def run(self, patience_s: float | None = None) -> Reply:
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
        self._window.begin()
        damaged = self._line.damaged
        wait = self._timing.attempt_s + self._line.seconds_for(2 * len(self._frame))
        attempt = 0
        while attempt < self._timing.attempts or self._still_working(patience):
            attempt += 1
            reply = self._send() or self._await_reply(wait)
            if reply is not None:
                return reply
            wait = min(wait * _BACK_OFF, _LONGEST_WAIT_S)
            self._settle_s *= _BACK_OFF
        raise self._failure(attempt, time.monotonic() - started, self._line.damaged - damaged)

    def _still_working(self, patience_s: float) -> bool:
        return self._accepted and time.monotonic() < self._alive_at + patience_s

    def _send(self) -> Reply | None:
        """Sends the request as fast as the device takes it; returns the reply to an earlier attempt if one comes."""
        self._resend = False
        if self._window.has_credits:
            return self._send_on_credit()
        step = self._window.burst or len(self._frame)
        for start in range(0, len(self._frame), step):
            if start:
                time.sleep(BURST_PAUSE_S)
            self._write(self._frame[start : start + step])
        return None

    def _send_on_credit(self) -> Reply | None:
        if self._accepted and self._window.room < len(self._frame):
            # It reads nothing while a model runs. What has been on its way for so long is there, or lost.
            self._window.clear()
            return None
        rest = self._frame
        while rest and not self._resend:
            if self._window.room <= 0:
                reply = self._await_room()
                if reply is not None:
                    return reply
            piece, rest = rest[: self._window.room], rest[self._window.room :]
            self._write(piece)
        return None

    def _write(self, data: bytes) -> None:
        self._line.write(data)
        self._window.sent(len(data))

    def _await_room(self) -> Reply | None:
        """Waits until the device has taken something. When it says nothing, bytes were lost, and it waits for more."""
        deadline = time.monotonic() + self._timing.settle_s + self._line.seconds_for(2 * self._window.burst)
        while self._window.room <= 0 and not self._resend:
            left = deadline - time.monotonic()
            # When the time is over, what has arrived meanwhile still counts.
            reply = self._find_reply(self._line.receive(max(0.0, left)))
            if reply is not None:
                return reply
            if left <= 0:
                self._window.clear()
        return None

    def _await_reply(self, wait_s: float) -> Reply | None:
        """Waits for the reply; None when it is time to ask again."""
        damaged = self._line.damaged
        deadline = time.monotonic() + wait_s
        while not self._resend:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            # A frame that does not go on has lost its end.
            is_broken = self._line.damaged != damaged or self._line.in_frame
            received = self._line.receive(min(left, self._settle_s) if is_broken else left)
            if is_broken and self._line.is_quiet:
                return None
            reply = self._find_reply(received)
            if reply is not None:
                return reply
            if received and self._accepted:
                deadline = time.monotonic() + max(wait_s, _WORKING * self._timing.attempt_s)
        return None

    def _find_reply(self, received: list[tuple[Header, bytes]]) -> Reply | None:
        """Returns the reply if it is among what was received; before it come events."""
        for header, payload in received:
            if self._is_reply(header):
                self._window.worked_on(self._header.id, len(self._frame))
                return header.code, payload
            self._take_event(header, payload)
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
            self._window.clear()
        elif header.type == Type.CREDIT:
            self._take_credit(header, replies.Credit.unpack(payload))
        elif (header.id, header.session) == (self._header.id, self._header.session):
            self._window.worked_on(self._header.id, len(self._frame))
            self._accepted = True
            self._alive_at = time.monotonic()
            if header.type == Type.TAP and self._on_tap is not None:
                self._on_tap(replies.Tap.unpack(payload))

    def _take_credit(self, header: Header, credit: replies.Credit) -> None:
        if header.session != self._header.session:
            return
        if header.id == self._header.id:
            self._window.worked_on(self._header.id, len(self._frame))
        self._window.taken(header.id, credit.taken)

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

"""Sends one request and receives its reply on a line that may lose either."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

from aboard.errors import DeviceError, DeviceTimeout, ProtocolError
from aboard.rpc import framing, messages, replies
from aboard.rpc.flow import SendWindow
from aboard.rpc.line import Line
from aboard.rpc.messages import Header, Type
from aboard.rpc.pace import Errand, Pace
from aboard.rpc.timing import BACK_OFF, LONGEST_WAIT_S
from aboard.rpc.timing import Timing as Timing

#: Pause after a burst, for devices that need one: they take a few bytes at a time and lose the rest.
BURST_PAUSE_S = 0.002
#: How often a damaged frame makes the client repeat a request at once. After that it waits first.
_MOST_HURRIES = 100

#: Status and payload.
Reply: TypeAlias = tuple[int, bytes]
#: Takes a TRACE event; returns False if the event held nothing new.
OnTrace: TypeAlias = Callable[[replies.TraceEvent], "bool | None"]


class OutOfTime(Exception):  # noqa: N818 - no error: what was asked for
    """A series of runs exceeded its time limit."""


class Exchange:
    """The exchange of one request and its reply; made for one call."""

    def __init__(
        self,
        line: Line,
        timing: Timing,
        header: Header,
        payload: bytes,
        window: SendWindow,
        pace: Pace,
        errand: Errand | None = None,
        on_trace: OnTrace | None = None,
    ) -> None:
        self._line = line
        self._timing = timing
        self._header = header
        self._frame = framing.encode(header.pack() + payload)
        self._window = window
        self._pace = pace
        self._errand = errand or Errand()
        self._on_trace = on_trace
        self._transfer_s = pace.transfer_s(self._errand, len(self._frame))
        self._wait_s = pace.wait_s(self._errand, len(self._frame))
        self._settle_s = min(timing.settle_s, self._wait_s)
        self._started_at = 0.0
        self._accepted_at: float | None = None
        self._alive_at = 0.0
        self._runs_done = 0
        # Copies of the request that the device has not answered: a damaged frame may be the reply to each of them.
        self._unanswered = 0
        self._sends = 0
        self._errors = 0
        self._hurries = 0
        self._resend = False

    def run(self, patience_s: float | None = None, within_s: float | None = None) -> Reply:
        """Sends the request until it is answered.

        Args:
            patience_s: Longest time between two signs of progress once the device has accepted it.
            within_s: Longest time from the acceptance to the reply.

        Returns:
            The status and the payload of the reply.

        Raises:
            OutOfTime: The reply does not come within `within_s`.
            DeviceTimeout: The device does not answer.
            ProtocolError: Every reply is damaged.
            TransportError: The line is gone.
        """
        patience = self._timing.patience_s if patience_s is None else patience_s
        self._started_at = time.monotonic()
        give_up_at = self._started_at + self._timing.silence_s(self._transfer_s)
        self._window.begin()
        damaged = self._line.damaged
        wait = self._wait_s
        while not self._sends or time.monotonic() < give_up_at or self._still_working(patience):
            hurries = self._hurries
            reply = self._send() or self._await_reply(wait, within_s)
            if reply is not None:
                self._pace.passed(self._sends * (len(self._frame) + len(reply[1])), self._errors)
                return reply
            if within_s is not None and self._working_for() >= within_s:
                raise OutOfTime
            if self._hurries == hurries:
                self._unanswered = 0
                wait = min(wait * BACK_OFF, max(LONGEST_WAIT_S, self._wait_s))
                self._settle_s *= BACK_OFF
        self._pace.passed(self._sends * len(self._frame), self._errors)
        raise self._failure(time.monotonic() - self._started_at, self._line.damaged - damaged)

    def send_once(self) -> None:
        """Sends the request without waiting for a reply."""
        if not self._window.has_credits or self._window.room >= len(self._frame):
            self._write(self._frame)

    def _still_working(self, patience_s: float) -> bool:
        return self._accepted_at is not None and time.monotonic() < self._alive_at + patience_s

    def _working_for(self) -> float:
        return 0.0 if self._accepted_at is None else time.monotonic() - self._accepted_at

    def _send(self) -> Reply | None:
        """Sends the request at the device's pace; returns the reply to an earlier attempt if one arrives meanwhile."""
        self._resend = False
        self._sends += 1
        self._unanswered += 1
        if self._window.has_credits:
            return self._send_on_credit()
        step = self._window.burst or len(self._frame)
        for start in range(0, len(self._frame), step):
            if start:
                time.sleep(BURST_PAUSE_S)
            self._write(self._frame[start : start + step])
        return None

    def _send_on_credit(self) -> Reply | None:
        if self._accepted_at is not None and self._window.room < len(self._frame):
            # The device reads little or nothing while a model runs. Bytes sent that long ago have arrived or are lost.
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
        """Waits until the device has taken bytes. If the device stays silent, bytes were lost and it waits for more."""
        deadline = time.monotonic() + self._settle_s + self._line.seconds_for(2 * self._window.burst)
        while self._window.room <= 0 and not self._resend:
            left = deadline - time.monotonic()
            # Frames that arrived before the deadline still count.
            reply = self._find_reply(self._line.receive(max(0.0, left)))
            if reply is not None:
                return reply
            if left <= 0:
                self._window.clear()
        return None

    def _await_reply(self, wait_s: float, within_s: float | None) -> Reply | None:
        """Waits for the reply; None if the request has to be repeated or the time limit of the series is over."""
        deadline = time.monotonic() + wait_s
        while not self._resend:
            left = deadline - time.monotonic()
            if within_s is not None and self._accepted_at is not None:
                left = min(left, within_s - self._working_for())
            if left <= 0:
                self._errors += self._accepted_at is None
                return None
            # If a frame stops in the middle, its end was lost.
            in_frame, damaged, alive_at = self._line.in_frame, self._line.damaged, self._alive_at
            received = self._line.receive(min(left, self._settle_s) if in_frame else left)
            if in_frame and self._line.is_quiet and left > self._settle_s:
                self._errors += 1
                return None
            reply = self._find_reply(received)
            if reply is not None:
                return reply
            self._answers_were_damaged(self._line.damaged - damaged)
            if self._alive_at != alive_at:
                deadline = time.monotonic() + self._pace.working_s(self._errand, self._wait_s)
        return None

    def _find_reply(self, received: list[tuple[Header, bytes]]) -> Reply | None:
        """Returns the reply if it is among the received messages. Events come before the reply."""
        for header, payload in received:
            if self._is_reply(header):
                self._note_reply(header)
                return header.code, payload
            self._pace.late(header)
            self._take_event(header, payload)
        return None

    def _is_reply(self, header: Header) -> bool:
        """True for the reply to this request. Other messages are late replies, of another session, or events."""
        return (header.type, header.id, header.session) == (
            self._header.type | messages.REPLY,
            self._header.id,
            self._header.session,
        )

    def _note_reply(self, header: Header) -> None:
        now = time.monotonic()
        self._window.worked_on(self._header.id, len(self._frame))
        if self._accepted_at is not None:
            self._pace.worked(self._errand, self._errand.runs, now - self._accepted_at)
        elif self._errand.runs == 0:
            self._pace.answered(header, now - self._started_at)
            self._measure(now)

    def _measure(self, now: float) -> None:
        if self._sends == 1:
            self._pace.measured(now - self._started_at, self._transfer_s)

    def _answers_were_damaged(self, count: int) -> None:
        """Schedules an immediate repetition if there is a damaged frame for every copy of the request that was sent."""
        self._unanswered -= count
        if count and self._unanswered <= 0:
            self._errors += 1
            self._hurry()

    def _hurry(self) -> None:
        if self._hurries < _MOST_HURRIES:
            self._hurries += 1
            self._unanswered = 0
            self._resend = True

    def _take_event(self, header: Header, payload: bytes) -> None:
        if not self._line.note_event(header, payload):
            return
        if header.type == Type.READY:
            # The device reports that it has started. If it did so after this request, its next reply shows that.
            self._window.clear()
            if self._header.type != Type.HELLO:
                self._hurry()
        elif header.session != self._header.session:
            return
        elif header.type == Type.CREDIT:
            self._take_credit(header, replies.Credit.unpack(payload))
        elif header.type == Type.DAMAGED:
            self._answers_were_damaged(1)
        elif header.id == self._header.id:
            self._take_progress(header, payload)

    def _take_progress(self, header: Header, payload: bytes) -> None:
        """Takes an event of this request. Only progress prolongs the wait, so that the wait ends at some time."""
        now = time.monotonic()
        self._window.worked_on(self._header.id, len(self._frame))
        if self._accepted_at is None:
            self._accepted_at = self._alive_at = now
            self._measure(now)
        if header.type == Type.TRACE and self._on_trace is not None:
            if self._on_trace(replies.TraceEvent.unpack(payload)) is not False:
                self._alive_at = now
        elif header.type == Type.PROGRESS:
            done = replies.Progress.unpack(payload).runs
            if self._runs_done < done <= self._errand.runs:
                self._runs_done, self._alive_at = done, now

    def _take_credit(self, header: Header, credit: replies.Credit) -> None:
        if header.id == self._header.id:
            self._window.worked_on(self._header.id, len(self._frame))
        self._window.taken(header.id, credit.taken)

    def _failure(self, seconds: float, damaged: int) -> DeviceError:
        name = Type(self._header.type).name
        tried = f"{self._sends} attempts in {seconds:.1f} s"
        if damaged:
            return ProtocolError(
                f"{self._line.name}: the replies to {name} are damaged, got {damaged} broken frames in {tried}, "
                "expected a whole one. Check baud rate and wiring, and that the image is one of aboard's"
            )
        if self._accepted_at is not None:
            return DeviceTimeout(
                f"{self._line.name}: no reply to {name}, got silence since the device accepted it ({tried}), "
                "expected a result. Give it more time, or reset it"
            )
        return DeviceTimeout(
            f"{self._line.name}: no answer to {name}, got silence after {tried}, expected a reply. Check that the "
            "board has power and runs an image of aboard's, and that port and baud rate are right"
        )

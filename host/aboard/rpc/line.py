"""Messages over a transport: what goes out is framed, what comes in is taken apart, events are counted."""

from __future__ import annotations

import time
from collections.abc import Callable

from aboard.rpc import framing, messages
from aboard.rpc.messages import Header, Type
from aboard.transports.base import Transport

_MAX_MESSAGE = 0xFFFF
_EVENT_NUMBERS = 256
#: Pause after a burst, for devices that ask for one: they take a few bytes at a time and lose the rest.
BURST_PAUSE_S = 0.002


class Line:
    """A transport with frames on it.

    Attributes:
        name: The transport's.
        lost_events: Events that were sent and did not arrive.
    """

    def __init__(self, transport: Transport, on_log: Callable[[str], None] | None = None) -> None:
        self.name = transport.name
        self.lost_events = 0
        self._transport = transport
        self._on_log = on_log
        self._decoder = framing.Decoder(_MAX_MESSAGE)
        self._short = 0
        self._next_event: int | None = None

    @property
    def damaged(self) -> int:
        """Frames so far that were not whole messages."""
        return self._decoder.damaged + self._decoder.too_long + self._short

    def seconds_for(self, message_bytes: int) -> float:
        """Returns how long a message takes on the line."""
        speed = self._transport.bytes_per_second
        return framing.encoded_bytes(message_bytes) / speed if speed else 0.0

    def send(self, message: bytes, burst: int) -> None:
        """Sends a message, with a pause after every `burst` bytes (0: none)."""
        frame = framing.encode(message)
        step = burst or len(frame)
        for start in range(0, len(frame), step):
            if start:
                time.sleep(BURST_PAUSE_S)
            self._transport.write(frame[start : start + step])

    def receive(self, timeout_s: float) -> list[tuple[Header, bytes]]:
        """Waits for bytes and returns the messages they complete."""
        received = []
        for message in self._decoder.feed(self._transport.read(timeout_s)):
            if len(message) < messages.HEADER.size:
                self._short += 1
            else:
                received.append(messages.split(message))
        return received

    def forget_events(self) -> None:
        """Starts counting events anew: the device may have restarted."""
        self._next_event = None

    def note_event(self, header: Header, payload: bytes) -> bool:
        """Counts an event and hands on a log.

        Returns:
            False when the message is no event, or one that has been seen before.
        """
        if not Type.READY <= header.type < messages.REPLY:
            return False
        if self._next_event is None or header.type == Type.READY:
            self._next_event = header.code
        missing = (header.code - self._next_event) % _EVENT_NUMBERS
        if missing >= _EVENT_NUMBERS // 2:
            return False
        self.lost_events += missing
        self._next_event = (header.code + 1) % _EVENT_NUMBERS
        if header.type == Type.LOG and self._on_log is not None:
            self._on_log(payload.decode("utf-8", "replace"))
        return True

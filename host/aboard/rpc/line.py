"""Messages over a transport: frames outgoing messages, splits incoming bytes into messages, counts events."""

from __future__ import annotations

from collections.abc import Callable

from aboard.base import printable
from aboard.rpc import framing, messages
from aboard.rpc.messages import Header, Type
from aboard.transports.base import Transport

_MAX_MESSAGE = 0xFFFF
_EVENT_NUMBERS = 256


class Line:
    """A transport with frames on it.

    Attributes:
        name: Name of the transport.
        lost_events: Events that were sent and did not arrive.
        restarts: How often the device has reported a start.
        is_quiet: No bytes arrived during the last wait.
    """

    def __init__(self, transport: Transport, on_log: Callable[[str], None] | None = None) -> None:
        self.name = transport.name
        self.lost_events = 0
        self.restarts = 0
        self.is_quiet = True
        self._transport = transport
        self._on_log = on_log
        self._decoder = framing.Decoder(_MAX_MESSAGE)
        self._short = 0
        self._next_event: int | None = None

    @property
    def is_lossless(self) -> bool:
        """True if every byte arrives; see `Transport.is_lossless`."""
        return self._transport.is_lossless

    @property
    def damaged(self) -> int:
        """Frames so far that were not whole messages."""
        return self._decoder.damaged + self._decoder.too_long + self._short

    @property
    def in_frame(self) -> bool:
        """True while a frame has begun and not ended."""
        return self._decoder.in_frame

    def seconds_for(self, count: int) -> float:
        """Returns the seconds that so many bytes take on the line; 0 if the line has no rate."""
        speed = self._transport.bytes_per_second
        return count / speed if speed else 0.0

    def write(self, data: bytes) -> None:
        """Sends bytes of a frame."""
        self._transport.write(data)

    def receive(self, timeout_s: float) -> list[tuple[Header, bytes]]:
        """Waits for bytes and returns the messages that they complete."""
        received = []
        data = self._transport.read(timeout_s)
        self.is_quiet = not data
        for message in self._decoder.feed(data):
            if len(message) < messages.HEADER.size:
                self._short += 1
            else:
                received.append(messages.split(message))
        return received

    def forget_events(self) -> None:
        """Restarts the count of events, because the device may have restarted."""
        self._next_event = None

    def note_event(self, header: Header, payload: bytes) -> bool:
        """Counts an event and hands on a log.

        Returns:
            False if the message is no event, or an event that was seen before.
        """
        if not Type.READY <= header.type < messages.REPLY:
            return False
        if self._next_event is None or header.type == Type.READY:
            self._next_event = header.code
        self.restarts += header.type == Type.READY
        missing = (header.code - self._next_event) % _EVENT_NUMBERS
        if missing >= _EVENT_NUMBERS // 2:
            return False
        self.lost_events += missing
        self._next_event = (header.code + 1) % _EVENT_NUMBERS
        if header.type == Type.LOG and self._on_log is not None:
            self._on_log(printable.lines(payload.decode("utf-8", "replace")))
        return True

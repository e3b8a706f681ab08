from __future__ import annotations

from aboard.rpc import framing
from aboard.rpc.line import Line
from aboard.rpc.messages import Header, Type
from aboard.transports.base import Transport


class Recorder(Transport):
    """Keeps what is written, piece by piece, and gives out what it was given."""

    name = "recorder"
    bytes_per_second = 100.0

    def __init__(self, incoming: bytes = b"") -> None:
        self.written: list[bytes] = []
        self.incoming = incoming

    def read(self, timeout_s: float) -> bytes:
        data, self.incoming = self.incoming, b""
        return data

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.written.clear()


def test_the_time_that_bytes_take_follows_the_speed() -> None:
    assert Line(Recorder()).seconds_for(150) == 1.5


def test_frames_too_short_for_a_header_are_damage() -> None:
    good = Header(Type.LOG, 0, 0, 1).pack()
    line = Line(Recorder(framing.encode(b"short") + framing.encode(good) + b"\0xx\0"))
    assert line.receive(0) == [(Header(Type.LOG, 0, 0, 1), b"")]
    assert line.damaged == 2


def test_events_are_counted_and_repeated_ones_dropped() -> None:
    logs: list[str] = []
    line = Line(Recorder(), logs.append)

    def event(code: int, text: bytes = b"x", kind: Type = Type.LOG) -> bool:
        return line.note_event(Header(kind, code, 0, 1), text)

    assert event(254, b"first")
    assert event(255, b"second")
    assert not event(255, b"second")
    assert event(2, b"third")
    assert (line.lost_events, logs) == (2, ["first", "second", "third"])
    assert event(0, kind=Type.READY)
    assert event(1)
    assert line.lost_events == 2
    assert not event(2, kind=Type.STATS)
    line.forget_events()
    assert event(77)
    assert line.lost_events == 2

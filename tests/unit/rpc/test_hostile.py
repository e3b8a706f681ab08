"""A small part of the campaign with hostile devices (`tests/fuzz/hostile.py`), and what it has found."""

from __future__ import annotations

import pytest

from aboard.errors import DeviceError, DeviceStatusError, DeviceTimeout, ProtocolError
from aboard.rpc import framing, messages
from aboard.rpc.client import Client
from aboard.rpc.messages import Header, RunRequest, Type
from aboard.rpc.replies import ModelInfo, Progress
from aboard.rpc.status import Status
from aboard.transports.loopback import LoopbackTransport
from fuzz import hostile
from support.rpc_device import FakeDevice


def test_every_call_gives_a_result_or_an_error_in_time() -> None:
    counts = hostile.play(seed=1, calls=1000)
    assert counts["calls"] >= 1000
    assert min(counts["results"], counts["errors"]) > 100


def client_that(device: FakeDevice, changes: dict[int, int]) -> Client:
    """Returns a client of a device that answers requests of these types with these statuses."""

    def line(data: bytes) -> bytes:
        sent = b""
        for message in framing.Decoder(65535).feed(device.step(data)):
            status = changes.get(message[0] & 0x7F, message[1]) if message[0] & messages.REPLY else message[1]
            sent += framing.encode(message[:1] + bytes([status]) + message[2:])
        return sent

    return Client(LoopbackTransport(line), timing=hostile.TIMING)


def test_a_device_that_loses_every_session_is_an_error() -> None:
    client = client_that(FakeDevice(), {Type.MODEL: Status.SESSION})
    client.check = lambda hello: client.model(0) and None
    with pytest.raises(DeviceError, match="MODEL: the device has lost a session that has just begun"):
        client.connect()


def test_a_fault_instead_of_the_record_of_a_fault_is_an_error() -> None:
    client = client_that(FakeDevice(), {Type.STATS: Status.DEVICE, Type.FAULT: Status.DEVICE})
    with pytest.raises(DeviceStatusError, match="refuses FAULT, got status 12"):
        client.stats()


def test_a_clock_that_stands_still_is_an_error() -> None:
    device = FakeDevice()

    def line(data: bytes) -> bytes:
        received = framing.Decoder(65535).feed(device.step(data))
        return b"".join(framing.encode(m[:16] + bytes(4) + m[20:] if m[0] == 0x81 else m) for m in received)

    with pytest.raises(ProtocolError, match="the device's clock stands still, got 0 ticks in a second"):
        Client(LoopbackTransport(line)).connect()


@pytest.mark.parametrize("kind", [Type.ACCEPTED, Type.PROGRESS, Type.LOG, Type.DAMAGED, Type.READY])
def test_events_without_end_are_no_progress(kind: Type) -> None:
    with hostile.clock() as clock:
        line = hostile.HostileLine(0, clock)
        line._evil = 0.0
        client = Client(line, timing=hostile.TIMING)
        client.write_input(1, 0, bytes(20))
        number = iter(range(1_000_000_000))

        def event() -> bytes:
            header = Header(kind, next(number) % 256, line._last.id, line._last.session)
            return framing.encode(header.pack() + Progress(2).pack())

        line._changed = lambda message: line._endless_of(event)  # type: ignore[method-assign] # from here on only these
        begun = clock.now
        with pytest.raises((DeviceTimeout, ProtocolError)):
            client.run(RunRequest(1, count=3))
        assert clock.now - begun < 10


def test_names_of_a_device_are_printable() -> None:
    info = ModelInfo(0, 0, 0, 0, 0, False, False, bytes(32), "a\x1b[2J\u202eb\n", False)
    assert ModelInfo.unpack(info.pack()).name == "a\\x1b[2J\\u202eb\\n"

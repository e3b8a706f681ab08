"""A small part of the campaign with hostile devices (`tests/fuzz/hostile.py`), and what it has found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from aboard.errors import DeviceError, DeviceStatusError, DeviceTimeout, ProtocolError
from aboard.rpc import framing, messages
from aboard.rpc.client import Client
from aboard.rpc.messages import Header, RunRequest, TensorKind, Type
from aboard.rpc.replies import ModelInfo, Progress
from aboard.rpc.status import Status
from aboard.transports.loopback import LoopbackTransport
from fuzz import hostile
from fuzz.campaign import Campaign, Options
from support.rpc_device import FakeDevice


def test_every_call_gives_a_result_or_an_error_in_time() -> None:
    campaign = Campaign("hostile", Options(seed=1, cases=1000, seconds=600, out=Path("unused")))
    hostile.play(campaign)
    counts = campaign.counts
    assert (counts["cases"], counts["compared"], counts["failures"]) == (1000, 1000, 0)
    assert counts["results"] + counts["errors"] == 1000
    assert min(counts["results"], counts["errors"]) > 100


def _raises(session: object) -> None:
    raise KeyError("not an error of aboard")


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("_CALLS", (_raises,), "KeyError: 'not an error of aboard'"),
        ("LONGEST_S", -1.0, "a call took 0.0 s, expected -1.0 s at most"),
        ("printable", SimpleNamespace(lines=lambda text: ""), "hidden characters in"),
        ("MOST_MEMORY_KB", -1_000_000, "the host takes"),
    ],
)
def test_what_a_call_must_not_do_is_noticed_kept_and_repeated(
    name: str, value: object, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hostile, name, value)
    campaign = Campaign("hostile", Options(seed=1, cases=100, seconds=600, out=tmp_path))
    hostile.play(campaign)
    assert campaign.finish() == 1
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 3
    content = json.loads(kept[0].read_text())
    assert what in content["what"]
    assert hostile.replay(kept[0]) == 1
    monkeypatch.undo()
    assert hostile.replay(kept[0]) == 0


def test_hidden_characters_are_noticed() -> None:
    hostile.check_texts(["two\nlines", "a\\x1b[2J"])
    with pytest.raises(hostile.Broken, match=r"hidden characters in 'a\\x1b\[2J'"):
        hostile.check_texts(["a\x1b[2J"])


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


def changed(change: Callable[[bytes], bytes]) -> Client:
    """Returns a client of a device whose messages are changed on their way."""
    device = FakeDevice()

    def line(data: bytes) -> bytes:
        return b"".join(framing.encode(change(m)) for m in framing.Decoder(65535).feed(device.step(data)))

    return Client(LoopbackTransport(line), timing=hostile.TIMING)


AGAIN = r"\. Build the device's image again with this version of aboard$"


def test_a_device_that_refuses_to_greet_or_to_restart_is_named_with_the_next_step() -> None:
    with pytest.raises(ProtocolError, match=rf"refuses HELLO, got status 3 \(.*\), expected 0{AGAIN}"):
        client_that(FakeDevice(), {Type.HELLO: Status.NULL}).connect()
    with pytest.raises(DeviceStatusError, match=r"refuses RESET, got status 8 .*expected 0\. Restart the device"):
        client_that(FakeDevice(), {Type.RESET: Status.STATE}).reset()
    with pytest.raises(DeviceStatusError, match=rf"refuses STATS, got status 99 .*, expected 0{AGAIN}"):
        client_that(FakeDevice(), {Type.STATS: 99}).stats()


def test_replies_of_a_wrong_size_are_named_with_the_next_step() -> None:
    small = changed(lambda m: m[:20] + (127).to_bytes(2, "little") + m[22:] if m[0] == 0x81 else m)
    with pytest.raises(
        ProtocolError, match=r"too short, got 127 bytes, expected at least 128\. Make frame_bytes of the"
    ):
        small.connect()
    short = changed(lambda m: m[:-1] if m[0] == Type.READ | messages.REPLY else m)
    short.write_input(1, 0, bytes(20))
    short.run(RunRequest(1))
    with pytest.raises(ProtocolError, match=rf"READ: reply of a wrong length, got 19 bytes, expected 20{AGAIN}"):
        short.read_tensor(1, TensorKind.OUTPUT, 0, 20)


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

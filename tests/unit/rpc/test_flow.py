"""Credits: the host never has more bytes on their way than the device has room for."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from aboard.errors import DeviceError, DeviceTimeout
from aboard.rpc import framing, messages, replies
from aboard.rpc.client import Client
from aboard.rpc.exchange import Timing
from aboard.rpc.flow import SendWindow
from aboard.rpc.messages import Feature, Header, TensorKind, Type
from aboard.transports.base import Transport
from aboard.transports.loopback import LoopbackTransport
from aboard.transports.lossy import LossyTransport, Noise
from support.rpc_device import FakeDevice, FifoLine

FAST = Timing(attempt_s=0.02, attempts=6, settle_s=0.002, hello_s=0.5, patience_s=0.3)
A = np.arange(24, dtype=np.int8).tobytes()
SUM = np.arange(0, 48, 2, dtype=np.int8).tobytes()


def run_adder(client: Client) -> bytes:
    client.write_input(0, 0, A)
    client.write_input(0, 1, A)
    client.run(messages.RunRequest(0))
    return client.read_tensor(0, TensorKind.OUTPUT, 0, 24)


class Recorder(Transport):
    """Keeps what is written to a device, piece by piece."""

    name = "recorder"

    def __init__(self, device: FakeDevice) -> None:
        self.pieces: list[int] = []
        self._inner = device.transport()

    def read(self, timeout_s: float) -> bytes:
        return self._inner.read(timeout_s)

    def write(self, data: bytes) -> None:
        self.pieces.append(len(data))
        self._inner.write(data)

    def close(self) -> None:
        self._inner.close()


def window_of(burst: int, request: int = 1) -> SendWindow:
    window = SendWindow()
    window.open(replies.Hello(1, 1, 1, Feature.CREDIT, 1, 128, burst, 0, 0, 0, 0, "board", "build"))
    window.worked_on(request, 0)
    return window


def test_room_is_what_is_neither_on_its_way_nor_waiting() -> None:
    window = window_of(64)
    window.sent(40)
    assert window.room == 24
    window.taken(1, 32)
    assert window.room == 56
    window.taken(1, 20)  # late
    assert window.room == 56
    window.taken(1, 100)  # the line has repeated bytes
    assert window.room == 64
    window.sent(64)
    assert window.room == 0
    window.clear()
    assert window.room == 64
    window.sent(10)
    window.taken(1, 104)  # what was given up is no credit again
    assert window.room == 54


def test_a_request_that_is_worked_on_ends_what_was_before() -> None:
    window = window_of(64)
    window.begin()
    window.sent(30)
    window.sent(30)  # again
    window.worked_on(2, 30)
    assert window.room == 34
    window.taken(1, 60)  # late
    assert window.room == 34
    window.worked_on(2, 30)
    window.taken(2, 30)
    assert window.room == 64


@pytest.mark.parametrize("capacity", [16, 17, 32, 64, 200])
@pytest.mark.parametrize("per_turn", [1, 7, 1000])
def test_a_small_fifo_never_overruns(capacity: int, per_turn: int) -> None:
    device = FakeDevice(frame_bytes=256, burst=capacity)
    line = FifoLine(device, capacity, per_turn)
    client = Client(line, timing=Timing(attempt_s=2, settle_s=2))
    for _ in range(3):
        assert run_adder(client) == SUM
    assert line.overruns == 0
    assert client.stats().damaged == 0
    assert client.stats().duplicates == 0


def test_without_credits_it_does() -> None:
    line = FifoLine(FakeDevice(frame_bytes=256), 32)
    with pytest.raises(DeviceTimeout, match="no answer to WRITE"):
        run_adder(Client(line, timing=FAST))
    assert line.overruns > 0


def test_a_small_fifo_on_a_bad_line_never_overruns() -> None:
    device = FakeDevice(frame_bytes=256, burst=32)
    line = FifoLine(device, 32, 1000)
    patient = Timing(attempt_s=0.004, attempts=60, settle_s=0.001, hello_s=2, patience_s=2)
    client = Client(LossyTransport(line, Noise(drop=0.004, flip=0.004), seed=3), timing=patient)
    for _ in range(40):
        assert run_adder(client) == SUM
    assert line.overruns == 0
    assert client.stats().damaged > 10
    assert device.c.fake_runs() == 40


def test_a_device_without_credits_gets_pauses() -> None:
    """As version 1.0 has it: `burst` without credits."""
    device = FakeDevice(burst=24)
    recorder = Recorder(device)
    decoder = framing.Decoder(1000)

    def old(data: bytes) -> bytes:
        return b"".join(framing.encode(message) for message in _as_old(decoder.feed(device.step(data))))

    recorder._inner = LoopbackTransport(old)
    assert run_adder(Client(recorder, timing=FAST)) == SUM
    assert recorder.pieces == [16, 7, 24, 23, 24, 23, 24, 1, 24, 3]


def _as_old(received: Iterable[bytes]) -> Iterable[bytes]:
    for message in received:
        if message[0] == Type.HELLO | messages.REPLY:
            # Features without credits; they stand at offset 4 of the payload.
            yield message[:12] + bytes([message[12] & 0x0F]) + message[13:]
        elif message[0] != Type.CREDIT:
            yield message


def test_credits_of_another_session_do_not_count() -> None:
    device = FakeDevice(burst=32)
    foreign = framing.encode(Header(Type.CREDIT, 200, 0, 0xABCD).pack() + replies.Credit(1 << 20).pack())
    line = FifoLine(device, 32, 3)
    read = line.read
    line.read = lambda timeout_s: foreign + read(timeout_s)  # type: ignore[method-assign] # a line with an echo
    assert run_adder(Client(line, timing=FAST)) == SUM
    assert line.overruns == 0


def test_a_device_that_restarts_while_a_request_is_sent_is_asked_anew() -> None:
    device = FakeDevice(burst=32)
    client = Client(FifoLine(device, 32, 3), timing=FAST)
    assert run_adder(client) == SUM
    device.c.fake_start(15, 256, 32)
    with pytest.raises(DeviceError, match=r"WRITE: the device .*restart"):
        client.write_input(0, 0, A)
    assert run_adder(client) == SUM

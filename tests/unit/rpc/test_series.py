"""Series of runs: what they report, and what ends them early."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest

from aboard.device.session import Session
from aboard.errors import DeviceError, DeviceTimeout, InputError, ProtocolError
from aboard.rpc import framing, messages
from aboard.rpc.client import Client
from aboard.rpc.messages import Header, OpRunRequest, RunRequest, TensorKind, Type
from aboard.rpc.replies import RunReply
from aboard.rpc.timing import Timing
from aboard.transports.base import Transport
from support.rpc_device import FakeDevice
from support.toy_project import ToyProject

FAST = Timing(attempt_s=0.02, attempts=4, settle_s=0.001, hello_s=0.2, patience_s=0.2)
DOUBLER = 1
MANY = 4_000_000_000
X = np.arange(5, dtype=np.float32)
#: Ticks of the looks at the clock: one at the beginning, then begin and end of a run and one for its progress.
DURATIONS = (700, 30, 900)
LOOKS = (1, *(look for ticks in DURATIONS for look in (5, ticks, 3)))


def pace(device: FakeDevice) -> None:
    device.c.fake_set_ticks(LOOKS, len(LOOKS))


class Stepwise(Transport):
    """A line to a device that makes a few runs of a series between two looks of the host.

    A real one works beside the host; this one would work on a series until its end. So bytes of the host are kept until
    it has waited, and `interrupt` happens then.
    """

    name = "stepwise"

    def __init__(self, device: FakeDevice, interrupt: Callable[[], None] | None = None) -> None:
        self.requests: list[int] = []
        self._requests, self._events = framing.Decoder(65535), framing.Decoder(65535)
        self._next_event = 0
        self._device = device
        self._interrupt = interrupt
        self._held = b""
        self._sent = b""

    def read(self, timeout_s: float) -> bytes:
        data, self._sent = self._sent, b""
        if data or not self._held:
            return data
        # The device has said that it works; nothing more comes until a frame ends the series.
        if self._interrupt is not None:
            interrupt, self._interrupt = self._interrupt, None
            interrupt()
        return b""

    def write(self, data: bytes) -> None:
        completed = self._requests.feed(data)
        for message in completed:
            header, payload = messages.split(message)
            self.requests.append(header.type)
            if header.type == Type.RUN and RunRequest(*RunRequest.form.unpack(payload)).count == MANY:
                self._held += data
                self._sent += framing.encode(Header(Type.ACCEPTED, self._next_event, header.id, header.session).pack())
                return
        if self._held and not completed:
            self._held += data
            return
        sent = self._device.step(self._held + data)
        for event in (message for message in self._events.feed(sent) if not message[0] & messages.REPLY):
            self._next_event = event[1] + 1
        self._sent += sent
        self._held = b""

    def close(self) -> None:
        self._held = b""


def test_a_series_reports_its_fewest_most_and_total_ticks() -> None:
    device = FakeDevice()
    client = Client(device.transport())
    client.write_input(DOUBLER, 0, X.tobytes())
    pace(device)
    reply = client.run(RunRequest(DOUBLER, count=3))
    assert (reply.runs, reply.ticks_min, reply.ticks_max, reply.ticks_total) == (3, 30, 900, 1630)


def test_so_does_a_series_of_a_node() -> None:
    device = FakeDevice()
    client = Client(device.transport())
    client.connect()
    pace(device)
    reply = client.run(OpRunRequest(0, 0, count=3))
    assert (reply.runs, reply.ticks_min, reply.ticks_max, reply.ticks_total) == (3, 30, 900, 1630)


def test_so_does_a_session() -> None:
    device = FakeDevice()
    with Session.attach(ToyProject(), device.transport()) as session:
        pace(device)
        series = session.run_n(X, 3, DOUBLER)
    assert series.count == 3
    assert (series.fewest.ticks, series.most.ticks, series.total.ticks) == (30, 900, 1630)


def test_so_does_a_session_that_has_to_write_the_inputs_each_time() -> None:
    device = FakeDevice(has=2)  # without a copy of the inputs
    inputs = {"a": np.zeros((1, 2, 3, 4), np.int8), "b": np.zeros((1, 2, 3, 4), np.int8)}
    with Session.attach(ToyProject(), device.transport()) as session:
        looks = [look for ticks in DURATIONS for look in (1, 5, ticks, 3)]
        device.c.fake_set_ticks(looks, len(looks))
        series = session.run_n(inputs, 3, "adder")
    assert (series.count, series.fewest.ticks, series.most.ticks, series.total.ticks) == (3, 30, 900, 1630)
    assert device.c.fake_runs() == 3


def test_the_first_run_may_be_the_fastest() -> None:
    device = FakeDevice()
    client = Client(device.transport())
    client.write_input(DOUBLER, 0, X.tobytes())
    looks = (1, 5, 20, 3, 5, 50, 3)
    device.c.fake_set_ticks(looks, len(looks))
    reply = client.run(RunRequest(DOUBLER, count=2))
    assert (reply.ticks_min, reply.ticks_max, reply.ticks_total) == (20, 50, 70)


def test_a_series_ends_when_its_time_is_over() -> None:
    device = FakeDevice()
    line = Stepwise(device)
    client = Client(line)
    client.write_input(DOUBLER, 0, X.tobytes())
    reply = client.run(RunRequest(DOUBLER, count=MANY), within_s=0.02)
    assert 1 <= reply.runs == device.c.fake_runs() < 10
    assert reply.ticks_total == 10 * reply.runs
    assert line.requests[-1] == Type.STOP
    assert np.frombuffer(client.read_tensor(DOUBLER, TensorKind.OUTPUT, 0, 20), np.float32).tolist() == (2 * X).tolist()


def test_a_session_says_how_many_runs_there_were() -> None:
    device = FakeDevice()
    with Session.attach(ToyProject(), Stepwise(device)) as session:
        series = session.run_n(X, MANY, DOUBLER, within_s=0.02)
        assert 1 <= series.count == device.c.fake_runs() < 10
        assert series.total.ticks == 10 * series.count
        np.testing.assert_array_equal(session.run(X, DOUBLER), 2 * X.reshape(1, 5))


def test_a_session_without_a_copy_stops_writing_when_the_time_is_over() -> None:
    device = FakeDevice(has=2)
    inputs = {"a": np.zeros((1, 2, 3, 4), np.int8), "b": np.zeros((1, 2, 3, 4), np.int8)}
    with Session.attach(ToyProject(), device.transport()) as session:
        series = session.run_n(inputs, 1_000_000, "adder", within_s=0.05)
        assert 1 <= series.count == device.c.fake_runs() < 100_000
        assert session.run_n(inputs, 5, "adder", within_s=0.0).count == 1
        with pytest.raises(InputError, match="within_s"):
            session.run_n(inputs, 5, "adder", within_s=-1.0)


def test_ctrl_c_ends_the_series_on_the_device_too() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    device = FakeDevice()
    line = Stepwise(device, interrupt)
    client = Client(line)
    client.write_input(DOUBLER, 0, X.tobytes())
    with pytest.raises(KeyboardInterrupt):
        client.run(RunRequest(DOUBLER, count=MANY))
    assert line.requests[-1] == Type.STOP
    assert 1 <= device.c.fake_runs() < 10
    assert client.run(RunRequest(DOUBLER, count=2)).runs == 2


def test_a_series_that_is_given_up_is_ended_too() -> None:
    device = FakeDevice()
    line = Stepwise(device)
    client = Client(line, timing=FAST)
    client.write_input(DOUBLER, 0, X.tobytes())
    with pytest.raises(DeviceTimeout, match="no reply to RUN"):
        client.run(RunRequest(DOUBLER, count=MANY), patience_s=0.05)
    assert line.requests[-1] == Type.STOP
    assert device.c.fake_runs() >= 1


def test_a_series_that_another_host_ends_is_an_error() -> None:
    device = FakeDevice()
    other = framing.encode(Header(Type.HELLO, 0, 0, 77).pack() + messages.HelloRequest(1000).pack())
    client = Client(device.transport(), timing=FAST)
    client.write_input(DOUBLER, 0, X.tobytes())
    step = device.step
    device.step = lambda data: step(data + other if data[2:3] == bytes([Type.RUN]) else data)  # type: ignore[method-assign] # another host on the line
    client._line._transport = device.transport()
    with pytest.raises(
        DeviceError, match=r"RUN: the series has ended early, got 2 runs, expected 1000\. Another request"
    ):
        client.run(RunRequest(DOUBLER, count=1000))


def test_a_host_that_comes_back_is_answered_although_a_series_was_going_on() -> None:
    device = FakeDevice()
    line = Stepwise(device)
    first = Client(line)
    first.write_input(DOUBLER, 0, X.tobytes())
    header = Header(Type.RUN, 0, 50, first._session.nonce if first._session else 0)
    line.write(framing.encode(header.pack() + RunRequest(DOUBLER, count=MANY).pack()))
    # Killed here.
    assert Client(line).connect().board == "fake/device"
    assert 1 <= device.c.fake_runs() < 10


@pytest.mark.parametrize(
    ("numbers", "what"),
    [
        ((0, 0, 0, 0, 1, 0), "0 runs"),
        ((4, 1, 1, 4, 1, 0), "4 runs"),
        ((3, 5, 4, 12, 1, 0), "3 runs of 5 to 4 ticks"),
        ((3, 5, 6, 14, 1, 0), "14 in all"),
        ((3, 5, 6, 19, 1, 0), "19 in all"),
    ],
)
def test_a_reply_that_contradicts_itself_is_refused(numbers: tuple[int, ...], what: str) -> None:
    reply = RunReply.unpack(struct.pack("<IQQQII", *numbers))
    with pytest.raises(
        ProtocolError,
        match=rf"RUN: the reply contradicts itself, got .*{what}.*expected 1 to 3 runs and their sum\. Build",
    ):
        reply.check(3, "RUN")
    RunReply(3, 5, 6, 16, 1, 0).check(3, "RUN")

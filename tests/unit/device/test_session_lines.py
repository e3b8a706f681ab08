"""A session whose line, device or emulator goes away or fails."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from aboard.device.session import Session
from aboard.errors import (
    DeviceFault,
    DeviceTimeout,
    TransportError,
)
from aboard.transports.loopback import LoopbackTransport
from aboard.transports.lossy import LossyTransport, Noise
from support.rpc_device import FakeDevice
from support.toy_project import ToyProject
from support.toy_session import FAST, INPUTS, ToyRunner, attach


def test_a_crash_is_named_and_the_next_call_works() -> None:
    fake = FakeDevice()
    with attach(fake) as device:
        assert device.fault() is None
        fake.c.fake_crash_in_next_run(3)
        with pytest.raises(DeviceFault, match="RUN: the device crashed and restarted, got fault 3"):
            device.run(INPUTS, model="adder")
        device.run(INPUTS, model="adder")
        fault = device.fault(clear=True)
        assert fault is not None
        assert (fault.kind, fault.status, fault.address, fault.registers["pc"]) == (3, 0x82, 0xCAFE, 0x1234)
        assert device.fault() is None


def test_a_line_that_is_gone_ends_the_session() -> None:
    fake = FakeDevice()
    alive = [True]

    def line(data: bytes) -> bytes:
        if not alive[0]:
            raise TransportError("toy line: the other end is gone")
        return fake.step(data)

    runner = ToyRunner()
    with Session.attach(ToyProject(), LoopbackTransport(line), runner, timing=FAST) as device:
        device.run(INPUTS, model="adder")
        alive[0] = runner.lives = False
        with pytest.raises(TransportError, match=r"the other end is gone \(toy runner: ended by signal 9\)"):
            device.run(INPUTS, model="adder")
        alive[0] = True
        with pytest.raises(
            TransportError,
            match=r"session: has ended\. Open a new session; the reason: toy line: the other end is gone",
        ):
            device.stats()
    assert runner.stopped == 1
    with pytest.raises(TransportError, match="session: has ended"):
        device.stats()


class VanishingLine(LoopbackTransport):
    """A port of USB that the device has itself: it goes when the device restarts."""

    reopens = True

    def __init__(self, fake: FakeDevice) -> None:
        super().__init__(fake.step, "toy port")
        self.opened = 1
        self._fake = fake
        self._gone = False

    def read(self, timeout_s: float) -> bytes:
        resets = self._fake.c.fake_resets()
        data = b"" if self._gone else super().read(timeout_s)
        self._gone = self._gone or self._fake.c.fake_resets() > resets
        if self._gone:
            raise TransportError("toy port: the port is gone")
        return data

    def reopen(self, timeout_s: float) -> None:
        self.opened += 1
        self._gone = False


def test_a_board_that_takes_its_port_away_when_it_restarts() -> None:
    line = VanishingLine(FakeDevice())
    with Session.attach(ToyProject(), line, ToyRunner(), timing=FAST) as device:
        device.run(INPUTS, model="adder")
        device.reset()
        assert line.opened == 2
        assert device.stats().requests == 4
        device.run(INPUTS, model="adder")


def test_a_port_that_goes_ends_the_session_only_with_its_device() -> None:
    line = VanishingLine(FakeDevice())
    runner = ToyRunner()
    with Session.attach(ToyProject(), line, runner, timing=FAST) as device:
        line._gone = True
        with pytest.raises(TransportError, match=r"^toy port: the port is gone$"):
            device.stats()
        assert device.stats().requests == 8  # the device has not restarted: two sessions of a hello, two models, stats
        line._gone, runner.lives = True, False
        with pytest.raises(TransportError, match=r"the port is gone \(toy runner: ended by signal 9\)"):
            device.stats()
        with pytest.raises(TransportError, match="session: has ended"):
            device.stats()
    assert line.opened == 2


def test_the_rate_of_a_line_is_measured() -> None:
    with attach(FakeDevice()) as device:
        rate = device.measure_line(3)
        device.run(INPUTS, model="adder")
    assert rate.write_bytes_per_second > 100
    assert rate.read_bytes_per_second > 100
    assert 0 < rate.round_trip_s < 1
    assert (rate.line_bytes_per_second, rate.write_share, rate.read_share) == (None, None, None)
    assert replace(rate, line_bytes_per_second=2 * rate.read_bytes_per_second).read_share == 0.5


def test_a_dead_emulator_behind_an_open_line_is_told_from_a_silent_device() -> None:
    fake = FakeDevice()
    silent = [False]
    runner = ToyRunner()
    transport = LoopbackTransport(lambda data: b"" if silent[0] else fake.step(data))
    with Session.attach(ToyProject(), transport, runner, timing=FAST) as device:
        silent[0] = True
        with pytest.raises(DeviceTimeout, match="no answer to STATS, got silence after 4 attempts"):
            device.stats()
        runner.lives = False
        with pytest.raises(TransportError, match=r"no answer to STATS.*\(toy runner: ended by signal 9"):
            device.stats()


def test_nobody_at_the_other_end() -> None:
    runner = ToyRunner()
    with pytest.raises(DeviceTimeout, match="no answer to HELLO"):
        Session.attach(ToyProject(), LoopbackTransport(lambda _: b""), runner, timing=FAST)
    assert runner.stopped == 1


def test_a_session_over_a_bad_line_gives_right_results() -> None:
    fake = FakeDevice()
    noise = Noise(drop=0.001, flip=0.001, repeat_chunk=0.02, drop_chunk=0.02)
    patient = replace(FAST, attempt_s=0.004, attempts=40, hello_s=2.0, patience_s=2.0)
    rng = np.random.default_rng(11)
    with Session.attach(ToyProject(), LossyTransport(fake.transport(), noise, seed=2), timing=patient) as device:
        for _ in range(60):
            a, b = (rng.integers(-128, 128, (1, 2, 3, 4), np.int8) for _ in range(2))
            outputs = device.run({"a": a, "b": b}, model="adder")
            assert isinstance(outputs, dict)
            np.testing.assert_array_equal(outputs["sum"], np.clip(a.astype(int) + b, -128, 127))
    assert fake.c.fake_runs() == 60

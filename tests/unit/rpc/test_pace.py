"""How long a host waits: on a clock that only waiting moves, so that figures are those of the protocol."""

from __future__ import annotations

import numpy as np
import pytest

from aboard.rpc import framing, messages
from aboard.rpc.client import Client
from aboard.rpc.line import Line
from aboard.rpc.messages import Header, RunRequest, TensorKind, Type
from aboard.rpc.pace import Errand, Pace
from aboard.rpc.timing import Timing
from aboard.transports.base import Transport
from aboard.transports.loopback import LoopbackTransport
from aboard.transports.lossy import LossyTransport, Noise
from fuzz import hostile
from support.rpc_device import FakeDevice

ONE_PERCENT = Noise(flip=0.01)
_LATENCY_S = 0.001


class SlowLine(Transport):
    """A line of 11,520 bytes a second to a real server, which takes a millisecond to answer."""

    name = "slow line"
    bytes_per_second = 11_520.0

    def __init__(self, device: FakeDevice, clock: hostile.Clock) -> None:
        self.written = 0
        self._device = device
        self._clock = clock
        self._sent = b""

    def read(self, timeout_s: float) -> bytes:
        data, self._sent = self._sent, b""
        self._clock.sleep(_LATENCY_S + len(data) / self.bytes_per_second if data else timeout_s)
        return data

    def write(self, data: bytes) -> None:
        self.written += len(data)
        self._clock.sleep(len(data) / self.bytes_per_second)
        self._sent += self._device.step(data)

    def close(self) -> None:
        self._sent = b""


def seconds_of(calls: int, noise: Noise) -> tuple[float, int]:
    """Returns how long calls take, of which all have to be right, and how often the models ran."""
    generator = np.random.default_rng(4)
    with hostile.clock() as clock:
        device = FakeDevice()
        client = Client(LossyTransport(SlowLine(device, clock), noise, seed=9))
        client.connect()
        begun = clock.now
        for _ in range(calls):
            x = generator.standard_normal(5).astype(np.float32)
            client.write_input(1, 0, x.tobytes())
            client.run(RunRequest(1))
            np.testing.assert_array_equal(
                np.frombuffer(client.read_tensor(1, TensorKind.OUTPUT, 0, 20), np.float32), 2 * x
            )
        return clock.now - begun, device.c.fake_runs()


def test_a_thousand_calls_with_one_byte_in_a_hundred_damaged_take_a_few_times_as_long() -> None:
    clean, noisy = seconds_of(1000, Noise()), seconds_of(1000, ONE_PERCENT)
    assert (clean[1], noisy[1]) == (1000, 1000)
    assert noisy[0] < 5 * clean[0]


@pytest.mark.parametrize("noise", [Noise(drop=0.01), Noise(drop=0.005, flip=0.005), Noise(drop_chunk=0.1)])
def test_what_is_lost_costs_little_too(noise: Noise) -> None:
    clean, noisy = seconds_of(300, Noise()), seconds_of(300, noise)
    assert noisy[1] == 300
    assert noisy[0] < 10 * clean[0]


def pace(*, is_lossless: bool = False, timing: Timing | None = None) -> Pace:
    transport = LoopbackTransport(lambda data: b"")
    transport.is_lossless = is_lossless
    return Pace(Line(transport), timing or Timing())


def test_the_first_wait_is_long_and_then_follows_the_round_trip() -> None:
    measured = pace()
    assert measured.wait_s(Errand(), 20) == 1.0
    for _ in range(50):
        measured.measured(0.2, 0.0)
    assert 0.2 <= measured.wait_s(Errand(), 20) < 0.21
    measured.measured(0.6, 0.0)  # once slower: the deviation makes room for it
    assert measured.wait_s(Errand(), 20) > 0.6


def test_no_wait_is_shorter_than_the_grain_of_clocks() -> None:
    measured = pace()
    for _ in range(50):
        measured.measured(0.0001, 0.0)
    assert measured.wait_s(Errand(), 20) == 0.02
    assert measured.wait_s(Errand(runs=1), 20) == 0.06


def test_a_line_that_loses_nothing_keeps_long_waits() -> None:
    measured = pace(is_lossless=True)
    for _ in range(50):
        measured.measured(0.0001, 0.0)
    assert measured.wait_s(Errand(runs=1), 20) == 1.0
    measured.worked(Errand(runs=1, work="x"), 1, 0.001)
    assert measured.working_s(Errand(runs=1, work="x"), 1.0) == 15.0


def test_a_run_may_take_twice_as_long_as_those_before() -> None:
    measured, errand = pace(), Errand(runs=10, work="model 0")
    assert measured.working_s(errand, 0.06) == 15.0
    measured.worked(errand, 10, 5.0)
    assert measured.working_s(errand, 0.06) == pytest.approx(0.06 + 2 * 5.0)
    assert measured.working_s(Errand(runs=1, work="model 1"), 0.06) == 15.0


def test_a_reply_that_comes_twice_shows_that_the_wait_was_too_short() -> None:
    measured, header = pace(), Header(Type.STATS | messages.REPLY, 0, 7, 1)
    for _ in range(50):
        measured.measured(0.001, 0.0)
    measured.answered(header, 0.5)
    measured.late(Header(Type.STATS | messages.REPLY, 0, 6, 1))
    assert measured.wait_s(Errand(), 20) == 0.02
    measured.late(header)
    assert measured.wait_s(Errand(), 20) > 0.4


def test_pieces_get_smaller_with_errors_and_grow_again_without() -> None:
    measured = pace()
    assert measured.best_piece() is None
    for _ in range(100):
        measured.passed(100, 1)
    small = measured.best_piece()
    assert small is not None
    assert 30 < small < 60
    for _ in range(1000):
        measured.passed(1000, 0)
    large = measured.best_piece()
    assert large is None or large > 10 * small
    for _ in range(10_000):
        measured.passed(10, 10)
    assert measured.best_piece() == 16


def test_a_large_tensor_passes_a_bad_line_in_small_pieces() -> None:
    with hostile.clock() as clock:
        device = FakeDevice(frame_bytes=256)
        client = Client(LossyTransport(SlowLine(device, clock), ONE_PERCENT, seed=3))
        data = bytes(range(96))
        for _ in range(40):
            client.write_workspace(0, data)
            assert client.read_workspace(0, 96) == data
        assert next(length for _, length in client._pieces(96)) < 96


def test_a_slow_device_is_not_asked_again_and_again() -> None:
    """A stall of ten seconds costs a handful of repetitions, not one for each round trip."""
    with hostile.clock() as clock:
        device = FakeDevice()
        line = SlowLine(device, clock)
        client = Client(line)
        for _ in range(20):
            client.stats()
        seen, stalled_until = framing.Decoder(1000), clock.now + 10
        requests: list[bytes] = []

        def stalled(data: bytes) -> None:
            requests.extend(seen.feed(data))
            clock.sleep(len(data) / 11_520)
            line._sent += device.step(data) if clock.now >= stalled_until else b""

        line.write = stalled  # type: ignore[method-assign] # a device that does something else for ten seconds
        client.stats()
        assert len(requests) < 18
        assert device.c.fake_runs() == 0

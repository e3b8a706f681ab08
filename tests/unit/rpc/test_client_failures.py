"""A client whose device crashes, restarts, falls silent or damages replies."""

from __future__ import annotations

import time

import numpy as np
import pytest

from aboard.errors import DeviceError, DeviceFault, DeviceTimeout, ProtocolError
from aboard.rpc import framing, messages
from aboard.rpc.client import Client
from aboard.rpc.exchange import Timing
from aboard.rpc.messages import TensorKind, Type
from aboard.transports.loopback import LoopbackTransport
from aboard.transports.lossy import LossyTransport, Noise
from support.rpc_device import FakeDevice
from support.toy_client import FAST, A, B, add, client_of, masked, run_adder


def test_a_crash_in_a_run_is_named_and_the_next_call_works() -> None:
    device = FakeDevice()
    client = client_of(device)
    run_adder(client, A, B)
    device.c.fake_crash_in_next_run(3)
    with pytest.raises(
        DeviceFault,
        match=r"RUN: the device crashed and restarted, got fault 3 .*0x0000cafe.*00001234.*\nRepeat the call",
    ):
        run_adder(client, A, B)
    assert run_adder(client, A, B) == add(A, B)
    assert client.fault().kind == 3
    client.clear_fault()
    assert client.fault().kind == 0


def test_a_restart_in_a_run_is_named_and_the_next_call_works() -> None:
    device = FakeDevice()
    client = client_of(device)
    client.connect()
    device.c.fake_crash_in_next_run(0)
    with pytest.raises(DeviceError, match="RUN: the device restarted, expected a reply"):
        run_adder(client, A, B)
    assert run_adder(client, A, B) == add(A, B)


def test_another_host_takes_over() -> None:
    device = FakeDevice()
    first, second = client_of(device), client_of(device)
    run_adder(first, A, B)
    assert run_adder(second, B, A) == add(A, B)
    with pytest.raises(DeviceError, match="lost the session"):
        first.stats()
    assert run_adder(first, A, A) == add(A, A)


def test_a_silent_device_is_a_timeout_that_says_what_was_tried() -> None:
    client = Client(LoopbackTransport(lambda _: b"", "nobody"), timing=FAST)
    with pytest.raises(DeviceTimeout, match=r"nobody: no answer to HELLO, got silence after \d+ attempts in 0\.\d s"):
        client.connect()


def test_a_device_that_falls_silent_after_accepting() -> None:
    device = FakeDevice()
    accepted = framing.Decoder(1000)

    def mute(data: bytes) -> bytes:
        kept = b""
        for message in accepted.feed(device.step(data)):
            if message[0] != Type.RUN | messages.REPLY:
                kept += framing.encode(message)
        return kept

    client = Client(LoopbackTransport(mute, "mute"), timing=FAST)
    with pytest.raises(DeviceTimeout, match="mute: no reply to RUN, got silence since the device accepted it"):
        run_adder(client, A, B)
    assert device.c.fake_runs() == 1


def test_damaged_replies_are_asked_for_again_and_then_reported() -> None:
    device = FakeDevice()
    damage = [True]

    def line(data: bytes) -> bytes:
        sent = device.step(data)
        return sent[:-4] + bytes([sent[-4] ^ 0x80]) + sent[-3:] if sent and damage[0] else sent

    client = Client(LoopbackTransport(line, "bad line"), timing=FAST)
    with pytest.raises(ProtocolError, match=r"bad line: the replies to HELLO are damaged, got \d+ broken frames"):
        client.connect()
    damage[0] = False
    assert run_adder(client, A, B) == add(A, B)


def test_a_reply_that_has_lost_its_end_is_asked_for_again_when_the_line_is_quiet() -> None:
    device = FakeDevice()
    cut = [True]

    def line(data: bytes) -> bytes:
        sent = device.step(data)
        if cut[0] and bytes([Type.RUN | messages.REPLY]) in sent:
            cut[0] = False
            return sent[:-1]  # the zero that ends the frame
        return sent

    slow = Timing(attempt_s=2, settle_s=0.01)
    client = Client(LoopbackTransport(line), timing=slow)
    start = time.monotonic()
    assert run_adder(client, A, B) == add(A, B)
    assert time.monotonic() - start < 2
    assert not cut[0]
    assert device.c.fake_runs() == 1


def test_a_thousand_calls_over_a_bad_line() -> None:
    device = FakeDevice()
    noise = Noise(drop=0.001, flip=0.001, repeat_chunk=0.02, drop_chunk=0.02, cut_chunk=0.02)
    timing = Timing(attempt_s=0.003, attempts=40, settle_s=0.0005, hello_s=2, patience_s=2)
    client = Client(LossyTransport(device.transport(), noise, seed=7), timing=timing)
    generator = np.random.default_rng(1)
    runs = 200  # of five calls each: two writes, a run, two reads
    for _ in range(runs):
        a, b = (generator.integers(-128, 128, 24, np.int8).tobytes() for _ in range(2))
        assert run_adder(client, a, b) == add(a, b)
        assert client.read_tensor(0, TensorKind.OUTPUT, 1, 24) == masked(add(a, b))
    assert device.c.fake_runs() == runs
    stats = client.stats()
    assert stats.damaged > 10
    assert stats.duplicates > 10

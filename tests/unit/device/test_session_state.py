"""The state of a model in a session, with the firmware's server in this process."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from aboard.device.session import Session
from aboard.errors import DeviceStatusError, InputError, ProtocolError
from aboard.rpc.client import Client
from aboard.rpc.exchange import Timing
from aboard.transports.loopback import LoopbackTransport
from aboard.transports.lossy import LossyTransport, Noise
from support.rpc_device import ALL, FakeDevice
from support.toy_project import ADDER, KEEPER, ToyProject

FAST = Timing(attempt_s=0.02, attempts=4, settle_s=0.001, hello_s=0.2, patience_s=0.1)
PROJECT = ToyProject(models=(ADDER, KEEPER))
X = np.array([10, 20, 30, 40], np.uint8)
TOTAL = np.array([1, 2, 3, 4], np.uint8)


def attach(*, linked: bool = True, has: int = ALL) -> Session:
    device = FakeDevice()
    assert device.c.fake_start_states(has, 256, linked) == 0
    return Session.attach(PROJECT, device.transport(), None, timing=FAST)


def assert_state(session: Session, total: np.ndarray, runs: int) -> None:
    state = session.state("keeper")
    assert list(state) == ["total", "runs"]
    np.testing.assert_array_equal(state["total"], total)
    np.testing.assert_array_equal(state["runs"], np.array([runs], np.int16))
    assert (state["total"].dtype, state["runs"].dtype) == (np.uint8, np.int16)


def test_a_restored_state_gives_the_same_outputs() -> None:
    with attach() as session:
        assert_state(session, TOTAL, 0)
        session.run(X, "keeper")
        saved = session.state("keeper")
        later = session.run_many([X + i for i in range(6)], "keeper")
        assert_state(session, TOTAL + 7 * X + 15, 7)
        session.set_state(saved, "keeper")
        np.testing.assert_array_equal(session.run_many([X + i for i in range(6)], "keeper"), later)
        session.reset_state("keeper")
        assert_state(session, TOTAL, 0)


def test_a_series_has_a_step_for_each_run() -> None:
    with attach() as session:
        assert session.run_n(X, 5, "keeper").count == 5
        assert_state(session, TOTAL + 5 * X, 5)


@pytest.mark.parametrize("call", ["profile", "trace"])
def test_each_call_is_one_step(call: str) -> None:
    with attach() as session:
        session.run(X, "keeper")
        found = getattr(session, call)(X, model="keeper")
        assert_state(session, TOTAL + 2 * X, 2)
    outputs = found.run.outputs if call == "profile" else found[0]
    np.testing.assert_array_equal(outputs["y"], TOTAL + 2 * X)


def test_a_trace_that_needs_several_runs_is_one_step() -> None:
    device = FakeDevice()
    assert device.c.fake_start_states(ALL, 256, 1) == 0
    lost = 2

    def step(data: bytes) -> bytes:
        nonlocal lost
        sent = device.step(data)
        frames = [frame for frame in sent.split(b"\0") if frame]
        kept = [frame for frame in frames if frame[1] != 0x44]
        if lost and len(kept) < len(frames):
            # Without the TRACE event, which comes between ACCEPTED and the reply.
            lost -= 1
            assert len(kept) == len(frames) - 1
            sent = b"".join(b"\0" + frame + b"\0" for frame in kept)
        return sent

    with Session.attach(PROJECT, LoopbackTransport(step), None, timing=FAST) as session:
        traced = session.trace(X, model="keeper")
        assert lost == 0
        np.testing.assert_array_equal(traced[0]["y"], TOTAL + X)
        assert_state(session, TOTAL + X, 1)
    assert device.c.fake_runs() == 3


def test_a_model_without_state_has_an_empty_one() -> None:
    with attach(linked=False) as session:
        assert session.state("adder") == {}
        session.set_state({}, "adder")
        session.reset_state("adder")
        served = session.stats().requests
        session.reset_state("adder")
        assert session.stats().requests == served + 1


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"total": TOTAL}, "keeper: state runs is missing, got total, expected total, runs. Pass an array for each"),
        ({"total": TOTAL, "runs": [0], "x": X}, "keeper: state x is not one of the model's"),
        ({"total": TOTAL, "Runs": [0]}, "keeper: state Runs is not one of the model's. Did you mean runs?"),
        ({"total": TOTAL[:3], "runs": [0]}, "keeper: state total has a wrong shape, got (3,), expected (4,)"),
        ({"total": TOTAL + 300.0, "runs": [0]}, "keeper: state total has a wrong type, got float64, expected uint8"),
        ({"total": TOTAL, "runs": [40_000]}, "keeper: state runs has a wrong type, got int64, expected int16"),
    ],
)
def test_a_wrong_state_is_named_and_nothing_is_written(state: dict[str, np.ndarray], message: str) -> None:
    with attach() as session:
        session.run(X, "keeper")
        with pytest.raises(InputError, match=re.escape(message)):
            session.set_state(state, "keeper")
        assert_state(session, TOTAL + X, 1)


def test_an_image_without_the_code_says_so() -> None:
    with attach(linked=False) as session:
        session.run(X, "keeper")
        with pytest.raises(DeviceStatusError, match="refuses READ, got status 6"):
            session.state("keeper")


def test_firmware_of_an_older_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with attach() as session:
        old = replace(session.hello, minor=2)
        monkeypatch.setattr(Client, "hello", property(lambda _: old))
        for call in (session.state, session.reset_state):
            with pytest.raises(ProtocolError, match=r"got version 1\.2 of the protocol, expected 1\.3 or later"):
                call("keeper")


def test_a_bad_line_neither_loses_nor_repeats_a_step() -> None:
    device = FakeDevice()
    assert device.c.fake_start_states(ALL, 256, 1) == 0
    line = LossyTransport(device.transport(), Noise(flip=0.004, drop=0.004), seed=1)
    patient = Timing(attempt_s=0.005, attempts=40, settle_s=0.0005, hello_s=2, patience_s=2)
    with Session.attach(PROJECT, line, timing=patient) as session:
        for step in range(1, 31):
            session.run(X, "keeper")
            session.set_state(session.state("keeper"), "keeper")
            assert_state(session, TOTAL + step * X, step)

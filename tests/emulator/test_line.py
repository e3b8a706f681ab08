"""What a serial line and its ends go through: noise, resets, unplugged cables, hosts that die; with real firmware."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.api import Project
from aboard.base import programs, resources
from aboard.device import connection
from aboard.device.session import Session
from aboard.errors import DeviceError, DeviceFault, TransportError, WrongModelError
from aboard.rpc.exchange import Timing
from aboard.runners import qemu
from aboard.runners.native import NativeRunner
from aboard.runners.qemu import QemuRunner
from aboard.transports.lossy import LossyTransport, Noise
from aboard.transports.serial import SerialTransport
from aboard.transports.tcp import SocketTransport
from support.cable import Cable

MODEL = resources.models() / "digits.tflite"
BOARDS = {"native": "host/native", "emulated": "arm/mps2_an386"}
#: All of them take more than half a minute.
CALLS = 10_000 if os.environ.get("ABOARD_FULL") else 200
QUICK = Timing(attempt_s=0.004, attempts=60, settle_s=0.001)
MANY = 2_000_000


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Project]:
    built = {}
    for name, board in BOARDS.items():
        module = aboard.compile(MODEL, board=board)
        options = {} if name == "native" else {"receive_bytes": 32, "frame_bytes": 128}
        built[name] = aboard.create(module, board=board, path=tmp_path_factory.mktemp(name) / "p", options=options)
        built[name].build()
    return built


def samples(count: int) -> np.ndarray:
    return np.random.default_rng(5).integers(-128, 128, (count, 1, 8, 8, 1)).astype(np.int8)


def expected(inputs: np.ndarray) -> list[np.ndarray]:
    host = aboard.compile(MODEL, target="c -runtime=host")
    return [np.asarray(host.run(x)) for x in inputs]


@contextmanager
def noisy(project: Project, runner: NativeRunner | QemuRunner, noise: Noise, timing: Timing) -> Iterator[Session]:
    line = LossyTransport(runner.start(project), noise, seed=8)
    with Session.attach(project, line, runner, timing=timing) as session:
        yield session


def check_calls(session: Session, count: int) -> None:
    inputs = samples(16)
    wanted = expected(inputs)
    for call in range(count):
        np.testing.assert_array_equal(np.asarray(session.run(inputs[call % 16])), wanted[call % 16])


def test_ten_thousand_calls_over_a_line_with_errors_give_no_wrong_result(projects: dict[str, Project]) -> None:
    noise = Noise(drop=0.001, flip=0.001)
    with noisy(projects["native"], NativeRunner(projects["native"].board), noise, QUICK) as session:
        check_calls(session, CALLS)
        stats = session.stats()
    # Bytes of a call on the way to the device, and two errors in a thousand of them.
    assert stats.damaged > 0.1 * CALLS
    assert stats.duplicates > 0.05 * CALLS


@pytest.mark.parametrize("kind", ["native", "qemu"])
def test_every_kind_of_noise_gives_no_wrong_result(kind: str, projects: dict[str, Project]) -> None:
    noise = Noise(drop=0.001, flip=0.001, repeat=0.001, swap=0.001, repeat_chunk=0.02, drop_chunk=0.02, cut_chunk=0.02)
    project = projects["native" if kind == "native" else "emulated"]
    runner = NativeRunner(project.board) if kind == "native" else QemuRunner(project.board)
    timing = QUICK if kind == "native" else Timing(attempt_s=0.05, attempts=40, settle_s=0.01)
    with noisy(project, runner, noise, timing) as session:
        check_calls(session, 60 if kind == "native" else 15)
        assert session.stats().damaged > 1


@pytest.mark.parametrize("name", ["qemu", "unicorn"])
def test_a_ring_of_32_bytes_never_overruns(name: str, projects: dict[str, Project]) -> None:
    with projects["emulated"].session(name) as session:
        assert session.hello.burst == 32
        check_calls(session, 8)
        stats = session.stats()
    assert (stats.damaged, stats.too_long, stats.strange, stats.duplicates) == (0, 0, 0, 0)


def test_a_crash_in_the_middle_of_a_run_is_named_and_the_next_call_works(projects: dict[str, Project]) -> None:
    project = projects["native"]
    runner = NativeRunner(project.board)
    with project.session(runner) as session:
        threading.Timer(0.3, os.kill, [runner.pid, signal.SIGSEGV]).start()
        with pytest.raises(DeviceFault, match=r"RUN: the device crashed and restarted, got fault 11"):
            session.run_n(samples(1)[0], MANY)
        check_calls(session, 2)


class Machine:
    """QEMU as a board with a reset button."""

    def __init__(self, project: Project, folder: Path) -> None:
        emulator = project.board.emulator.qemu
        assert emulator is not None
        line, control = folder / "line", folder / "control"
        program = str(programs.find(emulator.program))
        command = qemu.command(program, emulator, str(project.image), f"socket,path={line},server=on,wait=off")
        self._process = subprocess.Popen([*command, "-qmp", f"unix:{control},server=on,wait=off"])
        self.line = SocketTransport.unix(line, timeout_s=20)
        self._control = socket.socket(socket.AF_UNIX)
        # QEMU opens the line before the monitor.
        until = time.monotonic() + 20
        while not control.exists() and time.monotonic() < until:
            time.sleep(0.01)
        self._control.connect(str(control))
        self._replies = self._control.makefile()
        self._say("qmp_capabilities")

    def reset(self) -> None:
        self._say("system_reset")

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._replies.close()
        self._control.close()

    def _say(self, command: str) -> None:
        self._control.sendall(json.dumps({"execute": command}).encode())
        while "return" not in json.loads(self._replies.readline()):
            pass


def test_a_reset_in_the_middle_of_a_run_is_named_and_the_next_call_works(
    projects: dict[str, Project], tmp_path: Path
) -> None:
    machine = Machine(projects["emulated"], tmp_path)
    try:
        with Session.attach(projects["emulated"], machine.line) as session:
            threading.Timer(0.5, machine.reset).start()
            with pytest.raises(DeviceError, match=r"RUN: the device restarted, expected a reply.*repeat the call"):
                session.run_n(samples(1)[0], MANY)
            check_calls(session, 2)
            assert session.fault() is None
    finally:
        machine.stop()


@pytest.fixture
def cable(projects: dict[str, Project], tmp_path: Path) -> Iterator[tuple[Cable, NativeRunner]]:
    project = projects["native"]
    with NativeRunner(project.board) as runner:
        line = runner.start(project)
        plugged = Cable(tmp_path / "port", line)
        yield plugged, runner
        plugged.unplug()
        line.close()


def test_an_unplugged_port_is_named_and_the_next_call_waits_for_it(
    cable: tuple[Cable, NativeRunner], projects: dict[str, Project], tmp_path: Path
) -> None:
    plug, runner = cable
    device = plug.device
    with Session.attach(projects["native"], SerialTransport(plug.port)) as session:
        check_calls(session, 2)
        threading.Timer(0.2, plug.unplug).start()
        with pytest.raises(TransportError, match=r"port at 115200 baud: the port is gone, got .*unplugged"):
            session.run_n(samples(1)[0], MANY)
        threading.Timer(0.3, plug.plug, [device]).start()
        # The device is still running: the new session begins when it is done, or has been reset.
        os.kill(runner.pid or 0, signal.SIGSEGV)
        check_calls(session, 2)


def test_a_port_that_stays_away_is_named_by_every_call(
    cable: tuple[Cable, NativeRunner], projects: dict[str, Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    plug, _ = cable
    device = plug.device
    monkeypatch.setattr(connection, "REOPEN_S", 0.2)
    with Session.attach(projects["native"], SerialTransport(plug.port)) as session:
        plug.unplug()
        with pytest.raises(TransportError, match="the port is gone"):
            session.stats()
        for _ in range(2):
            with pytest.raises(TransportError, match=r"no such port\. Plug the board in"):
                session.stats()
        plug.plug(device)
        check_calls(session, 1)


def test_another_firmware_behind_the_same_port_is_refused(
    cable: tuple[Cable, NativeRunner], projects: dict[str, Project], tmp_path: Path
) -> None:
    plug, _ = cable
    device = plug.device
    module = aboard.compile(MODEL, board="host/native", name="renamed")
    other = aboard.create(module, board="host/native", path=tmp_path / "other")
    other.build()
    with NativeRunner(other.board) as runner, Session.attach(projects["native"], SerialTransport(plug.port)) as session:
        plug.plug(line := runner.start(other))
        with pytest.raises(TransportError, match="the port is gone"):
            session.stats()
        for _ in range(2):
            with pytest.raises(WrongModelError, match=rf"another build of digits.*got {other.build_id}, expected"):
                session.run(samples(1)[0])
        plug.plug(device)
        with pytest.raises(TransportError, match="the port is gone"):
            session.stats()
        check_calls(session, 2)
        line.close()


HOST = """
import sys, numpy as np
from aboard.api import Project
from aboard.device.session import Session
from aboard.transports.serial import SerialTransport
with Session.attach(Project.open(sys.argv[1]), SerialTransport(sys.argv[2])) as session:
    print("ready", flush=True)
    while True:
        session.run_n(np.zeros((1, 8, 8, 1), np.int8), int(sys.argv[3]))
"""


@pytest.mark.parametrize("runs", [1, 20_000])
def test_a_host_that_is_killed_and_started_again_gets_right_results(
    runs: int, cable: tuple[Cable, NativeRunner], projects: dict[str, Project]
) -> None:
    """Killed while requests and replies are on their way, and while the device is working."""
    plug, _ = cable
    arguments = [str(projects["native"].path), str(plug.port), str(runs)]
    for delay_s in (0.01, 0.04):
        with subprocess.Popen([sys.executable, "-c", HOST, *arguments], stdout=subprocess.PIPE) as host:
            assert host.stdout is not None
            assert host.stdout.readline() == b"ready\n"
            time.sleep(delay_s)
            host.kill()
        with Session.attach(projects["native"], SerialTransport(plug.port)) as session:
            check_calls(session, 5)


def test_a_line_is_used_to_most_of_its_rate(projects: dict[str, Project], tmp_path: Path) -> None:
    """The line of this test is a clock of this machine; `make bench-line` has the figures of a quiet one."""
    project = projects["native"]
    with NativeRunner(project.board) as runner:
        line = runner.start(project)
        cable = Cable(tmp_path / "port", line, baud=57_600)
        with Session.attach(project, SerialTransport(cable.port, 57_600)) as session:
            rates = [session.measure_line(20) for _ in range(3)]
        cable.unplug()
        line.close()
    assert rates[0].line_bytes_per_second == 5760
    # A write has 64 bytes of data and 38 of protocol on the line, both ways together; a read has 42. A busy machine
    # delays some calls; if the line waited for each byte, all would be below a tenth.
    assert 0.1 < max(rate.write_share for rate in rates) <= 64 / 102
    assert 0.1 < max(rate.read_share for rate in rates) <= 64 / 106

"""Sessions with real images: as a process of this machine, in QEMU over a socket and over a pty, and in Unicorn."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard import runners
from aboard.api import Project
from aboard.base import resources
from aboard.compiler.pipeline import Module
from aboard.device.session import Session
from aboard.errors import TransportError, WrongModelError
from aboard.rpc.exchange import Timing
from aboard.runners.base import Runner
from aboard.runners.native import NativeRunner
from aboard.runners.qemu import QemuRunner
from aboard.transports.lossy import LossyTransport, Noise

MODEL = resources.models() / "digits.tflite"
OPTIONS = {"trace": "on", "run_op": "on"}
BOARDS = {"native": "host/native", "emulated": "arm/mps2_an386"}
Opened = tuple[Module, Project]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Opened]:
    projects = {}
    for name, board in BOARDS.items():
        module = aboard.compile(MODEL, board=board)
        folder = tmp_path_factory.mktemp(name) / "project"
        project = aboard.create(module, board=board, path=folder, options=OPTIONS)
        project.build()
        projects[name] = (module, project)
    return projects


KINDS: dict[str, tuple[str, Callable[[Project], Runner]]] = {
    "native": ("native", lambda project: NativeRunner(project.board)),
    "qemu": ("emulated", lambda project: QemuRunner(project.board)),
    "qemu-pty": ("emulated", lambda project: QemuRunner(project.board, serial="pty")),
    "unicorn": ("emulated", lambda project: runners.choose(project.board, "unicorn")),
}


@pytest.fixture(params=KINDS)
def device(request: pytest.FixtureRequest, built: dict[str, Opened]) -> tuple[Module, Project, Runner]:
    name, make = KINDS[request.param]
    module, project = built[name]
    return module, project, make(project)


def sample(module: Module, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-128, 128, module.manifest.inputs[0].shape).astype(np.int8)


def expected(x: np.ndarray) -> np.ndarray:
    return np.asarray(aboard.compile(MODEL, target="c -runtime=host").run(x))


def test_everything_a_session_can_do(device: tuple[Module, Project, Runner]) -> None:
    module, project, runner = device
    x = sample(module)
    wanted = expected(x)
    last = len(module.manifest.nodes) - 1
    with project.session(runner) as session:
        result = session.infer(x)
        np.testing.assert_array_equal(next(iter(result.outputs.values())), wanted)
        series = session.run_n(x, 3)
        profile = session.profile(x)
        traced = session.trace(x)
        first = module.manifest.nodes[0]
        alone = session.run_op(0, {first.inputs[0].tensor: x.reshape(first.inputs[0].shape)})
        assert session.fault() is None
        assert session.stats().damaged == 0
    np.testing.assert_array_equal(next(iter(traced[last].values())).reshape(wanted.shape), wanted)
    np.testing.assert_array_equal(next(iter(alone.outputs.values())), next(iter(traced[0].values())))
    assert series.count == 3
    assert series.fewest.ticks > 0
    assert [entry.index for entry in profile.nodes] == list(range(last + 1))
    assert 0 < result.stack_bytes < 4096
    if not isinstance(runner, NativeRunner):
        assert result.instructions is not None
        assert abs(result.instructions - (series.most.instructions or 0)) <= 200
        assert sum(entry.duration.ticks for entry in profile.nodes) == pytest.approx(result.ticks, rel=0.1)
    assert not runner.alive()


def test_unicorn_and_qemu_count_alike(built: dict[str, Opened]) -> None:
    module, project = built["emulated"]
    counts = []
    for name in ("qemu", "unicorn"):
        with project.session(name) as session:
            counts.append(session.infer(sample(module)).instructions or 0)
    assert counts[0] == pytest.approx(counts[1], rel=0.01)


@pytest.mark.parametrize("kind", ["native", "qemu", "qemu-pty"])
def test_a_killed_emulator_ends_the_session_at_once(kind: str, built: dict[str, Opened]) -> None:
    name, make = KINDS[kind]
    module, project = built[name]
    runner = make(project)
    assert isinstance(runner, (NativeRunner, QemuRunner))
    with project.session(runner) as session:
        session.run(sample(module))
        pid = runner.pid
        assert pid is not None
        timer = threading.Timer(0.3, os.kill, [pid, signal.SIGKILL])
        timer.start()
        start = time.monotonic()
        with pytest.raises(TransportError, match=r"gone.*(SIGKILL|signal 9|[Kk]illed)"):
            session.run_n(sample(module), 1_000_000)
        assert time.monotonic() - start < 5
        timer.join()
        with pytest.raises(TransportError, match="session: has ended"):
            session.run(sample(module))
    assert not runner.alive()
    assert not Path(f"/proc/{pid}").exists()


def test_a_reset_device_answers_again(built: dict[str, Opened]) -> None:
    module, project = built["emulated"]
    x = sample(module, 1)
    with project.session("qemu") as session:
        before = session.run(x)
        assert session.stats().requests > 4
        session.reset()
        assert session.stats().requests == 3  # hello, model, stats
        np.testing.assert_array_equal(np.asarray(session.run(x)), np.asarray(before))


def test_another_project_is_refused(built: dict[str, Opened], tmp_path: Path) -> None:
    _, project = built["native"]
    module = aboard.compile(MODEL, board="host/native", name="renamed")
    other = aboard.create(module, board="host/native", path=tmp_path / "other")
    runner = NativeRunner(project.board)
    transport = runner.start(project)
    with pytest.raises(WrongModelError, match=rf"another build of renamed .*got {project.build_id}, expected"):
        Session.attach(other, transport, runner)
    assert not runner.alive()


@pytest.mark.parametrize("kind", ["native", "qemu"])
def test_a_bad_line_gives_right_results(kind: str, built: dict[str, Opened]) -> None:
    name, make = KINDS[kind]
    module, project = built[name]
    runner = make(project)
    noise = Noise(drop=0.001, flip=0.001, repeat_chunk=0.01, drop_chunk=0.01, cut_chunk=0.01)
    line = LossyTransport(runner.start(project), noise, seed=6)
    timing = Timing(attempt_s=0.1, attempts=30, settle_s=0.01)
    host = aboard.compile(MODEL, target="c -runtime=host")
    with Session.attach(project, line, runner, timing=timing) as session:
        for seed in range(30):
            x = sample(module, seed)
            np.testing.assert_array_equal(np.asarray(session.run(x)), np.asarray(host.run(x)))
        stats = session.stats()
    assert stats.damaged + stats.duplicates > 0

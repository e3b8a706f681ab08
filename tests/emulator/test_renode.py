"""The runner `renode`: real images behind a stand-in for Renode, and in Renode itself wherever it is installed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.api import Project
from aboard.base import programs, resources
from aboard.device import doctor
from aboard.errors import ToolError, TransportError
from aboard.runners.renode import RenodeRunner
from support import renode
from support.bundles import tiny_bundle

BOARD = "arm/mps2_an386"
# The first byte is none of those that ask the model for trouble.
X = np.arange(5, 69, dtype=np.int8).reshape(1, 64)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    # A space in the path: Renode wants it written in its own way.
    folder = tmp_path_factory.mktemp("a project")
    made = aboard.create([tiny_bundle(folder / "bundle", "cortex-m4", "tiny")], BOARD, path=folder / "app")
    made.build()
    return made


@pytest.fixture(params=renode.PROGRAMS)
def program(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "stand-in":
        renode.install(tmp_path, BOARD, monkeypatch)
    return str(request.param)


def children(pid: int) -> list[str]:
    """Returns the processes of the group that a process is in."""
    found = subprocess.run(["ps", "-o", "pid=,stat=,args=", "-g", str(os.getsid(pid))], capture_output=True, text=True)
    return [line for line in found.stdout.splitlines() if " Z" not in line]


@pytest.mark.parametrize("serial", ["socket", "pty"])
def test_a_model_runs_and_nothing_is_left_behind(serial: str, program: str, project: Project) -> None:
    runner = RenodeRunner(project.board, serial="pty" if serial == "pty" else "socket")
    with project.session(runner) as session:
        result = session.infer(X)
        assert runner.pid is not None
        leader = os.getsid(runner.pid)
        assert len(children(runner.pid)) >= 2
        many = session.run_many([X + n for n in range(20)])
    np.testing.assert_array_equal(next(iter(result.outputs.values())), ~X)
    assert all((np.asarray(y) == ~(X + n)).all() for n, y in enumerate(many))
    assert result.instructions is not None
    assert result.instructions > 64
    assert not runner.alive()
    left = subprocess.run(["ps", "-o", "args=", "-g", str(leader)], capture_output=True, text=True).stdout
    assert "renode" not in left


def test_a_killed_renode_ends_the_session(program: str, project: Project) -> None:
    runner = RenodeRunner(project.board)
    with project.session(runner) as session:
        session.run(X)
        assert runner.pid is not None
        for line in children(runner.pid):
            if "stand_in" in line or program == "renode":
                os.kill(int(line.split()[0]), signal.SIGKILL)
        with pytest.raises(TransportError, match=r"\(renode: Renode (ended with exit code 137|was killed by signal 9)"):
            session.run(X)
    assert not runner.alive()


def test_a_script_that_fails_is_reported_at_once(program: str, project: Project, tmp_path: Path) -> None:
    copy = tmp_path / "app"
    subprocess.run(["cp", "-r", project.path, copy], check=True)
    script = copy / "renode/board.resc"
    script.write_text(script.read_text(encoding="utf-8").replace("using sysbus", "using sysbuss"), encoding="utf-8")
    started = time.monotonic()
    with pytest.raises(
        ToolError, match=r"Renode: did not start, got .*(using sysbuss|sysbuss).*Try the script by hand"
    ):
        RenodeRunner(project.board).start(Project.open(copy))
    assert time.monotonic() - started < 30
    script.unlink()
    with pytest.raises(ToolError, match=r"board.resc: missing, expected the script that Renode executes"):
        RenodeRunner(project.board).start(Project.open(copy))


def test_a_renode_that_ends_says_how(tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    renode.install(tmp_path, BOARD, monkeypatch)
    monkeypatch.setenv("RENODE_STAND_IN_CRASH", "1")
    with pytest.raises(ToolError, match=r"Renode: did not start, got Renode ended with exit code 3.*expected a serial"):
        RenodeRunner(project.board).start(project)


@pytest.mark.parametrize("version", ["1.14.0.999", "1.15.3.22222", "1.16.1.333", "1.17.0"])
def test_versions(version: str, tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    program = renode.install(tmp_path, BOARD, monkeypatch)
    monkeypatch.setenv("RENODE_STAND_IN_VERSION", version)
    missing = RenodeRunner.missing(project.board)
    if version >= "1.16":
        assert missing is None
        return
    assert missing is not None
    assert missing.startswith(
        f"{program} is too old, got {version}, expected 1.16 or later, because older ones compute SSUB8 wrongly. To get"
    )
    assert "\n" not in missing
    with pytest.raises(
        ToolError, match=rf"^runner renode: {program} is too old, got {version}, expected 1\.16 or later"
    ):
        RenodeRunner(project.board).start(project)
    (check,) = (check for check in doctor.inspect() if check.name == "renode")
    assert (check.found, check.version, check.problem) == (False, version, missing)


def test_where_renode_is_looked_for(tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    program = renode.install(tmp_path, BOARD, monkeypatch)
    tester = tmp_path / "renode-test"
    tester.write_text("#!/bin/sh\n", encoding="utf-8")
    tester.chmod(0o755)
    assert (programs.find_renode(), programs.find_renode("renode-test")) == (program, tester)
    monkeypatch.setenv("RENODE_PATH", str(program))
    assert (programs.find_renode(), programs.find_renode("renode-test")) == (program, tester)
    monkeypatch.delenv("RENODE_PATH")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert programs.find_renode() == program
    monkeypatch.setenv("RENODE_PATH", str(tmp_path / "nowhere"))
    assert RenodeRunner.missing(project.board) == (
        f"renode is not at {tmp_path}/nowhere, expected Renode. To get it: {programs.RENODE_SOURCE}"
    )


def test_the_line_is_paced_where_the_model_of_the_port_is_slow(
    tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    renode.install(tmp_path, BOARD, monkeypatch)
    emulated = project.board.emulator.renode
    assert emulated is not None
    slow = emulated.model_copy(update={"receive_bytes_per_second": 2000})
    board = project.board.model_copy(update={"emulator": project.board.emulator.model_copy(update={"renode": slow})})
    runner = RenodeRunner(board)
    with runner:
        line = runner.start(project)
        started = time.monotonic()
        line.write(bytes(100))
        assert 0.04 < time.monotonic() - started < 1
        assert line.bytes_per_second == 2000
        line.close()


def test_the_shipped_model_through_the_command_line(program: str, tmp_path: Path) -> None:
    model = resources.models() / "digits.tflite"
    words = ["deploy", str(model), "--board", BOARD, "--runner", "renode", "-o", str(tmp_path / "app")]
    command = [sys.executable, "-c", "from aboard.cli import main; main()", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "digits on arm/mps2_an386 (renode)" in done.stdout

"""A board at a place of labgrid's own coordinator and exporter takes jobs of a farm, and is power cycled by labgrid.

labgrid exports serial ports through `ser2net`, which no job of aboard uses: a script takes its place, so that only
labgrid must be installed.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aboard
from aboard.base import resources
from aboard.farm import shipping
from aboard.farm.submission import Shared, Step, Submission, Ticket
from support import farm as farms
from support import pretended_board

LABELS = np.load(resources.models() / "digits_test.npz")["y"]
PROGRAMS = Path(os.environ["ABOARD_LABGRID"]).resolve()
SER2NET = '#!/bin/sh\n[ "$1" = -v ] && echo "ser2net version 4.6.0" && exit 0\nexec sleep 3600\n'
RESOURCES = "board0:\n  RawSerialPort:\n    port: {port}\n"
ENVIRONMENT = """targets:
  main:
    resources:
      RemotePlace: {{name: desk}}
    drivers:
      ExternalPowerDriver: {{cmd_on: 'true', cmd_off: 'true', cmd_cycle: "sh -c 'kill -USR1 {pid}; sleep 0.3'"}}
"""


def client(*words: str) -> str:
    done = subprocess.run([PROGRAMS / "labgrid-client", *words], capture_output=True, text=True, check=True)
    return done.stdout


def attempt(*words: str) -> str:
    try:
        return client(*words)
    except subprocess.CalledProcessError:
        return ""


def until(*words: str, says: str) -> None:
    deadline = time.monotonic() + 60
    while says not in (found := attempt(*words)):
        assert time.monotonic() < deadline, found
        time.sleep(0.2)


@contextlib.contextmanager
def started(*command: str | Path, log: Path) -> Iterator[None]:
    # The coordinator keeps its places in the working folder.
    start = functools.partial(subprocess.Popen, command, cwd=log.parent, process_group=0)
    with log.open("wb") as file, start(stdout=file, stderr=file) as process:
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def lab(folder: Path, port: Path) -> Iterator[None]:
    """Runs a coordinator, and an exporter of the port of a board; the place `desk` is made."""
    (folder / "ser2net").write_text(SER2NET)
    (folder / "ser2net").chmod(0o755)
    (folder / "resources.yaml").write_text(RESOURCES.format(port=port))
    exporter = (PROGRAMS / "labgrid-exporter", "-n", "here", "--hostname", "127.0.0.1", folder / "resources.yaml")
    with started(PROGRAMS / "labgrid-coordinator", "-l", os.environ["LG_COORDINATOR"], log=folder / "coordinator"):
        until("version", says=".")
        with started(*exporter, log=folder / "exporter"):
            until("resources", says="here/board0")
            client("-p", "desk", "create")
            client("-p", "desk", "add-match", "here/board0/*")
            yield


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    module = aboard.compile(resources.models() / "digits.tflite", board="host/native")
    project = aboard.create(module, board="host/native", path=tmp_path_factory.mktemp("labgrid") / "digits")
    project.build()
    return shipping.pack(project)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{PROGRAMS}", prepend=":")
    monkeypatch.setenv("LG_COORDINATOR", f"127.0.0.1:{farms.free_port()}")


def ran(address: str, packed: bytes, numbers: range) -> dict[str, Any]:
    found: dict[str, Any] = {}
    shared = Shared(packed)
    tickets = [Ticket(str(n), [Step(farms.classify, (n, 0.0, shared), "host/native")]) for n in numbers]
    Submission(address, found.__setitem__).run(tickets)
    return found


def test_a_place_gives_its_board_to_a_farm(
    packed: bytes, here: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The exporter serves ports below /dev only.
    with (
        tempfile.TemporaryDirectory(dir="/dev/shm") as devices,
        shipping.unpacked(packed) as project,
        pretended_board.running(project.image, port := Path(devices) / "board0") as board,
        lab(tmp_path, port),
    ):
        refused = started_worker("desk")
        assert "labgrid place desk: does not say which board it has, got no tag aboard_board" in refused
        assert "labgrid place moon: not found, got 'labgrid-client: " in started_worker("moon")
        client("-p", "desk", "set-tags", "aboard_board=host/native")
        (tmp_path / "place.yaml").write_text(ENVIRONMENT.format(pid=board.pid))
        monkeypatch.setenv("LG_ENV", str(tmp_path / "place.yaml"))
        with farms.running(tmp_path) as farm:
            worker = farm.worker("--labgrid", "desk", "--builds", "0")
            farm.until(lambda workers: [w["boards"] for w in workers] == [["host/native"]])
            assert "acquired: None" not in client("-p", "desk", "show")
            assert "labgrid place desk: busy, acquired by " in started_worker("desk")
            assert ran(farm.address, packed, range(3)) == {str(n): (n, LABELS[n]) for n in range(3)}
            os.kill(pretended_board.firmware(board.pid), signal.SIGSTOP)
            assert ran(farm.address, packed, range(3, 4)) == {"3": (3, LABELS[3])}
            (found,) = farm.status()
            assert any(f"power cycle: {PROGRAMS}/labgrid-client -p desk power cycle" in line for line in found["log"])
            assert not any("exit code" in line for line in found["log"])
            worker.terminate()
            worker.wait(30)
            assert "acquired: None" in client("-p", "desk", "show")


def test_no_coordinator(here: None) -> None:
    assert "labgrid: no coordinator at 127.0.0.1:" in started_worker("desk")


def started_worker(place: str) -> str:
    """Returns what a worker says that cannot begin."""
    command = [farms.SCRIPTS / "aboard", "farm", "worker", "tcp://127.0.0.1:1", "--labgrid", place, "--builds", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    return " ".join(done.stderr.split())

"""A farm on this machine: Dask's own scheduler and workers of aboard, each in a process that tests may kill or stop."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from aboard.base import resources
from aboard.device.session import Session
from aboard.farm import jobs
from aboard.farm.jobs import Failure
from support import snapshots

PICTURES = np.load(resources.models() / "digits_test.npz")["x"]
SCRIPTS = Path(sysconfig.get_path("scripts"))


def free_port() -> int:
    """Returns a TCP port that no process has."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _fake_package(folder: Path) -> Path:
    """Makes a folder of packages with one that brings the device `fake`, as pip would install it."""
    facts = folder / "fake_device-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-device\nVersion: 1.0\n", encoding="utf-8")
    entry = "[aboard.targets]\nfake = support.fake_device:PLUGIN\n"
    (facts / "entry_points.txt").write_text(entry, encoding="utf-8")
    return folder


class Farm:
    """The scheduler and the workers.

    Attributes:
        address: Of the scheduler.
        log: What the processes say.
        workers: The processes `aboard farm worker`, in the order of their start.
        scheduler: The scheduler.
    """

    def __init__(self, folder: Path, ttl_s: float) -> None:
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.log = folder / "log"
        given = os.environ.get("PYTHONPATH")
        self._environment = {
            **os.environ,
            "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": f"{ttl_s}s",
            # Workers import the jobs of the tests, and find the package of their device.
            "PYTHONPATH": os.pathsep.join(
                [str(Path(__file__).parents[1]), str(_fake_package(folder / "package")), *([given] if given else [])]
            ),
        }
        self._processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.start_scheduler()

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        words = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"]
        self.scheduler = self._started(str(SCRIPTS / "dask"), "scheduler", *words)
        return self.scheduler

    def worker(self, *words: str) -> subprocess.Popen[bytes]:
        """Starts `aboard farm worker`."""
        self.workers.append(self._started(str(SCRIPTS / "aboard"), "farm", "worker", self.address, *words))
        return self.workers[-1]

    def _started(self, *command: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=self._environment)
        self._processes.append(process)
        return process

    def command(self, *words: str) -> subprocess.Popen[str]:
        """Starts `aboard farm WORDS... --farm ADDRESS --json`."""
        command = [str(SCRIPTS / "aboard"), *words, "--farm", self.address, "--json"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def status(self) -> list[dict[str, Any]]:
        """Returns the workers that `aboard farm status` lists."""
        process = self.command("farm", "status")
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        workers: list[dict[str, Any]] = json.loads(out)["workers"]
        return workers

    def _workers(self) -> list[dict[str, Any]]:
        """Returns what `status` does, by the same command in this process: who waits asks many times.

        Nothing while the scheduler is starting, which may take longer than a command waits for it.
        """
        code, out, _ = snapshots.run(f"farm status --farm {self.address} --json")
        return json.loads(out)["workers"] if code == 0 else []

    def until(self, holds: Callable[[list[dict[str, Any]]], bool], seconds: float = 180.0) -> list[dict[str, Any]]:
        """Waits until the status fulfils a condition, and returns it."""
        deadline = time.monotonic() + seconds
        while not holds(found := self._workers()):
            time.sleep(0.2)
            assert time.monotonic() < deadline, (found, self.log.read_text()[-2000:])
        return found

    def stop(self) -> None:
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()


@contextlib.contextmanager
def running(folder: Path, ttl_s: float = 300.0) -> Iterator[Farm]:
    """Yields a farm without workers."""
    farm = Farm(folder, ttl_s)
    try:
        yield farm
    finally:
        farm.stop()


def worker_pids(supervisor: int) -> list[int]:
    """Returns the worker processes of a supervisor: children of its shells."""
    shells = _children(supervisor)
    found = [child for shell in shells for child in _children(shell)]
    # The shells' own watchers have the same words, behind others.
    words = {pid: Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") for pid in found}
    return [pid for pid in found if words[pid][1:3] == [b"-m", b"aboard.farm.process"]]


def _children(pid: int) -> list[int]:
    folders = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for folder in folders for child in (folder / "children").read_text().split()]


def label(number: int, session: Session) -> tuple[int, int]:
    """Returns the number of a picture, and what a board takes it for."""
    return number, int(np.argmax(session.run(PICTURES[number % len(PICTURES)])))


def classify(number: int, pause_s: float, packed: bytes) -> tuple[int, int] | Failure:
    """Runs one picture on the board of a worker, and keeps the worker for a while."""
    time.sleep(pause_s)
    return jobs.on_board(functools.partial(label, number), packed, "the tests")

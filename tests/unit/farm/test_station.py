"""A station runs jobs on its board, tells the board's faults from the job's, and ends in quarantine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.api import Session
from aboard.base import resources
from aboard.device import board_lock
from aboard.device.board_lock import BoardLock
from aboard.device.usb import Connection
from aboard.errors import BoardError, ToolError, TransportError
from aboard.farm import jobs, shipping, station
from aboard.farm.jobs import Failure
from aboard.farm.station import State, Station, StationSpec
from aboard.runners.serial import SerialRunner
from support import pretended_board

SAMPLES = resources.models() / "digits_test.npz"
PICTURE = np.load(SAMPLES)["x"][0]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    module = aboard.compile(resources.models() / "digits.tflite", board="host/native")
    project = aboard.create(module, board="host/native", path=tmp_path_factory.mktemp("farm") / "digits")
    project.build()
    return shipping.pack(project)


@pytest.fixture
def port(packed: bytes, tmp_path: Path) -> Iterator[Path]:
    """The port of a board that runs the project."""
    with shipping.unpacked(packed) as project, pretended_board.running(project.image, tmp_path / "port") as process:
        (tmp_path / "pid").write_text(str(process.pid))
        yield tmp_path / "port"


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """A board that does not answer is noticed soon."""
    from aboard.rpc.timing import Timing

    monkeypatch.setattr(station, "_TIMING", Timing(attempt_s=0.1, attempts=3, hello_s=0.5))


@pytest.fixture(autouse=True)
def released() -> Iterator[None]:
    """Gives back what a station of the test took for the life of its process, which here goes on with other tests.

    The system gives the number of a pseudo-terminal to the next that is opened, by whatever process.
    """
    yield
    if station._station is not None and station._station._lock is not None:
        station._station._lock.release()
    assert board_lock._held == {}


def here(port: Path, **spec: object) -> Station:
    return station.begin(StationSpec("board", "host/native", port=str(port), **spec))  # type: ignore[arg-type]


def label(session: Session) -> int:
    return int(np.argmax(session.run(PICTURE)))


def test_a_board_is_held_until_its_process_ends(port: Path, packed: bytes) -> None:
    mine = here(port)
    assert jobs.on_board(label, packed, "me") == np.load(SAMPLES)["y"][0]
    assert (mine.state, mine.done, mine.running, mine.boards) == (State.FREE, 1, "serial", ["host/native"])
    # Another process is refused, also while this one is stopped: the lock is the system's.
    code = f"from aboard.farm import station as s; s.begin(s.StationSpec('board', 'host/native', port={str(port)!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"the board is busy, held by {board_lock.HOLDER} (pid {os.getpid()})" in done.stderr
    assert mine._lock is not None
    mine._lock.release()
    mine._lock.release()
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).returncode == 0


def test_the_person_at_the_desk_is_told_who_has_the_board(port: Path, packed: bytes) -> None:
    code = (
        "import sys; from aboard.farm import station as s; "
        f"s.begin(s.StationSpec('board', 'host/native', port={str(port)!r})); print(flush=True); sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        # A worker that is stopped past its lease still has its board, so that nobody writes to it behind its back.
        worker.send_signal(signal.SIGSTOP)
        with shipping.unpacked(packed) as project:
            runner = SerialRunner(project.board, port=str(port))
            with pytest.raises(TransportError, match=rf"the board is busy, held by aboard \(pid {worker.pid}\)"):
                Session.open(project, runner)
            worker.send_signal(signal.SIGCONT)
            worker.communicate()
            with Session.open(project, runner) as session:
                assert label(session) == np.load(SAMPLES)["y"][0]


def test_a_link_to_a_terminal_is_locked_by_itself(tmp_path: Path) -> None:
    """The number of a terminal is given again, and a device that two links lead to is one."""
    controller, terminal = os.openpty()
    try:
        (tmp_path / "link").symlink_to(os.ttyname(terminal))
        assert board_lock._port(str(tmp_path / "link")) == str(tmp_path / "link")
        assert board_lock._port(os.ttyname(terminal)) == os.ttyname(terminal)
    finally:
        os.close(controller)
        os.close(terminal)
    (tmp_path / "one").touch()
    (tmp_path / "other").symlink_to(tmp_path / "one")
    assert board_lock._port(str(tmp_path / "other")) == str(tmp_path / "one")


def test_a_process_may_lock_a_board_again(tmp_path: Path) -> None:
    place = Connection(None, str(tmp_path / "port"))
    first, second = BoardLock(place), BoardLock(place)
    first.release()
    assert len(board_lock._held) >= 1
    second.release()
    BoardLock(Connection()).release()  # nothing is known of it, so nothing is locked


def test_a_lock_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_lock, "_FOLDERS", (tmp_path,))
    place = Connection("123", None)
    path = board_lock._file(place)
    assert path is not None
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TransportError, match=r"the lock of the board cannot be opened, got .*Remove it, or give"):
        BoardLock(place)


def test_a_board_that_hangs_is_power_cycled(port: Path, packed: bytes, fast: None) -> None:
    keeper = int((port.parent / "pid").read_text())
    mine = here(port, power_cycle=f"sh -c 'kill -USR1 {keeper}; sleep 0.5'")
    assert isinstance(jobs.on_board(label, packed, "me"), int)
    os.kill(pretended_board.firmware(keeper), signal.SIGSTOP)
    assert jobs.on_board(label, packed, "me") == np.load(SAMPLES)["y"][0]
    assert mine.failures == 0
    assert any("power cycle: sh -c" in line for line in mine.log)


def test_quarantine(port: Path, packed: bytes, fast: None) -> None:
    from distributed import Reschedule

    mine = here(port, limit=3)
    keeper = int((port.parent / "pid").read_text())
    os.kill(pretended_board.firmware(keeper), signal.SIGSTOP)
    found = jobs.on_board(label, packed, "me")
    assert isinstance(found, Failure)
    assert (found.kind, found.of_board, mine.failures) == ("DeviceTimeout", True, 2)
    jobs.on_board(label, packed, "me")
    assert mine.state is State.QUARANTINED
    assert "in quarantine after 3 failures in a row" in mine.log[-1]
    with pytest.raises(Reschedule):
        jobs.on_board(label, packed, "me")


def test_a_board_that_is_gone_leaves_jobs_to_others(port: Path, packed: bytes) -> None:
    from distributed import Reschedule

    mine = here(port)
    port.rename(port.with_name("away"))
    assert mine.state is State.GONE
    with pytest.raises(Reschedule):
        jobs.on_board(label, packed, "me")
    port.with_name("away").rename(port)
    assert mine.state is State.FREE


def test_a_fault_of_the_job_is_not_the_boards(port: Path, packed: bytes) -> None:
    mine = here(port)

    def wrong(session: Session) -> None:
        session.run(np.zeros(3, np.int8))

    found = jobs.on_board(wrong, packed, "me")
    assert isinstance(found, Failure)
    assert (found.kind, found.of_board, mine.failures) == ("InputError", False, 0)
    found = jobs.on_board(label, packed[:-100], "me")
    assert isinstance(found, Failure)
    assert found.message.startswith("project: cannot be unpacked, got ")


def test_what_is_no_board(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolError, match=r"st/nucleo_f446re: no attached device can be this board. Plug it in"):
        station.begin(StationSpec("board", "st/nucleo_f446re"))
    with pytest.raises(BoardError):
        station.begin(StationSpec("board", "st/none"))
    monkeypatch.setattr(station, "_station", None)
    with pytest.raises(ToolError, match="this worker was not started by aboard"):
        station.current()
    assert {"arm/mps2_an386", "host/native"} <= set(station.emulated_boards())
    assert Station(StationSpec("builds")).boards == []

"""What a worker process gives to the farm: one attached board, or an emulator that can be any emulated board.

A board that does not answer is power cycled, if the user named a command for that, and tried again. After several
failures in a row it is in quarantine: it takes no more jobs until its worker is started again.
"""

from __future__ import annotations

import logging
import os
import shlex
import subprocess
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from aboard import boards, flashers, runners
from aboard.api import Project, Session
from aboard.boards.board import Board
from aboard.device import usb
from aboard.device.board_lock import BoardLock
from aboard.errors import (
    AboardError,
    BoardError,
    DeviceFault,
    DeviceStatusError,
    DeviceTimeout,
    InputError,
    ProjectError,
    ToolError,
    WrongModelError,
)
from aboard.rpc.timing import Timing
from aboard.runners.base import Runner
from aboard.runners.flashed import runner_of
from aboard.runners.serial import SerialRunner

_LOG = logging.getLogger(__name__)
_LINES = 50
# A board that was flashed before is running, so it answers soon.
_TIMING = Timing(hello_s=5.0)
_POWER_TIMEOUT_S = 60.0
#: Errors that the job caused, and would cause on any board.
_OF_JOBS = (DeviceFault, DeviceStatusError, InputError, ProjectError, WrongModelError)


class State(str, Enum):
    """The state of a station."""

    FREE = "free"
    BUSY = "busy"
    GONE = "gone"
    QUARANTINED = "quarantined"


@dataclass(frozen=True)
class StationSpec:
    """What a worker process is made for.

    Attributes:
        kind: `board`, `emulator` or `builds`.
        board: Board id of an attached board.
        device: Serial number or serial port of an attached board.
        port: Serial port of its RPC, if it is not the probe's.
        flasher: Name of the tool that flashes it; None for the first that is installed.
        power_cycle: Command that switches the power of the board off and on; {board}, {device} and {port} are replaced.
        limit: Number of failures in a row after which the board is in quarantine.
    """

    kind: str
    board: str | None = None
    device: str | None = None
    port: str | None = None
    flasher: str | None = None
    power_cycle: str | None = None
    limit: int = 3


@dataclass
class Station:
    """The board of this process.

    Attributes:
        spec: What it is made for.
        holder: Who runs a job on it now, as `user@host`; empty while it is free.
        since: When the current job began, as seconds since 1970; 0 while it is free.
        failures: Number of failures in a row.
        done: Number of jobs that ended.
        running: Name of the runner of the last session.
        log: The last lines about it.
    """

    spec: StationSpec
    holder: str = ""
    since: float = 0.0
    failures: int = 0
    done: int = 0
    running: str = ""
    quarantined: bool = False
    log: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))
    _lock: BoardLock | None = None
    _place: usb.Connection = field(default_factory=usb.Connection)

    def take(self) -> None:
        """Takes the lock of an attached board, for the life of the process.

        Raises:
            BoardError: The board is unknown.
            TransportError: Another process has it.
            ToolError: Several attached devices may be the board.
        """
        if self.spec.kind == "board":
            board = boards.load(str(self.spec.board))
            found = usb.find(board, self._named)
            self._place = usb.Connection(found.serial_number, self.spec.port or found.port, found.drive)
            if self._place == usb.Connection():
                raise ToolError(
                    f"{board.id}: no attached device can be this board. Plug it in, or say where it is: "
                    f"--attach {board.id}@/dev/ttyUSB0"
                )
            self._lock = BoardLock(self._place)

    @property
    def _named(self) -> str | None:
        """What selects the board among the attached devices: its serial number, else a port that may be a device's."""
        port = self.spec.port
        return self.spec.device or (port if port is not None and port.startswith("/dev/") else None)

    @property
    def boards(self) -> list[str]:
        """Hardware keys of the boards that it can be."""
        if self.spec.kind == "board":
            return [boards.load(str(self.spec.board)).id]
        return emulated_boards() if self.spec.kind == "emulator" else []

    @property
    def state(self) -> State:
        """Its state now."""
        if self.quarantined:
            return State.QUARANTINED
        if self.holder:
            return State.BUSY
        port = self._place.port
        return State.GONE if port is not None and not Path(port).exists() else State.FREE

    @contextmanager
    def held(self, holder: str) -> Iterator[None]:
        """Notes who has the board, while the context lasts."""
        self.holder, self.since = holder, time.time()
        try:
            yield
        finally:
            self.holder, self.since = "", 0.0
            self.done += 1

    @contextmanager
    def session(self, project: Project) -> Iterator[Session]:
        """Yields a session with the project's image. Flashes an attached board only if it runs another image.

        Raises:
            AboardError: The image does not boot, or the board does not answer.
        """
        with self.runner(project) as runner, Session.open(project, runner, timing=self._timing()) as session:
            self.running = runner.name
            yield session

    @contextmanager
    def runner(self, project: Project) -> Iterator[Runner]:
        """Yields a runner for the project's image, not started. An attached board runs the image already."""
        if self.spec.kind != "board":
            yield runners.choose(project.board, devices=runners.devices_of(project))
            return
        serial = SerialRunner(project.board, self._named, self._place.port)
        try:
            with Session.open(project, serial, timing=_TIMING):
                pass
        except (WrongModelError, DeviceTimeout) as error:
            self._flash(project, project.board, error)
        yield serial.fresh()

    def blame(self, error: AboardError) -> bool:
        """Counts a failure of the board; False for an error that the job caused."""
        if isinstance(error, _OF_JOBS) or self.spec.kind != "board":
            return False
        self.failures += 1
        self.note(f"failure {self.failures}: {error}")
        if self.failures >= self.spec.limit and not self.quarantined:
            self.quarantined = True
            self.note(f"in quarantine after {self.failures} failures in a row")
        return True

    def recover(self) -> None:
        """Switches the power of the board off and on, by the user's command; does nothing without one."""
        if self.spec.power_cycle is None:
            return
        names = {"board": self.spec.board, "device": self.spec.device or "", "port": self._place.port or ""}
        command = [word.format(**names) for word in shlex.split(self.spec.power_cycle)]
        self.note(f"power cycle: {shlex.join(command)}")
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_POWER_TIMEOUT_S, check=False
            )
            if done.returncode:
                self.note(f"power cycle: exit code {done.returncode}: {done.stderr.strip()[-200:]}")
        except (OSError, subprocess.TimeoutExpired) as error:
            self.note(f"power cycle: {error}")

    def note(self, text: str) -> None:
        """Adds a line to the log."""
        self.log.append(f"{time.strftime('%H:%M:%S')} {text}")
        _LOG.info("%s: %s", self.spec.board or self.spec.kind, text)

    def described(self) -> dict[str, object]:
        """Returns the description that the scheduler gets with each heartbeat."""
        from aboard.base.version import VERSION

        return {
            "version": VERSION,
            "kind": self.spec.kind,
            "device": self._place.serial_number or self._place.port,
            "state": self.state.value,
            "holder": self.holder,
            "since": self.since,
            "failures": self.failures,
            "done": self.done,
            "pid": os.getpid(),
            "log": list(self.log)[-10:],
        }

    def _timing(self) -> Timing | None:
        return _TIMING if self.spec.kind == "board" else None

    def _flash(self, project: Project, board: Board, error: AboardError) -> None:
        try:
            name = flashers.choose(board, self.spec.flasher, project.info.template).name
        except ToolError:
            if self.spec.flasher is not None:
                raise
            raise error from None
        self.note(f"flashing with {name}, as {error}")
        with Session.open(project, runner_of(name)(board, self._named, self._place.port)):
            pass


def emulated_boards() -> list[str]:
    """Returns the boards that an installed emulator of this machine can be."""
    return [name for name in boards.names() if _has_emulator(name)]


def _has_emulator(name: str) -> bool:
    try:
        board = boards.load(name)
    except BoardError:
        return False  # a broken board file of the user is reported when its board is used
    known = runners.all_runners()
    able = [name for name in ("native",) if known[name].supports(board) is None] or runners.emulators(board)
    return any(known[runner].missing(board) is None for runner in able)


_station: Station | None = None


def begin(spec: StationSpec) -> Station:
    """Makes the station of this process, and takes its board; errors as for `Station.take`."""
    global _station
    station = Station(spec)
    station.take()
    _station = station
    return station


def current() -> Station:
    """Returns the station of this process.

    Raises:
        ToolError: This process is not a worker of `aboard farm worker`.
    """
    if _station is None:
        raise ToolError("farm: this worker was not started by aboard, expected one that was. Run `aboard farm worker`")
    return _station

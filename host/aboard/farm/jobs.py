"""What workers run: a function with a session on a board, and the lease of a board whose line goes to a client."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from aboard.api import Project, Session
from aboard.errors import AboardError
from aboard.farm import shipping, station
from aboard.farm.station import Station
from aboard.runners.base import Runner
from aboard.transports.base import Transport

_T = TypeVar("_T")

#: Resource of the processes that build.
BUILD = "build"
_WATCH_S = 1.0
# A job that leaves for another worker may come back at once, if there is no other.
_BACK_S = 0.5


@dataclass(frozen=True)
class Failure:
    """Why a job has no result.

    Attributes:
        kind: Name of the class of the error.
        message: Its message.
        of_board: True if the board is at fault: the job may succeed on another one.
    """

    kind: str
    message: str
    of_board: bool = False

    @classmethod
    def of(cls, error: BaseException, *, of_board: bool = False) -> Failure:
        """Returns the record of an exception."""
        return cls(type(error).__name__, str(error), of_board)


def on_board(work: Callable[[Session], _T], packed: bytes, holder: str) -> _T | Failure:
    """Runs a function with a session on the board of this worker.

    Args:
        work: The function. It may be called again if the board fails.
        packed: The project, as `shipping.pack` returns it.
        holder: Who runs the job.

    Returns:
        The result of the function, or why there is none.

    Raises:
        Reschedule: The board is in quarantine or gone: Dask gives the job to another worker.
    """
    here = station.current()
    _leave_to_others(here)
    try:
        with here.held(holder), shipping.unpacked(packed) as project:
            result = _tried(here, project, work)
            if isinstance(result, Failure) and result.of_board and not here.quarantined:
                here.recover()
                result = _tried(here, project, work)
            return result
    except AboardError as error:
        return Failure.of(error)


def _tried(here: Station, project: Project, work: Callable[[Session], _T]) -> _T | Failure:
    try:
        with here.session(project) as session:
            result = work(session)
    except AboardError as error:
        return Failure.of(error, of_board=here.blame(error))
    here.failures = 0
    return result


def _leave_to_others(here: Station) -> None:
    if here.state in (station.State.QUARANTINED, station.State.GONE):
        from distributed import Reschedule

        time.sleep(_BACK_S)
        raise Reschedule


@dataclass
class Lease:
    """A board whose line a client uses.

    Attributes:
        runner: What runs the image.
        line: The line to it.
    """

    runner: Runner
    line: Transport
    ended: threading.Event = field(default_factory=threading.Event)
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    def exchange(self, data: bytes, timeout_s: float) -> bytes:
        """Writes bytes and waits for bytes of the device; errors as for a transport."""
        if data:
            self.line.write(data)
        return self.line.read(timeout_s)

    def wait(self, name: str) -> None:
        """Returns when the client has closed the line, or is gone: the scheduler then cancels the job of that name."""
        from distributed import get_worker

        jobs = get_worker().state.tasks
        while not self.ended.wait(_WATCH_S) and name in jobs and jobs[name].state != "cancelled":
            pass


@dataclass(frozen=True)
class LeaseInfo:
    """What a client must know of a lease.

    Attributes:
        runner: Name of the runner.
        line: Name of the line.
        real_time: True if the device's counter measures real time.
        is_lossless: As for `Transport`.
    """

    runner: str
    line: str
    real_time: bool
    is_lossless: bool


_leases: dict[str, Lease] = {}


def hold(lease: str, packed: bytes, holder: str) -> Failure | None:
    """Boots a project on the board of this worker and keeps the line open for a client, until the client closes it.

    Args:
        lease: Name of the lease: the key of this job.
        packed: The project, as `shipping.pack` returns it.
        holder: Who holds the board.
    """
    here = station.current()
    _leave_to_others(here)
    try:
        with here.held(holder), shipping.unpacked(packed) as project, here.runner(project) as runner:
            line = runner.start(project)
            try:
                _leases[lease] = Lease(runner, line)
                _leases[lease].wait(lease)
            finally:
                _leases.pop(lease, None)
                line.close()
                runner.stop()
    except AboardError as error:
        return Failure.of(error, of_board=here.blame(error))
    here.failures = 0
    return None


async def describe_lease(lease: str) -> LeaseInfo | None:
    """Returns the description of a lease of this worker; None if it is not open (yet)."""
    found = _leases.get(lease)
    if found is None:
        return None
    return LeaseInfo(found.runner.name, found.line.name, found.runner.real_time, found.line.is_lossless)


async def exchange(lease: str, data: bytes, timeout_s: float) -> bytes | Failure:
    """Passes bytes to the device of a lease, and returns its bytes; see `Lease.exchange`."""
    found = _leases.get(lease)
    if found is None:
        return Failure("TransportError", "the farm has ended the lease of the board")
    try:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(found.pool, found.exchange, data, timeout_s)
    except AboardError as error:
        reason = found.runner.end_reason()
        return Failure(type(error).__name__, f"{error} ({found.runner.name}: {reason})" if reason else str(error))


async def release(lease: str) -> None:
    """Ends a lease of this worker."""
    found = _leases.get(lease)
    if found is not None:
        found.ended.set()

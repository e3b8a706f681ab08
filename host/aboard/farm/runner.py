"""Runs an image on a board of a farm: a worker holds the board and boots the image, and its line comes here.

Each exchange on the line is one call through the scheduler, so that it works wherever Dask does, with its TLS, and
nothing else listens anywhere.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from aboard import errors, runners
from aboard.boards.board import Board
from aboard.errors import AboardError, ToolError, TransportError
from aboard.farm import engine, jobs, offers, shipping
from aboard.farm.jobs import Failure, LeaseInfo
from aboard.farm.submission import PATIENCE_S
from aboard.runners.base import Runner
from aboard.transports.base import Transport

if TYPE_CHECKING:
    from distributed import Client, Future

    from aboard.project.project import Project

_POLL_S = 0.05
_QUEUE_S = 1.0
# A worker waits for the device's bytes no longer than this in one call, so that calls stay short.
_LONGEST_READ_S = 5.0


class FarmRunner(Runner):
    """Runs images on a board of a farm, of the kind that the project was made for."""

    name: ClassVar[str] = "farm"
    order: ClassVar[int] = 100
    automatic: ClassVar[bool] = False
    has_devices: ClassVar[bool] = True

    def __init__(
        self, board: Board, address: str, note: Callable[[str], None] = lambda _: None, patience_s: float = PATIENCE_S
    ) -> None:
        """Prepares it.

        Args:
            board: The board.
            address: Address of the scheduler.
            note: Receives lines of information: the position in the queue.
            patience_s: How long the farm may have no worker at all, in seconds.
        """
        super().__init__(board)
        self._address = address
        self._note = note
        self._patience_s = patience_s
        self._open = ExitStack()
        self._line: FarmLine | None = None
        self._info: LeaseInfo | None = None

    @property
    def real_time(self) -> bool:
        """True if the board of the farm measures real time."""
        return self._info is not None and self._info.real_time

    @classmethod
    @override
    def supports(cls, board: Board) -> str | None:
        """The farm's workers decide."""
        return None

    @classmethod
    @override
    def missing(cls, board: Board) -> str | None:
        """Needs no program here."""
        return None

    @override
    def fresh(self) -> Runner:
        return type(self)(self.board, self._address, self._note, self._patience_s)

    @override
    def start(self, project: Project) -> Transport:
        """Waits for a board, and returns the line to it; see `Runner.start`.

        Raises:
            ToolError: No worker of the farm can ever be the board.
            TransportError: No scheduler answers, or the worker has ended.
        """
        self.stop()
        packed = shipping.pack(project)
        try:
            client = self._open.enter_context(engine.connected(self._address))
            offers.settled(client, [self.board.id], self._patience_s)
            lease = self._open.enter_context(_held(client, packed, self.board.id))
            where, self._info = self._granted(client, lease)
            self._line = FarmLine(client, lease, where, self._info)
        except BaseException:
            self.stop()
            raise
        self._open.callback(self._line.close)
        return self._line

    def _granted(self, client: Client, lease: Future) -> tuple[str, LeaseInfo]:
        """Returns the worker that has granted the lease, and its description; tells the queue meanwhile."""
        look_at = time.monotonic() + _QUEUE_S
        while not lease.done():
            queued = client.processing()
            where = next((address for address, keys in queued.items() if lease.key in keys), None)
            info = None if where is None else _called(client, where, jobs.describe_lease, lease.key)
            if isinstance(info, LeaseInfo):
                return str(where), info
            if time.monotonic() >= look_at:
                look_at = time.monotonic() + 5 * _QUEUE_S
                able = [offer for offer in offers.offers(client) if self.board.id in offer.boards]
                ahead = max(0, sum(offer.jobs for offer in able) - 1)
                self._note(f"waiting for {self.board.id}: {ahead} other jobs on {len(able)} workers that have it")
            time.sleep(_POLL_S)
        raise _error(lease)

    @override
    def stop(self) -> None:
        self._open.close()
        self._open = ExitStack()
        self._line = None

    def alive(self) -> bool:
        """True while the line is open."""
        return self._line is not None and not self._line.reason

    @override
    def end_reason(self) -> str:
        return "it was not started" if self._line is None else self._line.reason

    @override
    def instructions(self, ticks: int, tick_hz: int) -> int | None:
        known = runners.all_runners().get(self._info.runner) if self._info is not None else None
        return None if known is None or self.real_time else known(self.board).instructions(ticks, tick_hz)


class FarmLine(Transport):
    """The line to a device that a worker of a farm holds.

    Attributes:
        reason: Why the line has ended; empty while it is open.
    """

    def __init__(self, client: Client, lease: Future, where: str, info: LeaseInfo) -> None:
        self.name = f"{info.line} of {where}"
        self.is_lossless = info.is_lossless
        self.reason = ""
        self._client = client
        self._lease = lease
        self._where = where
        self._outgoing = bytearray()

    def read(self, timeout_s: float) -> bytes:
        """Sends the written bytes and waits for bytes; see `Transport.read`."""
        self._check_open()
        data, self._outgoing = bytes(self._outgoing), bytearray()
        wait_s = min(timeout_s, _LONGEST_READ_S)
        found = _called(self._client, self._where, jobs.exchange, self._lease.key, data, wait_s)
        if isinstance(found, Failure):
            self.reason = found.message
            raise TransportError(f"{self.name}: the board of the farm is gone. Run it again")
        return bytes(found)

    def write(self, data: bytes) -> None:
        """Keeps bytes for the next `read`, which sends them."""
        self._check_open()
        self._outgoing += data

    def close(self) -> None:
        """Gives the board back to the farm."""
        if not self.reason:
            self.reason = "it was closed"
            if self._client.status == "running":
                _called(self._client, self._where, jobs.release, self._lease.key)

    def _check_open(self) -> None:
        if self.reason:
            raise TransportError(f"{self.name}: the line is closed. Open a new session")


@contextmanager
def _held(client: Client, packed: bytes, board: str) -> Iterator[Future]:
    """Asks the farm for a board, and gives it back at the end; the key of the job is the name of the lease."""
    name = f"aboard-lease-{uuid.uuid4().hex}"
    lease = client.submit(jobs.hold, name, packed, offers.this_holder(), key=name, resources={board: 1}, pure=False)
    try:
        yield lease
    finally:
        lease.cancel()


def _called(client: Client, where: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function on a worker; returns a `Failure` if the worker cannot be reached."""
    try:
        return client.run(function, *arguments, workers=[where])[where]
    except (OSError, KeyError, TimeoutError) as error:
        return Failure("TransportError", f"the worker {where} cannot be reached: {engine.first_line(error)}")


def _error(lease: Future) -> AboardError:
    """Returns why a lease was not granted, as the error that the worker had."""
    if lease.status != "finished":
        return TransportError(f"farm: the lease of the board ended as {lease.status}. Run it again")
    found = lease.result()
    if not isinstance(found, Failure):
        return TransportError("farm: the worker has ended the lease of the board. Run it again")
    kind = getattr(errors, found.kind, ToolError)
    plain = {"DeviceTimeout": errors.DeviceTimeout, "WrongModelError": errors.WrongModelError}
    return plain.get(found.kind, kind if kind in (TransportError, ToolError) else ToolError)(found.message)

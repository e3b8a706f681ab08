"""Runs jobs on a farm and records the result of each once, whatever fails meanwhile.

Dask schedules. This file keeps a bounded number of jobs at the scheduler, gives a job that failed with its board to the
farm again, and connects again after the scheduler or the network was away.
"""

from __future__ import annotations

import queue
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aboard.errors import TransportError
from aboard.farm import engine, jobs, offers
from aboard.farm.jobs import Failure

if TYPE_CHECKING:
    from distributed import Client, Future

#: How long a farm may have no worker for a job, or no scheduler, before the job ends with an error; in seconds.
PATIENCE_S = 60.0
#: Number of boards that may fail with a job, and of workers that may die with it (four at a time, as Dask counts).
_BOARDS, _DEATHS = 3, 4
_REFRESH_S = 1.0


@dataclass(frozen=True)
class Step:
    """One call on a worker.

    Attributes:
        function: The function; the result of the step before is its last argument, except for the first step.
        arguments: Its first arguments.
        resource: Hardware key of the board, or `jobs.BUILD`.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    resource: str


@dataclass
class Ticket:
    """A job: steps one after another, on workers that Dask chooses.

    Attributes:
        key: Identity of its result.
        steps: The steps; the last one's result is the job's.
    """

    key: str
    steps: Sequence[Step]
    boards_failed: int = 0
    workers_died: int = 0
    unmatched_since: float | None = None


@dataclass
class Submission:
    """Runs the tickets of a command.

    Attributes:
        address: Address of the scheduler.
        record: Receives key and result of each job, once.
        patience_s: See `PATIENCE_S`.
        note: Receives lines of information.
    """

    address: str
    record: Callable[[str, Any], None]
    patience_s: float = PATIENCE_S
    note: Callable[[str], None] = lambda _: None
    _waiting: deque[Ticket] = field(default_factory=deque)
    _running: dict[Future, Ticket] = field(default_factory=dict)
    _ended: queue.SimpleQueue[Future] = field(default_factory=queue.SimpleQueue)
    _offered: frozenset[str] = frozenset()
    _window: int = 1
    _refreshed: float = 0.0

    def run(self, tickets: Iterable[Ticket]) -> None:
        """Runs all tickets.

        Raises:
            ExtraError: Dask is not installed.
            TransportError: No scheduler answers, for longer than the patience.
        """
        self._waiting = deque(tickets)
        lost_at = None
        while self._waiting:
            try:
                with engine.connected(self.address) as client:
                    lost_at = None
                    if self._drained(client):
                        return
            except TransportError:
                lost_at = lost_at or time.monotonic()
                if time.monotonic() > lost_at + self.patience_s:
                    raise
            self.note(f"{self.address}: the connection to the scheduler was lost; connecting again")
            time.sleep(_REFRESH_S)

    def _drained(self, client: Client) -> bool:
        """Runs jobs until none is left; False if the connection was lost, with all unfinished ones waiting again."""
        self._refreshed = 0.0
        self._ended = queue.SimpleQueue()
        try:
            while self._waiting or self._running:
                self._refresh(client)
                while self._waiting and len(self._running) < self._window:
                    ticket = self._waiting.popleft()
                    future = _submitted(client, ticket)
                    self._running[future] = ticket
                    future.add_done_callback(self._ended.put)
                if not self._next(client):
                    return False
            return True
        except OSError:
            return False
        finally:
            self._waiting.extendleft(reversed(self._running.values()))
            self._running.clear()

    def _next(self, client: Client) -> bool:
        """Waits for the end of a job, for a moment; False if the connection was lost."""
        try:
            future = self._ended.get(timeout=_REFRESH_S)
        except queue.Empty:
            return bool(client.status == "running")
        ticket = self._running.pop(future, None)
        return ticket is None or self._take(future, ticket)

    def _refresh(self, client: Client) -> None:
        """Looks at what the farm offers, and ends the jobs for which it has had no worker for too long."""
        now = time.monotonic()
        if now < self._refreshed + _REFRESH_S:
            return
        self._refreshed = now
        found = offers.offers(client)
        self._offered = frozenset(key for offer in found for key in offer.boards)
        if any(offer.builds for offer in found):
            self._offered |= {jobs.BUILD}
        # One job for each worker, and one more that waits for it.
        self._window = 2 * max(1, len(found))
        for future, ticket in list(self._running.items()):
            if self._is_hopeless(ticket, now):
                del self._running[future]
                future.cancel()
                lacking = ", ".join(step.resource for step in ticket.steps if step.resource not in self._offered)
                self.record(ticket.key, Failure("ToolError", f"the farm has no worker for {lacking} any more"))

    def _is_hopeless(self, ticket: Ticket, now: float) -> bool:
        if all(step.resource in self._offered for step in ticket.steps):
            ticket.unmatched_since = None
            return False
        ticket.unmatched_since = ticket.unmatched_since or now
        return now > ticket.unmatched_since + self.patience_s

    def _take(self, future: Future, ticket: Ticket) -> bool:
        """Records the result of a job, or lets it run again; False if the scheduler has lost it."""
        from distributed import KilledWorker

        if future.status == "finished":
            self._judge(ticket, future.result())
            return True
        if future.status != "error":
            self._waiting.appendleft(ticket)
            return False
        error = future.exception()
        if not isinstance(error, KilledWorker):
            # A bug of aboard or of a package in a worker: the message says where it was.
            self.record(ticket.key, Failure(type(error).__name__, engine.first_line(error)))
            return True
        ticket.workers_died += 1
        if ticket.workers_died < _DEATHS:
            self._waiting.append(ticket)
        else:
            self.record(ticket.key, Failure("TransportError", f"its workers died again and again: {error}"))
        return True

    def _judge(self, ticket: Ticket, result: Any) -> None:
        if isinstance(result, Failure) and result.of_board:
            ticket.boards_failed += 1
            if ticket.boards_failed < _BOARDS:
                self.note(f"{ticket.key}: runs again, as a board failed: {result.message}")
                self._waiting.append(ticket)
                return
        self.record(ticket.key, result)


def _submitted(client: Client, ticket: Ticket) -> Future:
    """Gives the steps of a ticket to Dask; the result of a step stays on its worker until the next one has it."""
    unique = uuid.uuid4().hex
    future: Future | None = None
    for number, step in enumerate(ticket.steps):
        before: tuple[Any, ...] = () if future is None else (future,)
        options: Mapping[str, Any] = {"resources": {step.resource: 1}, "pure": False}
        future = client.submit(step.function, *step.arguments, *before, key=f"aboard-{number}-{unique}", **options)
    if future is None:
        raise ValueError("a ticket has one step at least")
    return future

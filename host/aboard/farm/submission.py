"""Runs jobs on a farm and records the result of each once, whatever fails meanwhile.

Dask schedules. This file keeps a bounded number of jobs at the scheduler, gives a job that failed with its board to the
farm again, and connects again after the scheduler or the network was away.
"""

from __future__ import annotations

import queue
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
#: Short jobs go to a worker together, so that Dask costs little beside them: about so many seconds, and so many jobs.
_JOB_S, _MOST_TOGETHER = 1.0, 32


@dataclass(frozen=True, eq=False)
class Shared:
    """An argument that many jobs have, such as a packed project: the farm gets it once, and each worker once."""

    value: Any


@dataclass(frozen=True)
class Step:
    """One call on a worker.

    Attributes:
        function: The function; the result of the step before is its last argument, except for the first step.
        arguments: Its first arguments; `Shared` ones are given as their values.
        resource: Hardware key of the board, or `jobs.BUILD`.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    resource: str


@dataclass(eq=False)
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

    def is_like(self, other: Ticket) -> bool:
        """True if both are one call of the same function on the same kind of board."""
        kinds = [[(step.function, step.resource) for step in ticket.steps] for ticket in (self, other)]
        return len(self.steps) == 1 and kinds[0] == kinds[1]


@dataclass(eq=False)
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
    _running: dict[Future, list[Ticket]] = field(default_factory=dict)
    _shared: dict[Shared, Future] = field(default_factory=dict)
    _ended: queue.SimpleQueue[Future] = field(default_factory=queue.SimpleQueue)
    # Since when the farm has had no worker for a resource.
    _lacking: dict[str, float] = field(default_factory=dict)
    _window: int = 1
    _together: int = 1
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
        self._shared.clear()
        try:
            while self._waiting or self._running:
                self._refresh(client)
                while self._waiting and len(self._running) < self._window:
                    tickets = self._chosen()
                    future = self._submitted(client, tickets)
                    self._running[future] = tickets
                    future.add_done_callback(self._ended.put)
                if not self._next(client):
                    return False
            return True
        except OSError:
            return False
        finally:
            for tickets in self._running.values():
                self._waiting.extendleft(tickets)
            self._running.clear()

    def _next(self, client: Client) -> bool:
        """Waits for the end of a job, for a moment; False if the connection was lost."""
        try:
            future = self._ended.get(timeout=_REFRESH_S)
        except queue.Empty:
            return bool(client.status == "running")
        tickets = self._running.pop(future, None)
        return tickets is None or self._take(future, tickets)

    def _chosen(self) -> list[Ticket]:
        """Takes the next ticket, and with it as many like it as make a job of some length, but a fair share at most."""
        tickets = [self._waiting.popleft()]
        most = min(self._together, len(self._waiting) // (2 * self._window))
        while len(tickets) < most and self._waiting[0].is_like(tickets[0]):
            tickets.append(self._waiting.popleft())
        return tickets

    def _refresh(self, client: Client) -> None:
        """Looks at what the farm offers, and ends the jobs for which it has had no worker for too long."""
        now = time.monotonic()
        if now < self._refreshed + _REFRESH_S:
            return
        self._refreshed = now
        found = offers.offers(client)
        offered = {key for offer in found for key in offer.boards}
        offered |= {jobs.BUILD} if any(offer.builds for offer in found) else set()
        # One job for each worker, and one more that waits for it.
        self._window = 2 * max(1, len(found))
        wanted = {step.resource for ticket in self._left() for step in ticket.steps}
        self._lacking = {key: self._lacking.get(key, now) for key in wanted - offered}
        hopeless = {key for key, since in self._lacking.items() if now > since + self.patience_s}
        if hopeless:
            self._give_up(hopeless)

    def _left(self) -> Iterator[Ticket]:
        yield from self._waiting
        for tickets in self._running.values():
            yield from tickets

    def _give_up(self, resources: set[str]) -> None:
        """Ends all jobs that need a board, or a worker that builds, which the farm has not had for too long."""
        lost = [ticket for ticket in self._left() if any(step.resource in resources for step in ticket.steps)]
        for future, tickets in list(self._running.items()):
            if any(ticket in lost for ticket in tickets):
                del self._running[future]
                future.cancel()
        self._waiting = deque(ticket for ticket in self._waiting if ticket not in lost)
        text = f"the farm has no worker for {', '.join(sorted(resources))} any more"
        for ticket in lost:
            self.record(ticket.key, Failure("ToolError", text))

    def _take(self, future: Future, tickets: list[Ticket]) -> bool:
        """Records the results of jobs, or lets them run again; False if the scheduler has lost them."""
        from distributed import KilledWorker

        if future.status == "finished":
            seconds, results = future.result()
            self._together = max(1, min(_MOST_TOGETHER, int(_JOB_S * len(tickets) / max(seconds, 1e-3))))
            for ticket, result in zip(tickets, results, strict=True):
                self._judge(ticket, result)
            return True
        if future.status != "error":
            self._waiting.extendleft(tickets)
            return False
        error = future.exception()
        if isinstance(error, KilledWorker):
            self._shared.clear()  # the task of a shared argument may be what the workers died with
            self._died(tickets, error)
        else:
            # A bug of aboard or of a package in a worker: the message says where it was.
            for ticket in tickets:
                self.record(ticket.key, Failure(type(error).__name__, engine.first_line(error)))
        return True

    def _died(self, tickets: list[Ticket], error: Exception) -> None:
        self._together = 1
        for ticket in tickets:
            ticket.workers_died += 1
            if ticket.workers_died < _DEATHS:
                self._waiting.append(ticket)
            else:
                self.record(ticket.key, Failure("TransportError", f"its workers died again and again: {error}"))

    def _judge(self, ticket: Ticket, result: Any) -> None:
        if isinstance(result, Failure) and result.of_board:
            ticket.boards_failed += 1
            if ticket.boards_failed < _BOARDS:
                self.note(f"{ticket.key}: runs again, as a board failed: {result.message}")
                self._waiting.append(ticket)
                return
        self.record(ticket.key, result)

    def _submitted(self, client: Client, tickets: Sequence[Ticket]) -> Future:
        """Gives the steps of tickets to Dask; the result of a step stays on its worker until the next one has it."""
        unique = uuid.uuid4().hex
        (*first, last) = tickets[0].steps
        before: list[Future] = []
        for number, step in enumerate(first):
            calls = [[*self._given(client, step), *before]]
            before = [client.submit(_alone, step.function, calls, **_options(step, f"{number}-{unique}"))]
        calls = [[*self._given(client, ticket.steps[-1]), *before] for ticket in tickets]
        return client.submit(_one_by_one, last.function, calls, **_options(last, f"{len(first)}-{unique}"))

    def _given(self, client: Client, step: Step) -> list[Any]:
        """Returns the arguments of a step, with futures for the shared ones."""
        for argument in step.arguments:
            if isinstance(argument, Shared) and argument not in self._shared:
                # A task, and not scattered data: Dask makes it again when the worker that has it dies.
                key = f"aboard-shared-{uuid.uuid4().hex}"
                self._shared[argument] = client.submit(_identity, argument.value, key=key, pure=False)
        return [self._shared[a] if isinstance(a, Shared) else a for a in step.arguments]


def _options(step: Step, key: str) -> Mapping[str, Any]:
    return {"resources": {step.resource: 1}, "pure": False, "key": f"aboard-{key}"}


def _identity(value: Any) -> Any:
    return value


def _alone(function: Callable[..., Any], calls: Sequence[Sequence[Any]]) -> Any:
    return function(*calls[0])


def _one_by_one(function: Callable[..., Any], calls: Sequence[Sequence[Any]]) -> tuple[float, list[Any]]:
    """Returns the seconds and the results of calls one after another."""
    began = time.monotonic()
    results = [function(*arguments) for arguments in calls]
    return time.monotonic() - began, results

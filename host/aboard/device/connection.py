"""The line to a running device: keeps it open, reports why it ended, and checks that the firmware is the project's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from aboard import faults
from aboard.base.fault_record import FaultRecord
from aboard.base.manifest import Manifest
from aboard.device import image_check
from aboard.device.image_check import ProjectLike
from aboard.device.timing import Duration
from aboard.errors import DeviceTimeout, InputError, TransportError, did_you_mean
from aboard.faults import FaultReport
from aboard.rpc.client import Client
from aboard.rpc.replies import Hello, ModelInfo
from aboard.transports.base import Transport

_END_S = 1.0
_POLL_S = 0.01
#: How long a call waits for a port that has gone, in seconds: boards with native USB need a second or two.
REOPEN_S = 10.0


class RunnerLike(Protocol):
    """The interface of runners that a session uses: a runner boots or flashes an image and opens the line to it."""

    @property
    def name(self) -> str:
        """Name of the runner in messages."""

    def stop(self) -> None:
        """Ends the device; leaves no process behind."""

    def alive(self) -> bool:
        """True while the device can answer."""

    def end_reason(self) -> str:
        """Why the device has ended; empty while it runs."""

    def instructions(self, ticks: int, tick_hz: int, /) -> int | None:
        """Converts ticks to instructions; None if the runner cannot."""

    @property
    def real_time(self) -> bool:
        """False for an emulator, whose time is virtual."""


class Connection:
    """A device, the line to it and the project whose firmware it runs. Takes ownership of transport and runner.

    Attributes:
        project: The project.
        client: Sends requests; call it within `guard` only.
        transport: The line.
        infos: The device's description of each model, once a session with the device has begun.
    """

    def __init__(self, project: ProjectLike, client: Client, transport: Transport, runner: RunnerLike | None) -> None:
        self.project = project
        self.client = client
        self.transport = transport
        self.infos: list[ModelInfo] = []
        self._runner = runner
        # Why no call works any more; empty while the connection is open.
        self._end = ""
        self._port_is_gone = False
        client.check = self._check
        client.explain = self.explain

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Ends the connection if the line is gone, and reports whether the emulator died or the device is silent."""
        if self._end:
            raise TransportError(f"session: has ended. Open a new session; the reason: {self._end}")
        try:
            if self._port_is_gone:
                self._reopen()
            yield
        except TransportError as error:
            failure = self._with_reason(str(error))
            self._port_is_gone = self._comes_back()
            self._end = "" if self._port_is_gone else str(failure)
            raise failure from error
        except DeviceTimeout as error:
            if self._runner is None or self._runner.alive():
                raise
            failure = self._with_reason(str(error))
            self._end = str(failure)
            raise failure from error

    def reset(self) -> None:
        """Restarts the device."""
        with self.guard():
            try:
                self.client.reset()
            except TransportError:
                # The port of a board with native USB disappears during a restart.
                if not self._comes_back():
                    raise
                self._reopen()
                self.client.connect()

    def close(self) -> None:
        """Ends the connection and stops the emulator, if there is one. A second call does nothing."""
        self._end = self._end or "it was closed"
        try:
            self.transport.close()
        finally:
            if self._runner is not None:
                self._runner.stop()

    def find(self, model: str | int | None) -> tuple[int, Manifest]:
        """Returns number and manifest of the model of this name or number; of the only one for None.

        Raises:
            InputError: There is no such model, or there are several and none is chosen.
        """
        models = self.project.models
        names = [manifest.name for manifest in models]
        if model is None and len(names) != 1:
            raise InputError(f"session: has several models. Choose one with model=: {', '.join(names)}")
        number = names.index(model) if isinstance(model, str) and model in names else model or 0
        if not isinstance(number, int) or not 0 <= number < len(names):
            raise InputError(f"session: unknown model {model!r}. {did_you_mean(str(model), names)}")
        return number, models[number]

    def duration(self, ticks: int) -> Duration:
        """Returns the time of ticks, in instructions too if the runner counts them."""
        runner, tick_hz = self._runner, self.client.hello.tick_hz
        if runner is None:
            return Duration(ticks, tick_hz, None)
        return Duration(ticks, tick_hz, runner.instructions(ticks, tick_hz), runner.real_time)

    def explain(self, record: FaultRecord) -> FaultReport:
        """Decodes a fault record; the project's image gives the function names and lines."""
        project = self.project
        return faults.decode(record, project.models[0].core, project.image, project.path, project.board.memory)

    def _comes_back(self) -> bool:
        """True if the line can be opened again and the device has not ended for good."""
        return self.transport.reopens and (self._runner is None or self._runner.alive())

    def _reopen(self) -> None:
        self.transport.reopen(REOPEN_S)
        self.client.forget()
        self._port_is_gone = False

    def _with_reason(self, message: str) -> TransportError:
        """Returns the error with the reason why the emulator ended, if it is known."""
        runner = self._runner
        if runner is None:
            return TransportError(message)
        # The line closes a moment before the process reports its end.
        deadline = time.monotonic() + _END_S
        while runner.alive() and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        reason = runner.end_reason()
        return TransportError(f"{message} ({runner.name}: {reason})" if reason else message)

    def _check(self, hello: Hello) -> None:
        """Raises unless the device runs the project's build."""
        infos = [self.client.model(number) for number in range(hello.models)]
        image_check.check(hello, infos, self.project, self.transport.name)
        # Stored after the check, so that the models of a refused device are never kept.
        self.infos = infos

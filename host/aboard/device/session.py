"""A running device with models on it: sets inputs, runs, reads outputs, times every operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING

import numpy.typing as npt

from aboard.base.manifest import Manifest
from aboard.device import tensor_io
from aboard.device.connection import Connection, RunnerLike
from aboard.device.execution import Execution
from aboard.device.image_check import ProjectLike
from aboard.device.model_state import ModelState
from aboard.device.tensor_io import Inputs, Results, Values
from aboard.device.timing import Profile, RunResult, Series
from aboard.faults import FaultReport
from aboard.rpc import throughput
from aboard.rpc.client import Client
from aboard.rpc.replies import Hello, Stats
from aboard.rpc.throughput import LineRate
from aboard.rpc.timing import Timing
from aboard.transports.base import Transport

if TYPE_CHECKING:
    from typing_extensions import Self


class Session(AbstractContextManager["Session"]):
    """A running device with the models of a project on it. Use it in a `with` statement.

    A `model` argument is a model's name or number; it may be left out when there is only one.

    Every call raises the errors listed with it, and: `TransportError` (the line is gone or the emulator was killed; the
    session has ended), `DeviceTimeout`, `ProtocolError`, `DeviceStatusError`, `DeviceFault` (the device crashed; the
    next call works again) and `DeviceError` (the device restarted; the next call works again).

    A serial port disappears for a while when the board is unplugged, or restarts with native USB: the call that notices
    raises `TransportError`; the next one waits for the port, opens it, checks that the firmware is the same, and works.
    """

    def __init__(self, project: ProjectLike, client: Client, transport: Transport, runner: RunnerLike | None) -> None:
        """Takes ownership of transport and runner; `attach` also connects."""
        self._connection = Connection(project, client, transport, runner)

    @classmethod
    def attach(
        cls,
        project: ProjectLike,
        transport: Transport,
        runner: RunnerLike | None = None,
        *,
        timing: Timing | None = None,
        on_log: Callable[[str], None] | None = None,
    ) -> Self:
        """Connects to a running device. Takes ownership of transport and runner, even if it fails.

        Raises:
            WrongModelError: The device runs another build than the project's.
        """
        session = cls(project, Client(transport, timing=timing, on_log=on_log), transport, runner)
        try:
            with session._connection.guard():
                session._connection.client.connect()
        except BaseException:
            session.close()
            raise
        return session

    @property
    def hello(self) -> Hello:
        """The device's reply to HELLO: protocol version, features, board, build."""
        return self._connection.client.hello

    @property
    def models(self) -> Sequence[Manifest]:
        """The models, in the order of their numbers."""
        return self._connection.project.models

    @property
    def lost_events(self) -> int:
        """Number of events (logs, trace rows, progress) that the device sent and that did not arrive."""
        return self._connection.client.lost_events

    def run(self, inputs: Inputs, model: str | int | None = None) -> Results:
        """Runs a model once.

        Args:
            inputs: One array for a model with one input, else arrays by tensor name.
            model: Which model.

        Returns:
            One array for a model with one output, else arrays by tensor name.

        Raises:
            InputError: A name, shape or type is wrong.
        """
        return tensor_io.single(self.infer(inputs, model).outputs)

    def infer(self, inputs: Inputs, model: str | int | None = None) -> RunResult:
        """Runs a model once and returns outputs, time and stack; arguments and errors as for `run`."""
        return Execution(self._connection, model).infer(inputs)

    def run_many(self, inputs: Iterable[Inputs], model: str | int | None = None) -> list[Results]:
        """Runs a model on one input after another; arguments and errors as for `run`."""
        return [self.run(one, model) for one in inputs]

    def run_n(
        self, inputs: Inputs, count: int, model: str | int | None = None, *, within_s: float | None = None
    ) -> Series:
        """Runs a model `count` times on the same inputs and times it; the outputs stay on the device.

        Each run of a model with state is a step of its sequence.

        Ctrl-C also ends the series on the device, after the current run.

        Args:
            inputs: As for `run`.
            count: Number of runs, 1 or more.
            model: Which model.
            within_s: Longest time in seconds of this machine's clock. Then the series ends after the current run, and
                the `count` of the result is the number of completed runs.

        Raises:
            InputError: A name, shape or type is wrong, the count is not 1 or more, or the time is negative.
        """
        return Execution(self._connection, model).series(inputs, count, within_s)

    def profile(self, inputs: Inputs, model: str | int | None = None) -> Profile:
        """Times every node; arguments and errors as for `run`.

        Runs the model twice: first as `infer` does, for outputs, time and stack (`Profile.run`), then with the counter
        read around each node, which takes some ticks a node. A model with a costly run takes twice as long. Between the
        two runs the state of a model is restored, so that the call is one step of a sequence.

        Raises:
            DeviceStatusError: The image was built without `-O profile=on`.
        """
        return Execution(self._connection, model).profile(inputs)

    def trace(
        self, inputs: Inputs, nodes: Iterable[str | int] | None = None, model: str | int | None = None
    ) -> dict[int, dict[str, Values]]:
        """Runs a model and returns what its nodes computed, in the very schedule that runs.

        A lossy line needs several runs. The state of a model is restored before each further run.

        Args:
            inputs: As for `run`.
            nodes: Names or indices of nodes; all of them where none is given.
            model: Which model.

        Returns:
            By index of the node and name of the tensor: the tensor in the shape it has in the model file. Where the
            compiled model has dropped channels it is a masked array, and what was dropped is masked.

        Raises:
            InputError: An input is wrong, or a node is not the model's.
            DeviceStatusError: The image was built without `-O trace=on`.
            DeviceError: The line loses more data than repeated runs can replace.
        """
        return Execution(self._connection, model).trace(inputs, nodes)

    def run_op(
        self, node: str | int, inputs: Mapping[str, npt.ArrayLike], count: int = 1, model: str | int | None = None
    ) -> RunResult:
        """Runs one node alone, in the workspace instead of the arena.

        Args:
            node: Its name or index.
            inputs: Its operands by tensor name, in the shapes of the model file or as compiled.
            count: How often to run it; the returned time is that of the fastest run.
            model: Which model.

        Raises:
            InputError: A name, shape or type is wrong.
            DeviceStatusError: The image was built without `-O run_op=on`.
        """
        return Execution(self._connection, model).run_node(node, inputs, count)

    def state(self, model: str | int | None = None) -> dict[str, Values]:
        """Reads what the runs so far leave for the next one: arrays by name, in the shapes of the model file.

        The result restores the state with `set_state`, of this session, of a session with another device, or of a
        `Module` of the same model. It is empty for a model without state.

        Raises:
            ProtocolError: The firmware is of a version of aboard that does not give state to a host.
        """
        return self._state(model).read()

    def set_state(self, state: Mapping[str, npt.ArrayLike], model: str | int | None = None) -> None:
        """Replaces the whole state of a model, so that the next run continues from there; errors as for `state`.

        Raises:
            InputError: A name, shape or type is wrong. The state is unchanged then.
        """
        self._state(model).write(state)

    def reset_state(self, model: str | int | None = None) -> None:
        """Gives every state of a model its initial value, so the next run begins a sequence; errors as for `state`."""
        self._state(model).reset()

    def _state(self, model: str | int | None) -> ModelState:
        return ModelState(self._connection, *self._connection.find(model))

    def stats(self) -> Stats:
        """Returns the device's counters of frames and requests."""
        with self._connection.guard():
            return self._connection.client.stats()

    def fault(self, *, clear: bool = False) -> FaultReport | None:
        """Returns the report of the device's last crash; None if there was none.

        Args:
            clear: Clear the record on the device afterwards.
        """
        with self._connection.guard():
            record = self._connection.client.fault()
            if clear:
                self._connection.client.clear_fault()
        return self._connection.explain(record) if record.kind else None

    def measure_line(self, count: int = 10) -> LineRate:
        """Measures the data rate of the line. This overwrites the first input of the first model.

        Args:
            count: How often the input is written and read.
        """
        with self._connection.guard():
            rate = self._connection.transport.bytes_per_second
            return throughput.measure(self._connection.client, rate, self.models[0].inputs[0].bytes, count)

    def listen(self, seconds: float) -> None:
        """Receives logs of the device for `seconds` without running a model."""
        with self._connection.guard():
            self._connection.client.listen(seconds)

    def reset(self) -> None:
        """Restarts the device. Inputs and outputs on it are lost, and state has its initial value."""
        self._connection.reset()

    def close(self) -> None:
        """Ends the session and stops the emulator, if there is one. A second call does nothing."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

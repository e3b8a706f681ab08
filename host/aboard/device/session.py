"""A running device with models on it: sets inputs, runs, reads outputs, times every operator."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

import numpy.typing as npt

from aboard import faults
from aboard.base.fault_record import FaultRecord
from aboard.base.manifest import Manifest
from aboard.base.manifest_records import OperandRecord
from aboard.device import image_check, tensor_io, tensor_layout
from aboard.device.image_check import ProjectLike
from aboard.device.tensor_io import Inputs, Results, Values
from aboard.device.timing import Duration, NodeTime, Profile, RunResult, Series
from aboard.device.trace import TraceCollector
from aboard.errors import DeviceError, DeviceTimeout, InputError, TransportError, did_you_mean
from aboard.faults import FaultReport
from aboard.rpc import throughput
from aboard.rpc.client import Client
from aboard.rpc.messages import BeginRequest, OpRunRequest, RunFlag, RunRequest, TensorKind
from aboard.rpc.replies import Hello, ModelInfo, RunReply, Stats, TraceEvent
from aboard.rpc.throughput import LineRate
from aboard.rpc.timing import Timing
from aboard.transports.base import Transport

if TYPE_CHECKING:
    from typing_extensions import Self

_TRACE_ATTEMPTS = 20
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
        self._project = project
        self._client = client
        self._transport = transport
        self._runner = runner
        self._infos: list[ModelInfo] = []
        # Why no call works any more; empty while the session is open.
        self._end = ""
        self._port_is_gone = False
        client.check = self._check
        client.explain = self._explain

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
            with session._guard():
                session._client.connect()
        except BaseException:
            session.close()
            raise
        return session

    @property
    def hello(self) -> Hello:
        """The device's reply to HELLO: protocol version, features, board, build."""
        return self._client.hello

    @property
    def models(self) -> Sequence[Manifest]:
        """The models, in the order of their numbers."""
        return self._project.models

    @property
    def lost_events(self) -> int:
        """Number of events (logs, trace rows, progress) that the device sent and that did not arrive."""
        return self._client.lost_events

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
        number, manifest = self._find(model)
        data = tensor_io.encode(inputs, manifest.inputs, manifest.name)
        with self._guard():
            reply = self._run(RunRequest(number), data)
            outputs = [
                self._client.read_tensor(number, TensorKind.OUTPUT, index, record.bytes)
                for index, record in enumerate(manifest.outputs)
            ]
        decoded = tensor_io.decode(outputs, manifest.outputs)
        return RunResult(decoded, self._duration(reply.ticks_total), reply.stack_bytes)

    def run_many(self, inputs: Iterable[Inputs], model: str | int | None = None) -> list[Results]:
        """Runs a model on one input after another; arguments and errors as for `run`."""
        return [self.run(one, model) for one in inputs]

    def run_n(
        self, inputs: Inputs, count: int, model: str | int | None = None, *, within_s: float | None = None
    ) -> Series:
        """Runs a model `count` times on the same inputs and times it; the outputs stay on the device.

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
        number, manifest = self._find(model)
        if count < 1:
            raise InputError(
                f"{manifest.name}: cannot run so often, got {count}, expected 1 or more. Pass a larger number"
            )
        if within_s is not None and within_s < 0:
            raise InputError(
                f"{manifest.name}: within_s is negative, got {within_s:g}, expected seconds. Pass 0 or more"
            )
        data = tensor_io.encode(inputs, manifest.inputs, manifest.name)
        at_once = count if self._survives(number) else 1
        until = None if within_s is None else time.monotonic() + within_s
        replies: list[RunReply] = []
        with self._guard():
            for _ in range(0, count, at_once):
                left = None if until is None else max(0.0, until - time.monotonic())
                if left == 0 and replies:
                    break
                replies.append(self._run(RunRequest(number, count=at_once), data, within_s=left))
        return Series(
            count=sum(reply.runs for reply in replies),
            fewest=self._duration(min(reply.ticks_min for reply in replies)),
            most=self._duration(max(reply.ticks_max for reply in replies)),
            total=self._duration(sum(reply.ticks_total for reply in replies)),
            stack_bytes=max(reply.stack_bytes for reply in replies),
        )

    def profile(self, inputs: Inputs, model: str | int | None = None) -> Profile:
        """Times every node; arguments and errors as for `run`.

        Runs the model twice: first as `infer` does, for outputs, time and stack (`Profile.run`), then with the counter
        read around each node, which takes some ticks a node. A model with a costly run takes twice as long.

        Raises:
            DeviceStatusError: The image was built without `-O profile=on`.
        """
        run = self.infer(inputs, model)
        number, manifest = self._find(model)
        with self._guard():
            data = tensor_io.encode(inputs, manifest.inputs, manifest.name)
            self._run(RunRequest(number, flags=RunFlag.PROFILE), data)
            ticks = self._client.node_ticks(len(manifest.nodes))
        nodes = zip(manifest.nodes, ticks, strict=True)
        times = (NodeTime(index, node, self._duration(count)) for index, (node, count) in enumerate(nodes))
        return Profile(manifest.name, tuple(times), run)

    def trace(
        self, inputs: Inputs, nodes: Iterable[str | int] | None = None, model: str | int | None = None
    ) -> dict[int, dict[str, Values]]:
        """Runs a model and returns what its nodes computed, in the very schedule that runs.

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
        number, manifest = self._find(model)
        data = tensor_io.encode(inputs, manifest.inputs, manifest.name)
        wanted = range(len(manifest.nodes)) if nodes is None else [self._node(manifest, node) for node in nodes]
        collector = TraceCollector(manifest.nodes, wanted)
        for _ in range(_TRACE_ATTEMPTS):
            missing = collector.missing()
            if not missing:
                return collector.results()
            with self._guard():
                request = RunRequest(number, flags=RunFlag.TRACE, first=missing[0], last=missing[-1] + 1)
                self._run(request, data, collector.take)
        missing = collector.missing()
        if not missing:
            return collector.results()
        raise DeviceError(
            f"{manifest.name}: the trace is incomplete after {_TRACE_ATTEMPTS} runs, got none or parts of "
            f"{', '.join(manifest.nodes[index].name for index in missing)}. Check the line, and that the models were "
            "built with -O trace=on"
        )

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
        number, manifest = self._find(model)
        index = self._node(manifest, node)
        record = manifest.nodes[index]
        placed = tensor_layout.place_all(inputs, record, f"{manifest.name}: {record.name}")
        with self._guard():
            for offset, data in placed:
                self._client.write_workspace(offset, data)
            reply = self._client.run(OpRunRequest(number, index, count))
            outputs = {
                operand.tensor: tensor_layout.widen(self._read_operand(operand), operand) for operand in record.outputs
            }
        return RunResult(outputs, self._duration(reply.ticks_min), reply.stack_bytes)

    def _read_operand(self, record: OperandRecord) -> bytes:
        """Reads an operand of a node from the workspace."""
        content = self._client.read_workspace(record.offset, tensor_layout.span(record))
        return tensor_layout.extract(content, record)

    def stats(self) -> Stats:
        """Returns the device's counters of frames and requests."""
        with self._guard():
            return self._client.stats()

    def fault(self, *, clear: bool = False) -> FaultReport | None:
        """Returns the report of the device's last crash; None if there was none.

        Args:
            clear: Clear the record on the device afterwards.
        """
        with self._guard():
            record = self._client.fault()
            if clear:
                self._client.clear_fault()
        return self._explain(record) if record.kind else None

    def measure_line(self, count: int = 10) -> LineRate:
        """Measures the data rate of the line. This overwrites the first input of the first model.

        Args:
            count: How often the input is written and read.
        """
        with self._guard():
            rate = self._transport.bytes_per_second
            return throughput.measure(self._client, rate, self.models[0].inputs[0].bytes, count)

    def listen(self, seconds: float) -> None:
        """Receives logs of the device for `seconds` without running a model."""
        with self._guard():
            self._client.listen(seconds)

    def reset(self) -> None:
        """Restarts the device. Its inputs and outputs are lost."""
        with self._guard():
            try:
                self._client.reset()
            except TransportError:
                # The port of a board with native USB disappears during a restart.
                if not self._comes_back():
                    raise
                self._reopen()
                self._client.connect()

    def close(self) -> None:
        """Ends the session and stops the emulator, if there is one. A second call does nothing."""
        self._end = self._end or "it was closed"
        try:
            self._transport.close()
        finally:
            if self._runner is not None:
                self._runner.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Ends the session if the line is gone, and reports whether the emulator died or the device is silent."""
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

    def _comes_back(self) -> bool:
        """True if the line can be opened again and the device has not ended for good."""
        return self._transport.reopens and (self._runner is None or self._runner.alive())

    def _reopen(self) -> None:
        self._transport.reopen(REOPEN_S)
        self._client.forget()
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
        infos = [self._client.model(number) for number in range(hello.models)]
        image_check.check(hello, infos, self._project, self._transport.name)
        # Stored after the check, so that the models of a refused device are never kept.
        self._infos = infos

    def _explain(self, record: FaultRecord) -> FaultReport:
        """Decodes a fault record; the project's image gives the function names and lines."""
        project = self._project
        return faults.decode(record, project.models[0].core, project.image, project.path, project.board.memory)

    def _find(self, model: str | int | None) -> tuple[int, Manifest]:
        names = [manifest.name for manifest in self.models]
        if model is None and len(names) != 1:
            raise InputError(f"session: has several models. Choose one with model=: {', '.join(names)}")
        number = names.index(model) if isinstance(model, str) and model in names else model or 0
        if not isinstance(number, int) or not 0 <= number < len(names):
            raise InputError(f"session: unknown model {model!r}. {did_you_mean(str(model), names)}")
        return number, self.models[number]

    @staticmethod
    def _node(manifest: Manifest, node: str | int) -> int:
        names = [record.name for record in manifest.nodes]
        index = names.index(node) if isinstance(node, str) and node in names else node
        if not isinstance(index, int) or not 0 <= index < len(names):
            raise InputError(f"{manifest.name}: unknown node {node!r}. {did_you_mean(str(node), names)}")
        return index

    def _run(
        self,
        request: RunRequest,
        data: Sequence[bytes],
        on_trace: Callable[[TraceEvent], bool] | None = None,
        within_s: float | None = None,
    ) -> RunReply:
        """Writes the inputs and runs a model. A model with streamed input computes while its rows arrive."""
        number = request.model
        if self._infos[number].input_in_rows:
            begin = BeginRequest(number, request.flags, request.first, request.last)
            rows = self._project.models[number].inputs[0].shape[1]
            row_bytes = len(data[0]) // rows if request.flags & RunFlag.TRACE else None
            self._client.push_rows(begin, data[0], row_bytes=row_bytes, on_trace=on_trace)
        else:
            for index, chunk in enumerate(data):
                self._client.write_input(number, index, chunk)
        return self._client.run(request, on_trace=on_trace, within_s=within_s)

    def _survives(self, number: int) -> bool:
        return self._infos[number].inputs_kept or self._infos[number].inputs_restored

    def _duration(self, ticks: int) -> Duration:
        runner, tick_hz = self._runner, self._client.hello.tick_hz
        if runner is None:
            return Duration(ticks, tick_hz, None)
        return Duration(ticks, tick_hz, runner.instructions(ticks, tick_hz), runner.real_time)

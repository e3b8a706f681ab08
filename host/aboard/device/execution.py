"""Runs of the models and nodes of a device: writes inputs, starts runs, reads outputs and times.

A call that needs several runs of a model with state restores the state between them, so that every call is one step of
the sequence.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

import numpy.typing as npt

from aboard.base.manifest_records import OperandRecord
from aboard.device import tensor_io, tensor_layout
from aboard.device.connection import Connection
from aboard.device.model_state import ModelState
from aboard.device.tensor_io import Inputs, Values
from aboard.device.timing import NodeTime, Profile, RunResult, Series
from aboard.device.trace import TraceCollector
from aboard.errors import DeviceError, InputError, did_you_mean
from aboard.rpc.exchange import OnTrace
from aboard.rpc.messages import BeginRequest, OpRunRequest, RunFlag, RunRequest, TensorKind
from aboard.rpc.replies import RunReply

_TRACE_ATTEMPTS = 20


class Execution:
    """Runs one model of a device, or its nodes."""

    def __init__(self, connection: Connection, model: str | int | None) -> None:
        """Takes the name or number of the model, None for the only one; raises `InputError` if there is no such."""
        self._connection = connection
        self._number, self._manifest = connection.find(model)
        self._state = ModelState(connection, self._number, self._manifest)

    def infer(self, inputs: Inputs) -> RunResult:
        """Runs the model once; reads its outputs."""
        data = self._encode(inputs)
        with self._connection.guard():
            reply = self._run(RunRequest(self._number), data)
            outputs = [
                self._connection.client.read_tensor(self._number, TensorKind.OUTPUT, index, record.bytes)
                for index, record in enumerate(self._manifest.outputs)
            ]
        decoded = tensor_io.decode(outputs, self._manifest.outputs)
        return RunResult(decoded, self._connection.duration(reply.ticks_total), reply.stack_bytes)

    def series(self, inputs: Inputs, count: int, within_s: float | None) -> Series:
        """Runs the model `count` times, or as often as it can within a time."""
        name = self._manifest.name
        if count < 1:
            raise InputError(f"{name}: cannot run so often, got {count}, expected 1 or more. Pass a larger number")
        if within_s is not None and within_s < 0:
            raise InputError(f"{name}: within_s is negative, got {within_s:g}, expected seconds. Pass 0 or more")
        replies = self._replies(self._encode(inputs), count, within_s)
        duration = self._connection.duration
        return Series(
            count=sum(reply.runs for reply in replies),
            fewest=duration(min(reply.ticks_min for reply in replies)),
            most=duration(max(reply.ticks_max for reply in replies)),
            total=duration(sum(reply.ticks_total for reply in replies)),
            stack_bytes=max(reply.stack_bytes for reply in replies),
        )

    def _replies(self, data: Sequence[bytes], count: int, within_s: float | None) -> list[RunReply]:
        at_once = count if self._keeps_inputs else 1
        until = None if within_s is None else time.monotonic() + within_s
        replies: list[RunReply] = []
        with self._connection.guard():
            for _ in range(0, count, at_once):
                left = None if until is None else max(0.0, until - time.monotonic())
                if left == 0 and replies:
                    break
                replies.append(self._run(RunRequest(self._number, count=at_once), data, within_s=left))
        return replies

    def profile(self, inputs: Inputs) -> Profile:
        """Runs the model twice, the second time with a look at the counter around each node."""
        nodes = self._manifest.nodes
        saved = self._state.save()
        run = self.infer(inputs)
        self._state.restore(saved)
        again = () if self._keeps_inputs else self._encode(inputs)
        with self._connection.guard():
            self._run(RunRequest(self._number, flags=RunFlag.PROFILE), again)
            ticks = self._connection.client.node_ticks(len(nodes))
        pairs = enumerate(zip(nodes, ticks, strict=True))
        times = (NodeTime(index, node, self._connection.duration(count)) for index, (node, count) in pairs)
        return Profile(self._manifest.name, tuple(times), run)

    def trace(self, inputs: Inputs, nodes: Iterable[str | int] | None) -> dict[int, dict[str, Values]]:
        """Runs the model until all rows of the nodes have arrived."""
        manifest, data = self._manifest, self._encode(inputs)
        wanted = range(len(manifest.nodes)) if nodes is None else [self._node(node) for node in nodes]
        collector = TraceCollector(manifest.nodes, wanted)
        saved: list[bytes] | None = None
        for _ in range(_TRACE_ATTEMPTS):
            missing = collector.missing()
            if not missing:
                return collector.results()
            if saved is None:
                saved = self._state.save()
            else:
                self._state.restore(saved)
            with self._connection.guard():
                request = RunRequest(self._number, flags=RunFlag.TRACE, first=missing[0], last=missing[-1] + 1)
                self._run(request, data, collector.take)
        missing = collector.missing()
        if not missing:
            return collector.results()
        raise DeviceError(
            f"{manifest.name}: the trace is incomplete after {_TRACE_ATTEMPTS} runs, got none or parts of "
            f"{', '.join(manifest.nodes[index].name for index in missing)}. Check the line, and that the models were "
            "built with -O trace=on"
        )

    def run_node(self, node: str | int, inputs: Mapping[str, npt.ArrayLike], count: int) -> RunResult:
        """Runs a node alone, in the workspace."""
        index = self._node(node)
        record = self._manifest.nodes[index]
        placed = tensor_layout.place_all(inputs, record, f"{self._manifest.name}: {record.name}")
        client = self._connection.client
        with self._connection.guard():
            for offset, data in placed:
                client.write_workspace(offset, data)
            reply = client.run(OpRunRequest(self._number, index, count))
            outputs = {
                operand.tensor: tensor_layout.widen(self._read_operand(operand), operand) for operand in record.outputs
            }
        return RunResult(outputs, self._connection.duration(reply.ticks_min), reply.stack_bytes)

    def _read_operand(self, record: OperandRecord) -> bytes:
        """Reads an operand of a node from the workspace."""
        content = self._connection.client.read_workspace(record.offset, tensor_layout.span(record))
        return tensor_layout.extract(content, record)

    def _node(self, node: str | int) -> int:
        names = [record.name for record in self._manifest.nodes]
        index = names.index(node) if isinstance(node, str) and node in names else node
        if not isinstance(index, int) or not 0 <= index < len(names):
            raise InputError(f"{self._manifest.name}: unknown node {node!r}. {did_you_mean(str(node), names)}")
        return index

    @property
    def _keeps_inputs(self) -> bool:
        """True if the inputs of a run serve the next one too, so that they need not be written again."""
        info = self._connection.infos[self._number]
        return info.inputs_kept or info.inputs_restored

    def _encode(self, inputs: Inputs) -> list[bytes]:
        return tensor_io.encode(inputs, self._manifest.inputs, self._manifest.name)

    def _run(
        self,
        request: RunRequest,
        data: Sequence[bytes],
        on_trace: OnTrace | None = None,
        within_s: float | None = None,
    ) -> RunReply:
        """Writes the inputs and runs the model. A model with streamed input computes while its rows arrive."""
        client, number = self._connection.client, self._number
        if self._connection.infos[number].input_in_rows:
            begin = BeginRequest(number, request.flags, request.first, request.last)
            rows = self._manifest.inputs[0].shape[1]
            row_bytes = len(data[0]) // rows if request.flags & RunFlag.TRACE else None
            client.push_rows(begin, data[0], row_bytes=row_bytes, on_trace=on_trace)
        else:
            for index, chunk in enumerate(data):
                client.write_input(number, index, chunk)
        return client.run(request, on_trace=on_trace, within_s=within_s)

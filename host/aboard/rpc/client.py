"""The client: what a device can be asked for, as methods. Long tensors are cut into messages."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from aboard.errors import DeviceError, ProtocolError
from aboard.rpc import framing, messages, replies
from aboard.rpc.exchange import OnTrace, OutOfTime
from aboard.rpc.messages import BUILD_AGAIN, Request, TensorKind
from aboard.rpc.requester import Requester

_OVERHEAD = messages.HEADER.size + framing.CRC_BYTES
_TICK_BYTES = 8
#: First minor version of the protocol that has the request STOP.
_STOPS = 2


class Client(Requester):
    """Talks to one device over a transport. The caller closes the transport."""

    def model(self, number: int) -> replies.ModelInfo:
        """Returns the device's description of a model."""
        return replies.ModelInfo.unpack(self.call(messages.ModelRequest(number)))

    def write_input(self, model: int, index: int, data: bytes) -> None:
        """Writes an input."""
        self.write_tensor(model, TensorKind.INPUT, index, data)

    def write_tensor(self, model: int, kind: TensorKind, index: int, data: bytes) -> None:
        """Writes an input or state in pieces that fit the device's messages."""
        for offset, length in self._pieces(len(data), messages.WriteRequest.overhead):
            self.call(messages.WriteRequest(model, index, offset, data[offset : offset + length], kind))

    def push_rows(
        self,
        request: messages.BeginRequest,
        data: bytes,
        *,
        row_bytes: int | None = None,
        on_trace: OnTrace | None = None,
    ) -> None:
        """Begins a run of a model with streamed input and sends the rows.

        Args:
            request: The request that begins the run.
            data: The whole input.
            row_bytes: Bytes of a row where no piece may go beyond one, as with a trace.
            on_trace: Receives the TRACE events of what the rows allow to compute.
        """
        self.call(request)
        unit = row_bytes or len(data)
        for row in range(0, len(data), unit):
            for offset, length in self._pieces(min(unit, len(data) - row), messages.WriteRequest.overhead):
                begin = row + offset
                piece = messages.WriteRequest(request.model, 0, begin, data[begin : begin + length])
                self.call(piece, on_trace=on_trace)

    def read_tensor(self, model: int, kind: TensorKind, index: int, count: int) -> bytes:
        """Reads the first `count` bytes of an input, output or state."""
        return b"".join(
            self._exactly(length, messages.ReadRequest(model, kind, index, offset, length))
            for offset, length in self._pieces(count)
        )

    def run(
        self,
        request: messages.RunRequest | messages.OpRunRequest,
        *,
        patience_s: float | None = None,
        on_trace: OnTrace | None = None,
        within_s: float | None = None,
    ) -> replies.RunReply:
        """Runs a model or a node; arguments and errors as for `call`.

        If the wait ends early (a time-out, Ctrl-C), the device receives STOP, so that it starts no further run.

        Args:
            request: Which model or node to run, and how often.
            patience_s: As for `call`.
            on_trace: As for `call`.
            within_s: Time limit of a series in seconds. The series ends after the run that is going on then.

        Raises:
            ProtocolError: The numbers in the reply contradict each other.
            DeviceError: As for `call`, and if another request has ended the series.
        """
        can_stop = self.hello.minor >= _STOPS
        is_stopped = False
        try:
            payload = self._call(request, patience_s, on_trace, within_s if can_stop else None)
        except OutOfTime:
            is_stopped = True
            payload = self.call(messages.StopRequest(), patience_s=patience_s)
        except BaseException:
            self._stop_without_waiting(request)
            raise
        reply = replies.RunReply.unpack(payload)
        reply.check(request.count, f"{self._line.name}: {request.type.name}")
        if reply.runs != request.count and not is_stopped:
            raise DeviceError(
                f"{self._line.name}: {request.type.name}: the series has ended early, got {reply.runs} runs, expected "
                f"{request.count}. Another request has come; see that no other host has the device"
            )
        return reply

    def _stop_without_waiting(self, request: messages.RunRequest | messages.OpRunRequest) -> None:
        """Sends STOP once for a series that nobody waits for any more, without waiting for the reply."""
        session = self._session
        if request.count == 1 or session is None or session.reply.minor < _STOPS:
            return
        with contextlib.suppress(DeviceError):
            self._exchange(session, messages.StopRequest()).send_once()

    def node_ticks(self, count: int) -> list[int]:
        """Returns the ticks of the first `count` nodes, summed over the runs since the profile was last read."""
        ticks: list[int] = []
        for offset, length in self._pieces(count * _TICK_BYTES, align=_TICK_BYTES):
            nodes = length // _TICK_BYTES
            payload = self.call(messages.ProfileRequest(offset // _TICK_BYTES, nodes))
            ticks.extend(replies.unpack_ticks(payload, nodes))
        return ticks

    def write_workspace(self, offset: int, data: bytes) -> None:
        """Writes into the workspace of single nodes."""
        for start, length in self._pieces(len(data), messages.OpWriteRequest.overhead):
            self.call(messages.OpWriteRequest(offset + start, data[start : start + length]))

    def read_workspace(self, offset: int, count: int) -> bytes:
        """Reads from the workspace of single nodes."""
        return b"".join(
            self._exactly(length, messages.OpReadRequest(offset + start, length))
            for start, length in self._pieces(count)
        )

    def stats(self) -> replies.Stats:
        """Returns the device's counters."""
        return replies.Stats.unpack(self.call(messages.StatsRequest()))

    def clear_fault(self) -> None:
        """Forgets the last fault."""
        self.call(messages.FaultClearRequest())

    def _exactly(self, count: int, request: Request) -> bytes:
        payload = self.call(request)
        if len(payload) != count:
            raise ProtocolError(
                f"{self._line.name}: {request.type.name}: reply of a wrong length, got {len(payload)} bytes, expected "
                f"{count}. {BUILD_AGAIN}"
            )
        return payload

    def _pieces(self, count: int, overhead: int = 0, align: int = 1) -> Iterator[tuple[int, int]]:
        """Cuts a range into (offset, length) pieces that fit a message and suit the error rate of the line."""
        room = self.hello.max_frame - _OVERHEAD - overhead
        offset = 0
        while offset < count:
            length = min(room, self._pace.best_piece() or room)
            length = min(length - length % align, count - offset)
            yield offset, length
            offset += length

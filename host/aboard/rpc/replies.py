"""Replies and events that the device sends, byte for byte.

Each is a frozen dataclass with `pack()` and `unpack()`. A payload may be longer than defined here: later minor versions
of the protocol append fields. Every `unpack()` raises `ProtocolError` for a payload that is too short.
"""

from __future__ import annotations

import struct
from dataclasses import astuple, dataclass
from typing import ClassVar

from aboard.base import printable
from aboard.base.fault_record import FaultRecord
from aboard.errors import ProtocolError
from aboard.rpc.messages import BUILD_AGAIN, Feature, Fixed, take


@dataclass(frozen=True)
class Hello:
    """Reply to HELLO: identity and features of the device.

    Attributes:
        major: Major version of the protocol.
        minor: Minor version of the protocol.
        models: Number of models.
        features: Features of the image.
        tick_hz: Ticks a second.
        max_frame: Longest message the device takes, with CRC.
        burst: With credits: size of the receive buffer in bytes. Without credits: bytes that the device takes without a
            pause. 0 for no limit.
        arena_bytes: Size of the arena.
        input_copy_bytes: Size of the copy that inputs are restored from; 0 for none.
        workspace_bytes: Size of the workspace for single nodes; 0 for none.
        fault: Kind of the last fault; 0 for none.
        board: Id of the board.
        build: Id of the build.
    """

    major: int
    minor: int
    models: int
    features: Feature
    tick_hz: int
    max_frame: int
    burst: int
    arena_bytes: int
    input_copy_bytes: int
    workspace_bytes: int
    fault: int
    board: str
    build: str

    _FORM: ClassVar[struct.Struct] = struct.Struct("<BBBxIIHHIIIIBB")

    def pack(self) -> bytes:
        """Returns the payload."""
        board, build = self.board.encode(), self.build.encode()
        numbers = astuple(self)[:-2]
        return self._FORM.pack(*numbers, len(board), len(build)) + board + build

    @classmethod
    def unpack(cls, payload: bytes) -> Hello:
        """Reads the payload."""
        numbers = take(cls._FORM, payload, "hello")
        board_bytes, build_bytes = numbers[-2:]
        texts = payload[cls._FORM.size :]
        board = _text(texts[:board_bytes])
        build = _text(texts[board_bytes : board_bytes + build_bytes])
        major, minor, models, features, tick_hz, max_frame, burst, arena, copy, workspace, fault = numbers[:-2]
        return cls(
            major=major,
            minor=minor,
            models=models,
            features=Feature(features),
            tick_hz=tick_hz,
            max_frame=max_frame,
            burst=burst,
            arena_bytes=arena,
            input_copy_bytes=copy,
            workspace_bytes=workspace,
            fault=fault,
            board=board,
            build=build,
        )


@dataclass(frozen=True)
class ModelInfo:
    """Reply to MODEL.

    Attributes:
        arena_bytes: Size of the model's arena.
        op_bytes: Workspace that single nodes need; 0 if nodes cannot run alone.
        nodes: Number of nodes.
        inputs: Number of inputs.
        outputs: Number of outputs.
        inputs_kept: A run does not change the inputs.
        inputs_restored: Inputs are restored from a copy before every run.
        input_in_rows: The input is streamed: BEGIN, then WRITE from its first byte to its last.
        hash: SHA-256 of the model file.
        name: Its name.
        states: Number of values that a run leaves for the next one; 0 from a device of a version before 1.3.
    """

    arena_bytes: int
    op_bytes: int
    nodes: int
    inputs: int
    outputs: int
    inputs_kept: bool
    inputs_restored: bool
    hash: bytes
    name: str
    input_in_rows: bool = False
    states: int = 0

    _FORM: ClassVar[struct.Struct] = struct.Struct("<IIHBBBB")
    _HASH_BYTES: ClassVar[int] = 32

    def pack(self) -> bytes:
        """Returns the payload."""
        name = self.name.encode()
        flags = self.inputs_kept | self.inputs_restored << 1 | self.input_in_rows << 2
        counts = (self.arena_bytes, self.op_bytes, self.nodes, self.inputs, self.outputs)
        return self._FORM.pack(*counts, flags, len(name)) + self.hash + name + bytes([self.states])

    @classmethod
    def unpack(cls, payload: bytes) -> ModelInfo:
        """Reads the payload."""
        arena, op_bytes, nodes, inputs, outputs, flags, name_bytes = take(cls._FORM, payload, "model")
        rest = payload[cls._FORM.size :]
        digest, texts = rest[: cls._HASH_BYTES], rest[cls._HASH_BYTES :]
        name, appended = texts[:name_bytes], texts[name_bytes:]
        if len(digest) < cls._HASH_BYTES:
            raise ProtocolError(
                f"model: the hash is too short, got {len(digest)} bytes, expected {cls._HASH_BYTES}. {BUILD_AGAIN}"
            )
        kept, restored, in_rows = bool(flags & 1), bool(flags & 2), bool(flags & 4)
        return cls(arena, op_bytes, nodes, inputs, outputs, kept, restored, digest, _text(name), in_rows, *appended[:1])


@dataclass(frozen=True)
class RunReply(Fixed):
    """Reply to RUN and OP_RUN.

    Attributes:
        runs: Number of runs.
        ticks_min: Fewest ticks of a run, without the restoring of inputs.
        ticks_max: Most ticks.
        ticks_total: Sum.
        stack_bytes: Stack that the first run used; 0 if it is unknown.
        trace_events: TRACE events sent.
    """

    form: ClassVar[struct.Struct] = struct.Struct("<IQQQII")
    runs: int
    ticks_min: int
    ticks_max: int
    ticks_total: int
    stack_bytes: int
    trace_events: int

    @classmethod
    def unpack(cls, payload: bytes) -> RunReply:
        """Reads the payload."""
        return cls(*take(cls.form, payload, "run"))

    def check(self, count: int, what: str) -> None:
        """Checks the reply for contradictions with a series of `count` runs.

        Raises:
            ProtocolError: There is one. The message names the call by `what`.
        """
        low, high = self.runs * self.ticks_min, self.runs * self.ticks_max
        if not (1 <= self.runs <= count and low <= self.ticks_total <= high):
            raise ProtocolError(
                f"{what}: the reply contradicts itself, got {self.runs} runs of {self.ticks_min} to {self.ticks_max} "
                f"ticks, {self.ticks_total} in all, expected 1 to {count} runs and their sum. {BUILD_AGAIN}"
            )


@dataclass(frozen=True)
class Stats(Fixed):
    """Reply to STATS: the server's counters since it started.

    Attributes:
        frames: Whole frames with a right CRC.
        damaged: Frames that were not COBS or had a wrong CRC.
        too_long: Frames longer than the device's buffer.
        strange: Valid frames that hold no request.
        requests: Requests that were executed.
        duplicates: Repeated requests.
    """

    form: ClassVar[struct.Struct] = struct.Struct("<6I")
    frames: int
    damaged: int
    too_long: int
    strange: int
    requests: int
    duplicates: int

    @classmethod
    def unpack(cls, payload: bytes) -> Stats:
        """Reads the payload."""
        return cls(*take(cls.form, payload, "stats"))


#: ABOARD_FAULT_CORE_SHIFT of firmware/include/aboard/port.h.


@dataclass(frozen=True)
class FaultReply(FaultRecord):
    """Reply to FAULT: the record of the last crash."""

    _FORM: ClassVar[struct.Struct] = struct.Struct("<I16III")

    def pack(self) -> bytes:
        """Returns the payload."""
        return self._FORM.pack(self.kind, *self.registers, self.status, self.address)

    @classmethod
    def unpack(cls, payload: bytes) -> FaultReply:
        """Reads the payload."""
        kind, *registers, status, address = take(cls._FORM, payload, "fault")
        return cls(kind, tuple(registers), status, address)


@dataclass(frozen=True)
class TraceEvent:
    """Event TRACE: a piece of a row that a node produced.

    Attributes:
        sequence: Number of the event in its run, from 0.
        node: Index of the node.
        output: Which of its outputs.
        row: Number of the row.
        offset: Bytes from the start of the row, which has no gaps.
        row_bytes: Bytes of the whole row.
        data: The piece.
    """

    sequence: int
    node: int
    output: int
    row: int
    offset: int
    row_bytes: int
    data: bytes

    _FORM: ClassVar[struct.Struct] = struct.Struct("<IHHIII")

    def pack(self) -> bytes:
        """Returns the payload."""
        numbers = astuple(self)[:-1]
        return self._FORM.pack(*numbers) + self.data

    @classmethod
    def unpack(cls, payload: bytes) -> TraceEvent:
        """Reads the payload."""
        sequence, node, output, row, offset, row_bytes = take(cls._FORM, payload, "trace event")
        return cls(sequence, node, output, row, offset, row_bytes, payload[cls._FORM.size :])


@dataclass(frozen=True)
class Progress(Fixed):
    """Event PROGRESS: a series of runs continues.

    Attributes:
        runs: Number of completed runs.
    """

    form: ClassVar[struct.Struct] = struct.Struct("<I")
    runs: int

    @classmethod
    def unpack(cls, payload: bytes) -> Progress:
        """Reads the payload."""
        return cls(*take(cls.form, payload, "progress"))


@dataclass(frozen=True)
class Credit(Fixed):
    """Event CREDIT: the device has free buffer space again.

    Attributes:
        taken: Bytes that the device has taken from the line since the request with the event's number.
    """

    form: ClassVar[struct.Struct] = struct.Struct("<I")
    taken: int

    @classmethod
    def unpack(cls, payload: bytes) -> Credit:
        """Reads the payload."""
        return cls(*take(cls.form, payload, "credit"))


def unpack_ticks(payload: bytes, count: int) -> tuple[int, ...]:
    """Reads the reply to PROFILE: the ticks of `count` nodes."""
    return take(struct.Struct(f"<{count}Q"), payload, "profile")


def _text(data: bytes) -> str:
    """Decodes a name from a device into one line without control characters, so that it cannot drive a terminal."""
    return printable.one_line(data.decode("utf-8", "replace"))

"""Header and requests, byte for byte; `aboard.rpc.replies` defines replies and events.

`firmware/rpc/messages.h` defines the same messages in C. A request is a frozen dataclass with `pack()`. Numbers are
little-endian.
"""

from __future__ import annotations

import struct
from dataclasses import astuple, dataclass
from enum import IntEnum, IntFlag
from typing import ClassVar, TypeAlias

from aboard.errors import ProtocolError

MAJOR = 1
MINOR = 3
MAGIC = b"abrd"
HEADER = struct.Struct("<BBHI")
#: Advice for bytes that no image of this version sends.
BUILD_AGAIN = "Build the device's image again with this version of aboard"
REPLY = 0x80
#: Longest message any device takes, before its own limit is known.
MIN_FRAME = 128


class Type(IntEnum):
    """Requests (below 0x40) and events."""

    HELLO = 0x01
    MODEL = 0x02
    WRITE = 0x03
    READ = 0x04
    RUN = 0x05
    PROFILE = 0x06
    OP_WRITE = 0x07
    OP_READ = 0x08
    OP_RUN = 0x09
    STATS = 0x0A
    FAULT = 0x0B
    FAULT_CLEAR = 0x0C
    RESET = 0x0D
    BEGIN = 0x0E
    STOP = 0x0F
    RESET_STATE = 0x10
    READY = 0x40
    ACCEPTED = 0x41
    PROGRESS = 0x42
    LOG = 0x43
    TRACE = 0x44
    CREDIT = 0x45
    DAMAGED = 0x46


class Feature(IntFlag):
    """Features of an image."""

    PROFILE = 1
    TRACE = 2
    RUN_OP = 4
    INPUT_COPY = 8
    CREDIT = 16


class RunFlag(IntFlag):
    """Flags of RUN."""

    PROFILE = 1
    TRACE = 2


class TensorKind(IntEnum):
    """Which tensors a READ or WRITE means."""

    INPUT = 0
    OUTPUT = 1
    STATE = 2


@dataclass(frozen=True)
class Header:
    """Start of every message.

    Attributes:
        type: A `Type`, with `REPLY` set in a reply.
        code: 0 in a request, a status in a reply, a running number in an event.
        id: Number of the request.
        session: The nonce of the host's hello.
    """

    type: int
    code: int
    id: int
    session: int

    def pack(self) -> bytes:
        """Returns the 8 bytes."""
        return HEADER.pack(self.type, self.code, self.id, self.session)


def split(message: bytes) -> tuple[Header, bytes]:
    """Returns header and payload.

    Raises:
        ProtocolError: The message is too short for a header.
    """
    if len(message) < HEADER.size:
        raise ProtocolError(
            f"message: too short for a header, got {len(message)} bytes, expected {HEADER.size}. {BUILD_AGAIN}"
        )
    return Header(*HEADER.unpack_from(message)), message[HEADER.size :]


def take(form: struct.Struct, payload: bytes, what: str) -> tuple[int, ...]:
    """Unpacks the fixed start of a payload and ignores the rest.

    Raises:
        ProtocolError: The payload is shorter. The message names it by `what`.
    """
    if len(payload) < form.size:
        raise ProtocolError(
            f"{what}: the payload is too short, got {len(payload)} bytes, expected {form.size}. {BUILD_AGAIN}"
        )
    return form.unpack_from(payload)


@dataclass(frozen=True)
class Fixed:
    """A message whose fields are all numbers of fixed size, in the order of its struct format."""

    form: ClassVar[struct.Struct]

    def pack(self) -> bytes:
        """Returns the payload."""
        return self.form.pack(*astuple(self))


@dataclass(frozen=True)
class HelloRequest:
    """Starts a session; the header carries its nonce."""

    type: ClassVar[Type] = Type.HELLO
    max_frame: int
    major: int = MAJOR
    minor: int = MINOR

    def pack(self) -> bytes:
        """Returns the payload."""
        return struct.pack("<4sBBH", MAGIC, self.major, self.minor, self.max_frame)


@dataclass(frozen=True)
class ModelRequest(Fixed):
    """Asks for the description of a model."""

    type: ClassVar[Type] = Type.MODEL
    form: ClassVar[struct.Struct] = struct.Struct("<B")
    model: int


@dataclass(frozen=True)
class WriteRequest:
    """Writes a piece of an input or state."""

    type: ClassVar[Type] = Type.WRITE
    overhead: ClassVar[int] = 8
    model: int
    index: int
    offset: int
    data: bytes
    kind: TensorKind = TensorKind.INPUT

    def pack(self) -> bytes:
        """Returns the payload."""
        return struct.pack("<BBBBI", self.model, self.kind, self.index, 0, self.offset) + self.data


@dataclass(frozen=True)
class ReadRequest:
    """Reads a piece of an input, output or state."""

    type: ClassVar[Type] = Type.READ
    model: int
    kind: TensorKind
    index: int
    offset: int
    length: int

    def pack(self) -> bytes:
        """Returns the payload."""
        return struct.pack("<BBBBII", self.model, self.kind, self.index, 0, self.offset, self.length)


@dataclass(frozen=True)
class RunRequest(Fixed):
    """Runs a model `count` times; with a trace, of the nodes [first, last)."""

    type: ClassVar[Type] = Type.RUN
    form: ClassVar[struct.Struct] = struct.Struct("<BBIHH")
    model: int
    flags: int = 0
    count: int = 1
    first: int = 0
    last: int = 0


@dataclass(frozen=True)
class BeginRequest(Fixed):
    """Begins a run of a model with streamed input; flags, `first` and `last` as for `RunRequest`."""

    type: ClassVar[Type] = Type.BEGIN
    form: ClassVar[struct.Struct] = struct.Struct("<BBHH")
    model: int
    flags: int = 0
    first: int = 0
    last: int = 0


@dataclass(frozen=True)
class ProfileRequest(Fixed):
    """Reads the ticks of `count` nodes."""

    type: ClassVar[Type] = Type.PROFILE
    form: ClassVar[struct.Struct] = struct.Struct("<HH")
    first: int
    count: int


@dataclass(frozen=True)
class OpWriteRequest:
    """Writes into the workspace."""

    type: ClassVar[Type] = Type.OP_WRITE
    overhead: ClassVar[int] = 4
    offset: int
    data: bytes

    def pack(self) -> bytes:
        """Returns the payload."""
        return struct.pack("<I", self.offset) + self.data


@dataclass(frozen=True)
class OpReadRequest(Fixed):
    """Reads from the workspace."""

    type: ClassVar[Type] = Type.OP_READ
    form: ClassVar[struct.Struct] = struct.Struct("<II")
    offset: int
    length: int


@dataclass(frozen=True)
class OpRunRequest:
    """Runs one node on the workspace, `count` times."""

    type: ClassVar[Type] = Type.OP_RUN
    model: int
    node: int
    count: int = 1

    def pack(self) -> bytes:
        """Returns the payload."""
        return struct.pack("<BBHI", self.model, 0, self.node, self.count)


@dataclass(frozen=True)
class StatsRequest:
    """Asks for the server's counters."""

    type: ClassVar[Type] = Type.STATS

    def pack(self) -> bytes:
        """Returns the payload."""
        return b""


@dataclass(frozen=True)
class FaultRequest(StatsRequest):
    """Asks for the record of the last fault."""

    type: ClassVar[Type] = Type.FAULT


@dataclass(frozen=True)
class FaultClearRequest(StatsRequest):
    """Clears the record of the last fault."""

    type: ClassVar[Type] = Type.FAULT_CLEAR


@dataclass(frozen=True)
class ResetRequest(StatsRequest):
    """Restarts the device."""

    type: ClassVar[Type] = Type.RESET


@dataclass(frozen=True)
class StopRequest(StatsRequest):
    """Ends a series of runs, as any new request does, and asks for its result; the reply is as for RUN."""

    type: ClassVar[Type] = Type.STOP


@dataclass(frozen=True)
class ResetStateRequest(Fixed):
    """Gives every state of a model its initial value."""

    type: ClassVar[Type] = Type.RESET_STATE
    form: ClassVar[struct.Struct] = struct.Struct("<B")
    model: int


Request: TypeAlias = (
    HelloRequest
    | ModelRequest
    | WriteRequest
    | ReadRequest
    | RunRequest
    | BeginRequest
    | ProfileRequest
    | OpWriteRequest
    | OpReadRequest
    | OpRunRequest
    | StatsRequest
    | ResetStateRequest
)

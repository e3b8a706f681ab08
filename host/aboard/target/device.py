"""What a device says of itself beside its patterns: runtime sources, memory, tiles, what can be tuned. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aboard.target.kind import Value


@dataclass(frozen=True)
class Runtime:
    """C files that go into the bundle with a device's generated code.

    Attributes:
        files: Text of each file by its path below the device's folder in the bundle, `.c` or `.h`.
        include_folders: Folders below it that hold headers for `#include`; `.` is the device's folder itself.
        definitions: Macros for the compiler, `NAME` or `NAME=value`.
    """

    files: Mapping[str, str]
    include_folders: tuple[str, ...] = (".",)
    definitions: tuple[str, ...] = ()


@dataclass(frozen=True)
class MemoryRegion:
    """Memory that a device reaches.

    Attributes:
        name: Name, as in the board's file where it is one of the board's.
        size_bytes: Size.
        align: Alignment of what lies there, a power of two.
        bytes_per_cycle: Speed of a transfer.
        reached_by: Who can read and write it: `cpu`, `dma`, `device`.
        address: First address; None where the board decides.
    """

    name: str
    size_bytes: int
    align: int = 4
    bytes_per_cycle: float = 4.0
    reached_by: frozenset[str] = frozenset({"cpu"})
    address: int | None = None


@dataclass(frozen=True)
class TileConstraint:
    """How a node may be cut into tiles.

    Attributes:
        max_bytes: Bytes of operands, results and weights of a tile together.
        multiples: For axes of the output, the number its tile must be a multiple of.
        region: Name of the memory region that tiles lie in.
    """

    max_bytes: int
    multiples: Mapping[int, int] = field(default_factory=dict)
    region: str = ""


@dataclass(frozen=True)
class Knob:
    """Something that can be tuned.

    Attributes:
        name: Name, as in tuning records.
        values: Allowed values; the first is the default.
        help: What it changes, one sentence.
    """

    name: str
    values: tuple[Value, ...]
    help: str

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
        core_files: Those of `files` that want flags of their own, as those do that a core of the device's own executes.
        core_flags: These flags, such as the ones that select that core, for `gcc` and for `clang` (zig): they come
            behind those that select the host, and what they make must link with the host's code.
        is_foreign: True for files of others, such as a library's: projects compile them without warnings, which here
            are errors.
    """

    files: Mapping[str, str]
    include_folders: tuple[str, ...] = (".",)
    definitions: tuple[str, ...] = ()
    core_files: tuple[str, ...] = ()
    core_flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_foreign: bool = False


@dataclass(frozen=True)
class Intrinsic:
    """How a CPU computes a function of one operand, in place of the kernels' own C.

    Attributes:
        expression: A C expression; `{0}` stands for the operand, which is a variable or a literal in parentheses.
        headers: What it needs, as for `#include`: `<math.h>`, or the name of a header of `runtime`.
        runtime: C files that go into the bundle with it.
    """

    expression: str
    headers: tuple[str, ...] = ()
    runtime: Runtime | None = None


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
        cached: True when the data cache of the CPU covers it, so that a driver cleans the cache before the device reads
            and invalidates it after the device wrote.
    """

    name: str
    size_bytes: int
    align: int = 4
    bytes_per_cycle: float = 4.0
    reached_by: frozenset[str] = frozenset({"cpu"})
    address: int | None = None
    cached: bool = False


@dataclass(frozen=True)
class TileConstraint:
    """How a match may be cut into tiles, and what a tile costs.

    Axes are those of an NHWC image: 0 batch, 1 rows, 2 columns, 3 channels. A matrix [samples, channels] has its
    samples on axis 1; a vector has axis 3 alone. The batch, with all that comes before rows, is always cut to single
    images.

    Attributes:
        region: Name of the memory region (column `memory`) that tiles lie in; its size is the limit.
        multiples: For axes of the result, what the size of a tile must be a multiple of; the last tile of the axis has
            what is left.
        max_sizes: For axes of the result, the largest size of a tile.
        axes: Axes of the result that may be cut.
        double_buffer: True when the device can move data while it computes; the plan then does so where that is
            quicker. False: load, compute and store always follow each other.
        parameter_bytes: Bytes of packed parameters of an output channel, beside its weights: bias, multiplier, shift
            and so on, as the device wants them, also where the node has no bias. None: the bias as the model has it,
            where there is one.
        weight_bytes: Bytes of packed weights of an output channel, where packing pads or shortens them. None: as many
            as the model has.
        constants: False when the device reads constants where they are, so that tiles hold operands and results alone.
        order: Loops over tiles, outermost first, as axes; those not named go inside. Empty: the plan takes the order
            with the least cost.
        macs_per_cycle: Speed of computing: multiply-accumulates, or elements of the result where there are none.
        tile_cycles: Cycles to set up a tile.
        transfer_cycles: Cycles to set up a transfer.
    """

    region: str
    multiples: Mapping[int, int] = field(default_factory=dict)
    max_sizes: Mapping[int, int] = field(default_factory=dict)
    axes: tuple[int, ...] = (1, 3)
    double_buffer: bool = True
    parameter_bytes: int | None = None
    weight_bytes: int | None = None
    constants: bool = True
    order: tuple[int, ...] = ()
    macs_per_cycle: float = 1.0
    tile_cycles: float = 64.0
    transfer_cycles: float = 16.0


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

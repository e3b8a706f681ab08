"""Plain records that describe a device besides its patterns: runtime sources, memory, tiles, knobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aboard.target.kind import Value


@dataclass(frozen=True)
class Runtime:
    """C files that the bundle contains besides the generated code of a device.

    Attributes:
        files: Text of each file (`.c` or `.h`) by its path below the device's folder in the bundle.
        include_folders: Folders below the device's folder that hold headers for `#include`; `.` is the device's folder.
        definitions: Macros for the compiler, `NAME` or `NAME=value`.
        core_files: The members of `files` that need their own flags, such as files that a core of the device executes.
        core_flags: Flags for `core_files`, such as flags that select the core, for `gcc` and for `clang` (zig). They
            follow the flags for the host. The objects must link with the host's code.
        is_foreign: True for third-party files, such as a library. Projects compile them without warnings, because
            warnings are errors in a project.
    """

    files: Mapping[str, str]
    include_folders: tuple[str, ...] = (".",)
    definitions: tuple[str, ...] = ()
    core_files: tuple[str, ...] = ()
    core_flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_foreign: bool = False


@dataclass(frozen=True)
class DeviceOption:
    """An option of projects, `-O name=value`, by which other C files take the place of a device, such as a model of it.

    Attributes:
        name: Name of the option.
        help: Effect of the option, one sentence.
        values: The C files and macros of each value; None for no files. The first value is the default, which an image
            for a real board has. Its macros hold for all sources of the project.
    """

    name: str
    help: str
    values: Mapping[str, Runtime | None]


@dataclass(frozen=True)
class ProjectNeeds:
    """What the driver of a device needs of a project beside its C files.

    Attributes:
        interrupts: C functions without arguments and result that handle interrupts, by the number of the external
            interrupt. Bare-metal projects for Cortex-M have them in their vector table; the driver enables them.
        zephyr_modules: Zephyr modules (names of its `west.yml`) beside those of the board.
        zephyr_config: Lines of `prj.conf`.
        zephyr_kconfig: Lines of the application's `Kconfig`, before Zephyr's own; the first definition of a default
            counts.
        template: The only template whose projects the driver works in; None for every template.
        chosen_by: The attribute that restricts the template, as in a target, for messages.
    """

    interrupts: Mapping[int, str] = field(default_factory=dict)
    zephyr_modules: tuple[str, ...] = ()
    zephyr_config: tuple[str, ...] = ()
    zephyr_kconfig: tuple[str, ...] = ()
    template: str | None = None
    chosen_by: str = ""


@dataclass(frozen=True)
class Intrinsic:
    """A C expression by which a CPU computes a function of one operand, instead of the C code in the kernels.

    Attributes:
        expression: A C expression; `{0}` stands for the operand, a variable or a literal in parentheses.
        headers: Headers that the expression needs, as for `#include`: `<math.h>`, or the name of a header of `runtime`.
        runtime: C files that the bundle contains if the expression is used.
    """

    expression: str
    headers: tuple[str, ...] = ()
    runtime: Runtime | None = None


@dataclass(frozen=True)
class MemoryRegion:
    """A memory region that a device reaches.

    Attributes:
        name: Name; for a region of the board, the name in the board file.
        size_bytes: Size.
        align: Alignment of objects in the region, in bytes, a power of two.
        bytes_per_cycle: Transfer speed.
        reached_by: Units that can read and write the region: `cpu`, `dma`, `device`.
        address: First address; None if the board determines the address.
        cached: True if the data cache of the CPU covers the region. A driver must then clean the cache before the
            device reads, and invalidate the cache after the device wrote.
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
    """Rules for cutting a match into tiles, and the cost of a tile.

    Axes are the axes of an NHWC image: 0 batch, 1 rows, 2 columns, 3 channels. A matrix [samples, channels] has its
    samples on axis 1; a vector has axis 3 alone. The batch, with all dimensions before the rows, is always cut into
    single images.

    Attributes:
        region: Name of the memory region (column `memory`) that stores tiles; its size is the limit.
        multiples: By axis of the result: the size of a tile is a multiple of this number. The last tile on an axis has
            the remaining elements.
        max_sizes: By axis of the result: the largest size of a tile.
        axes: Axes of the result that may be cut.
        double_buffer: True if the device can transfer data while it computes; the plan then overlaps both if that is
            faster. False: load, compute and store always run one after the other.
        parameter_bytes: Bytes of packed parameters per output channel besides its weights (bias, multiplier, shift and
            so on), also for a node without bias. None: the bias as in the model, if the node has a bias.
        weight_bytes: Bytes of packed weights per output channel, if packing changes their size. None: the size in the
            model.
        constants: False if the device reads constants in place, so that tiles hold operands and results alone.
        order: Axes of the loops over tiles, outermost loop first; axes that are not named are innermost. Empty: the
            plan chooses the order with the lowest cost.
        macs_per_cycle: Speed of computation: multiply-accumulates per cycle; for ops without them, elements of the
            result per cycle.
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
    """A tunable parameter of a device.

    Attributes:
        name: Name, as in tuning records.
        values: Allowed values; the first is the default.
        help: Effect of the knob, one sentence.
    """

    name: str
    values: tuple[Value, ...]
    help: str

    @property
    def expected(self) -> str:
        """The values that a point may have, for messages."""
        return f"one of: {', '.join(map(str, self.values))}"

    def allows(self, value: Value) -> bool:
        """True for a value that a point may have."""
        return value in self.values

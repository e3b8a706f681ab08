"""The class `Board`: cores, memory, serial ports, counter and emulators, as one core of the board sees them.

A `Board` does not depend on files: a project stores `model_dump()` and reads it back. `aboard.boards.files` reads the
board files. The parts of a board are records of `aboard.boards.records`; other modules import them from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Annotated, Literal

from pydantic import Field, model_validator

from aboard.boards import cpu as cpus
from aboard.boards.emulator_records import Emulators, Qemu, Renode, Unicorn
from aboard.boards.memory_records import Fetch, FlashTiming, Memory
from aboard.boards.records import (
    ADDRESS_SPACE,
    OLDEST_ZEPHYR,
    Accelerator,
    Alias,
    Arduino,
    BoardId,
    BoardRecord,
    BoardStatus,
    Boot,
    Core,
    Counter,
    Flash,
    FlashValue,
    Gpu,
    Identifier,
    Interrupts,
    PowerPin,
    Rpc,
    SetupStep,
    StartStep,
    Text,
    Uart,
    UsbId,
    ZephyrName,
    ZephyrRelease,
)
from aboard.errors import BoardError, did_you_mean

__all__ = [
    "Accelerator",
    "Alias",
    "Arduino",
    "Board",
    "BoardId",
    "BoardRecord",
    "BoardStatus",
    "Boot",
    "Core",
    "Counter",
    "Emulators",
    "Fetch",
    "Flash",
    "FlashTiming",
    "FlashValue",
    "Gpu",
    "Identifier",
    "Interrupts",
    "Memory",
    "PowerPin",
    "Qemu",
    "Renode",
    "Rpc",
    "SetupStep",
    "StartStep",
    "Text",
    "Uart",
    "Unicorn",
    "UsbId",
    "ZephyrName",
    "ZephyrRelease",
]


#: Prefix of the id of a board of which only the core is known.
CORE = "core:"
#: Prefix of the id of a board of which only the SoC is known.
SOC = "soc:"


class Board(BoardRecord):
    """A board and its SoC, as the selected core sees them.

    `Board.model_validate(board.model_dump())` gives the same board without any file.

    Attributes:
        id: `vendor/board`; `zephyr:BOARD`, `soc:vendor/soc` or `core:NAME` without a board file.
        name: Name for people.
        soc: Id of the SoC file.
        source: Source of the board's figures.
        soc_source: Source of the SoC's figures.
        aliases: Other names.
        zephyr: Zephyr's name of the board and core; None if Zephyr does not support the board.
        zephyr_since: First release of Zephyr that supports the board.
        usb: USB ids (`vid:pid`) of the board, including its debug probe.
        runtime: Default of the target attribute `-runtime` for the board.
        cores: All cores.
        selected: Name of the selected core; None for the first core.
        gpus: GPUs. aboard knows them and does not support them.
        accelerators: Accelerators that the selected core reaches, at most one of each kind.
        memory: Memory regions that the selected core reaches, by ascending address.
        uarts: Serial ports by name.
        counter: The counter that times a run on the core.
        rpc: The serial line between host and core; None for a process on the host, and for a board without a port.
        setup: The first steps of the image, in order: clocks and memories of the SoC, the serial port, its pins.
        status: Status bits that emulators must model for these steps.
        boot: The block that the SoC's boot ROM loads; None if the boot ROM needs no block.
        power_pin: The pin that an image can drive while a model runs; None if the board file names none.
        emulator: The emulators that support the board.
        arduino: What Arduino calls the board; None if no Arduino core is known that has the board and the core.
        flash: How to flash the board with an image for the core; None if the board file does not describe it.
    """

    id: BoardId
    name: Text
    soc: BoardId
    source: Text
    soc_source: Text
    aliases: tuple[Alias, ...] = ()
    zephyr: ZephyrName | None = None
    zephyr_since: ZephyrRelease = OLDEST_ZEPHYR
    usb: tuple[UsbId, ...] = ()
    runtime: Literal["standalone", "host"] = "standalone"
    cores: Annotated[tuple[Core, ...], Field(min_length=1)]
    selected: Identifier | None = None
    gpus: tuple[Gpu, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    memory: tuple[Memory, ...] = ()
    uarts: dict[Identifier, Uart] = Field(default_factory=dict)
    counter: Counter | None = None
    rpc: Rpc | None = None
    setup: tuple[SetupStep, ...] = ()
    status: tuple[BoardStatus, ...] = ()
    boot: Boot | None = None
    power_pin: PowerPin | None = None
    emulator: Emulators = Emulators()
    arduino: Arduino | None = None
    flash: Flash | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Board:
        for problem in _problems(self):
            raise ValueError(problem)
        return self

    def core(self, name: str | None = None) -> Core:
        """Returns the core of a name; without a name, the selected core.

        Raises:
            BoardError: The board has no core of that name.
        """
        wanted = name or self.selected
        here = self.id.removeprefix(SOC)
        where = f"SoC {here}" if self.is_soc else f"board {here}"
        found = next((core for core in self.cores if wanted in (None, core.name, *core.aliases)), None)
        if found is None:
            known = ", ".join(core.name for core in self.cores)
            gpu = next((gpu for gpu in self.gpus if gpu.name == name), None)
            if gpu is not None:
                raise BoardError(
                    f"{where}: {name} is a GPU, which is not supported, got {gpu.model}, expected a CPU core: "
                    f"{known}. Write it as in {here}:{self.cores[0].name}"
                )
            raise BoardError(
                f"{where}: unknown core, got {name}, expected one of: {known}. Write it as in "
                f"{here}:{self.cores[0].name}"
            )
        return found

    def accelerator(self, kind: str) -> Accelerator | None:
        """Returns the accelerator of a target kind that the selected core reaches; None if there is none."""
        return next((found for found in self.accelerators if found.kind == kind), None)

    @property
    def is_core(self) -> bool:
        """True if only the core of the board is known, as for a library that any firmware may call."""
        return self.id.startswith(CORE)

    @property
    def is_soc(self) -> bool:
        """True if only the SoC of the board is known: its cores, memory and accelerators."""
        return self.id.startswith(SOC)

    @property
    def target(self) -> str:
        """Target string of the core: `vendor/board` or `vendor/soc`, with `:core` if there are several cores."""
        if self.is_core:
            return f"c -mcpu={self.core().mcpu}"
        here = self.id.removeprefix(SOC)
        return here if len(self.cores) == 1 else f"{here}:{self.core().name}"

    @property
    def is_host(self) -> bool:
        """True for a machine of host class, where the firmware is a process."""
        return cpus.find(self.core().mcpu).is_host_class

    @property
    def load_memory(self) -> Memory | None:
        """Memory region of vectors, code and constants; None for a machine of host class."""
        return next((region for region in self.memory if region.load), None)

    @property
    def data_memory(self) -> Memory | None:
        """Memory region of data, bss, arena and stack; None for a machine of host class."""
        return next((region for region in self.memory if region.data), None)

    @property
    def flash_timing(self) -> FlashTiming | None:
        """How long the selected core waits for its flash; None if the SoC's file does not state it."""
        region, wait_states = self.load_memory, self.core().wait_states
        if region is None or region.fetch is None or wait_states is None:
            return None
        return FlashTiming(wait_states, region.fetch)

    @property
    def flash_bytes(self) -> int | None:
        """Bytes for code and constants; None if there is no limit."""
        return self.load_memory.size_bytes if self.load_memory else None

    @property
    def ram_bytes(self) -> int | None:
        """Bytes for data, arena and stack; None if there is no limit."""
        return self.data_memory.size_bytes if self.data_memory else None

    @property
    def vectors_address(self) -> int | None:
        """Address of the vector table of the image; None for a machine of host class."""
        if self.load_memory is None:
            return None
        return self.load_memory.address + (self.boot.block_bytes if self.boot else 0)

    @property
    def uart(self) -> Uart | None:
        """The serial port of the RPC, with the parameters that the board adds; None if there is no RPC."""
        if self.rpc is None:
            return None
        port = self.uarts[self.rpc.uart]
        return port.model_copy(update={"params": {**port.params, **self.rpc.params}})

    @property
    def interrupts(self) -> Interrupts | None:
        """The interrupt controller of the selected core; None if the core has its own."""
        return self.core().interrupts

    @property
    def emulators(self) -> dict[str, Qemu | Unicorn | Renode]:
        """The emulators of the board that runners can start, by name."""
        named: dict[str, Qemu | Unicorn | Renode | None] = {
            "qemu": self.emulator.qemu,
            "unicorn": self.emulator.unicorn,
            "renode": self.emulator.renode,
        }
        return {name: emulator for name, emulator in named.items() if emulator}


def _problems(board: Board) -> Iterator[str]:
    """Yields the contradictions between the values of a board; pydantic has checked their types."""
    cores = [name for core in board.cores for name in (core.name, *core.aliases)] + [gpu.name for gpu in board.gpus]
    kinds = [accelerator.kind for accelerator in board.accelerators]
    for group, seen in (
        ("cores", cores),
        ("memory", [region.name for region in board.memory]),
        ("accelerators", kinds),
    ):
        twice = sorted({name for name in seen if seen.count(name) > 1})
        if twice:
            yield f"{group}: a name is used twice, got {', '.join(twice)}"
    for region in board.memory:
        if region.end > ADDRESS_SPACE:
            yield f"memory: {region.name} ends too high, got 0x{region.end:x}, expected at most 0x{ADDRESS_SPACE:x}"
        if region.fetch is not None and region.load and board.core().wait_states is None:
            yield f"memory: {region.name} has fetch and core {board.core().name} no wait_states, expected both or none"
    for one, other in combinations(board.memory, 2):
        if one.address < other.end and other.address < one.end:
            yield (
                f"memory: regions overlap, got {one.name} 0x{one.address:x}..0x{one.end:x} and "
                f"{other.name} 0x{other.address:x}..0x{other.end:x}"
            )
    yield from _homeless(board)
    if board.rpc and board.rpc.uart not in board.uarts:
        yield f"rpc.uart: no such serial port, got {board.rpc.uart}. {did_you_mean(board.rpc.uart, board.uarts)}"
    for status in board.status:
        if status.bits.bit_count() != status.follows.bit_count():
            yield (
                f"status: not as many bits as they follow, got 0x{status.bits:x} at 0x{status.address:08x} and "
                f"0x{status.follows:x}, expected a control bit for each status bit"
            )
    if board.rpc and board.counter is None:
        yield "counter: missing, expected what times a run on a board that has [rpc]"


def _homeless(board: Board) -> Iterator[str]:
    for role in ("load", "data"):
        homes = [region.name for region in board.memory if getattr(region, role)]
        expected = 0 if board.is_host or board.is_core else 1
        if len(homes) != expected and not (board.is_soc and not homes):
            got = ", ".join(homes) or "none"
            core = f" for core {board.core().name}" if len(board.cores) > 1 else ""
            yield f"memory: {role} = true in the wrong number of regions{core}, got {got}, expected {expected} region"

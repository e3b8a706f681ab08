"""What a board is: cores, memory, serial ports, counter, emulators, and `Board`, which joins them.

A `Board` knows nothing of files: a project stores `model_dump()` and reads it back. `aboard.board_files` reads
the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from aboard.errors import BoardError, TargetError, did_you_mean
from aboard.target import cpu as cpus


def _known_core(name: str) -> str:
    """Returns the core's full name; `native` becomes this machine's, so that a stored board says what it was."""
    try:
        return cpus.find(name).name
    except TargetError as error:
        raise ValueError(str(error)) from error


Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
BoardId = Annotated[str, Field(pattern=r"^[a-z0-9_.-]+/[a-z0-9_.-]+$")]
Alias = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$")]
UsbId = Annotated[str, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{4}$")]
_CoreName = Annotated[str, AfterValidator(_known_core)]
Text = Annotated[str, Field(min_length=1)]
_Positive = Annotated[int, Field(gt=0)]
_ADDRESS_SPACE = 1 << 32
_Address = Annotated[int, Field(ge=0, lt=_ADDRESS_SPACE)]


class Record(BaseModel):
    """Has the keys it names and no others, and does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Core(Record):
    """A core of the SoC.

    Attributes:
        name: Name within the SoC, as in `vendor/board:name`.
        mcpu: Core, as in the target attribute `-mcpu`.
        clock_hz: Clock after the start-up code has run, or the highest allowed where there is no port yet; None for
            cores of host class, which change it.
        aliases: Other names of it within the SoC.
    """

    name: Identifier
    mcpu: _CoreName
    clock_hz: _Positive | None = None
    aliases: tuple[Identifier, ...] = ()


class Gpu(Record):
    """A GPU of the SoC: known, so that it can be refused by name.

    Attributes:
        name: Name within the SoC, as in `vendor/board:name`.
        model: Name for people.
    """

    name: Identifier
    model: Text


class Memory(Record):
    """A memory region, as the cores see it after reset.

    Attributes:
        name: Name in the linker script.
        kind: What it is made of; `external` is off the chip.
        address: First address.
        size_bytes: Size.
        load: True for the region of vectors, code and constants; each core has exactly one. In a file it may name the
            cores it is that for.
        data: True for the region of data, bss, arena and stack; likewise.
        cores: The cores that reach it; empty for all.
    """

    name: Identifier
    kind: Literal["flash", "ram", "itcm", "dtcm", "external"]
    address: _Address
    size_bytes: _Positive
    load: bool | tuple[Identifier, ...] = False
    data: bool | tuple[Identifier, ...] = False
    cores: tuple[Identifier, ...] = ()

    @property
    def end(self) -> int:
        """First address after the region."""
        return self.address + self.size_bytes

    def seen_by(self, core: str) -> Memory | None:
        """Returns the region with its roles for one core, or None where that core does not reach it."""
        if self.cores and core not in self.cores:
            return None
        roles = {"load": _applies(self.load, core), "data": _applies(self.data, core)}
        return self.model_copy(update=roles)


def _applies(role: bool | tuple[str, ...], core: str) -> bool:
    return role if isinstance(role, bool) else core in role


class Uart(Record):
    """A serial port of the SoC.

    Attributes:
        driver: IP block: names the driver in `firmware/ports/uart/`.
        address: First register.
        clock_hz: Clock that the baud rate is divided from.
        irq: Number of its receive interrupt, counted from the first external one; None where it is polled.
        params: What else the driver has to know, by name (`tx_pin = 24`).
    """

    driver: Identifier
    address: _Address
    clock_hz: _Positive
    irq: Annotated[int, Field(ge=0)] | None = None
    params: dict[Identifier, int] = {}


class Counter(Record):
    """What times a run.

    Attributes:
        driver: Names the driver in `firmware/ports/counter/`: `systick`, `nrf51_timer`, `riscv_mtime`, `clock_gettime`.
        hz: Ticks in a second.
        address: First register; None where the core's architecture fixes it.
        params: What else the driver has to know, by name.
        core: The core it counts for; None for the first.
    """

    driver: Identifier
    hz: _Positive
    address: _Address | None = None
    params: dict[Identifier, int] = {}
    core: Identifier | None = None


class Rpc(Record):
    """The line that the host talks over.

    Attributes:
        uart: Which serial port.
        baud: Bits in a second.
        params: What the board adds to the serial port's `params`, such as the pins it is wired to.
        core: The core that talks on it; None for the first.
    """

    uart: Identifier
    baud: _Positive = 115200
    params: dict[Identifier, int] = {}
    core: Identifier | None = None


class Qemu(Record):
    """How QEMU emulates the board.

    Attributes:
        program: QEMU's command.
        machine: Argument of -machine.
        cpu: Argument of -cpu; None for the machine's own.
        serial: Which of the machine's serial ports is the RPC's, counted from 0.
        instructions_per_second: Instructions in a second of virtual time; 10**9 with `-icount shift=0`.
        arguments: Further arguments.
    """

    program: Literal["qemu-system-arm", "qemu-system-riscv32"]
    machine: Text
    cpu: Text | None = None
    serial: Annotated[int, Field(ge=0)] = 0
    instructions_per_second: _Positive = 1_000_000_000
    arguments: tuple[str, ...] = ()


class Unicorn(Record):
    """How Unicorn emulates the board.

    Attributes:
        instructions_per_second: Instructions in a second of virtual time, which the counter is derived from.
    """

    instructions_per_second: _Positive = 1_000_000_000


class Emulators(Record):
    """The emulators that can be the board."""

    qemu: Qemu | None = None
    unicorn: Unicorn | None = None


class Board(Record):
    """A board with its SoC, as one of its cores sees it.

    `Board.model_validate(board.model_dump())` is the same board, without any file.

    Attributes:
        id: `vendor/board`.
        name: Name for people.
        soc: Id of the SoC file.
        source: Where the board's figures come from.
        soc_source: Where the SoC's figures come from.
        aliases: Other names.
        zephyr: Zephyr's name of the board and core; None where Zephyr does not have it.
        usb: USB ids (`vid:pid`) that the board shows itself by, its debug probe's included.
        runtime: What the board implies for the target attribute `-runtime`.
        cores: Its cores, all of them.
        selected: Name of the core that this is the view of; None for the first.
        gpus: Its GPUs, which are known and not supported.
        memory: Memory regions that the core reaches, in ascending order.
        uarts: Serial ports by name.
        counter: What times a run on the core.
        rpc: The line that the host talks to the core over; None for the host's own process, and where there is no port
            yet.
        emulator: The emulators that can be the board.
    """

    id: BoardId
    name: Text
    soc: BoardId
    source: Text
    soc_source: Text
    aliases: tuple[Alias, ...] = ()
    zephyr: str | None = None
    usb: tuple[UsbId, ...] = ()
    runtime: Literal["standalone", "host"] = "standalone"
    cores: Annotated[tuple[Core, ...], Field(min_length=1)]
    selected: Identifier | None = None
    gpus: tuple[Gpu, ...] = ()
    memory: tuple[Memory, ...] = ()
    uarts: dict[Identifier, Uart] = {}
    counter: Counter | None = None
    rpc: Rpc | None = None
    emulator: Emulators = Emulators()

    @model_validator(mode="after")
    def _consistent(self) -> Board:
        for problem in _problems(self):
            raise ValueError(problem)
        return self

    def core(self, name: str | None = None) -> Core:
        """Returns a core by name, or the one that this is the view of.

        Raises:
            BoardError: There is no such core.
        """
        wanted = name or self.selected
        found = next((core for core in self.cores if wanted in (None, core.name, *core.aliases)), None)
        if found is None:
            known = ", ".join(core.name for core in self.cores)
            gpu = next((gpu for gpu in self.gpus if gpu.name == name), None)
            if gpu is not None:
                raise BoardError(
                    f"board {self.id}: {name} is a GPU, which is not supported, got {gpu.model}, expected a CPU core: "
                    f"{known}. Write it as in {self.id}:{self.cores[0].name}"
                )
            raise BoardError(
                f"board {self.id}: unknown core, got {name}, expected one of: {known}. Write it as in "
                f"{self.id}:{self.cores[0].name}"
            )
        return found

    @property
    def target(self) -> str:
        """Target string of the core: `vendor/board`, with `:core` where the board has several."""
        return self.id if len(self.cores) == 1 else f"{self.id}:{self.core().name}"

    @property
    def is_host(self) -> bool:
        """True for a machine of host class: its firmware is a process."""
        return cpus.find(self.core().mcpu).is_host_class

    @property
    def load_memory(self) -> Memory | None:
        """Region of vectors, code and constants; None for a machine of host class."""
        return next((region for region in self.memory if region.load), None)

    @property
    def data_memory(self) -> Memory | None:
        """Region of data, bss, arena and stack; None for a machine of host class."""
        return next((region for region in self.memory if region.data), None)

    @property
    def flash_bytes(self) -> int | None:
        """Room for code and constants; None where nothing limits it."""
        return self.load_memory.size_bytes if self.load_memory else None

    @property
    def ram_bytes(self) -> int | None:
        """Room for data, arena and stack; None where nothing limits it."""
        return self.data_memory.size_bytes if self.data_memory else None

    @property
    def uart(self) -> Uart | None:
        """The serial port that the host talks to, with the parameters that the board adds."""
        if self.rpc is None:
            return None
        port = self.uarts[self.rpc.uart]
        return port.model_copy(update={"params": {**port.params, **self.rpc.params}})

    @property
    def emulators(self) -> dict[str, Qemu | Unicorn]:
        """The emulators that can be the board, by name."""
        both: dict[str, Qemu | Unicorn | None] = {"qemu": self.emulator.qemu, "unicorn": self.emulator.unicorn}
        return {name: emulator for name, emulator in both.items() if emulator}


def _problems(board: Board) -> Iterator[str]:
    """Yields what is wrong with a board beyond the types of its values."""
    cores = [name for core in board.cores for name in (core.name, *core.aliases)] + [gpu.name for gpu in board.gpus]
    for group, seen in (("cores", cores), ("memory", [region.name for region in board.memory])):
        twice = sorted({name for name in seen if seen.count(name) > 1})
        if twice:
            yield f"{group}: a name is used twice, got {', '.join(twice)}"
    for region in board.memory:
        if region.end > _ADDRESS_SPACE:
            yield f"memory: {region.name} ends too high, got 0x{region.end:x}, expected at most 0x{_ADDRESS_SPACE:x}"
    for one, other in combinations(board.memory, 2):
        if one.address < other.end and other.address < one.end:
            yield (
                f"memory: regions overlap, got {one.name} 0x{one.address:x}..0x{one.end:x} and "
                f"{other.name} 0x{other.address:x}..0x{other.end:x}"
            )
    yield from _homeless(board)
    if board.rpc and board.rpc.uart not in board.uarts:
        yield f"rpc.uart: no such serial port, got {board.rpc.uart}. {did_you_mean(board.rpc.uart, board.uarts)}"
    if board.rpc and board.counter is None:
        yield "counter: missing, expected what times a run on a board that has [rpc]"


def _homeless(board: Board) -> Iterator[str]:
    for role in ("load", "data"):
        homes = [region.name for region in board.memory if getattr(region, role)]
        expected = 0 if board.is_host else 1
        if len(homes) != expected:
            got = ", ".join(homes) or "none"
            core = f" for core {board.core().name}" if len(board.cores) > 1 else ""
            yield f"memory: {role} = true in the wrong number of regions{core}, got {got}, expected {expected} region"

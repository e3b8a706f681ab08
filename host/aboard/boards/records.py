"""What boards are made of, and what is known of them: the records of their files, which `aboard.boards.board` joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from aboard.base.fields import Line, Lines, RelativePath
from aboard.boards import cpu as cpus
from aboard.errors import TargetError

if TYPE_CHECKING:
    from typing_extensions import Self


def _known_core(name: str) -> str:
    """Returns the core's full name; `native` becomes this machine's, so that a stored board says what it was."""
    try:
        return cpus.find(name).name
    except TargetError as error:
        raise ValueError(str(error)) from error


Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
#: `vendor/board`, or `zephyr:BOARD` for one that is known from Zephyr alone.
BoardId = Annotated[str, Field(pattern=r"^([a-z0-9_.-]+/[a-z0-9_.-]+|zephyr:[a-zA-Z0-9_./@-]+)$")]
Alias = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$")]
UsbId = Annotated[str, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{4}$")]
_CoreName = Annotated[str, AfterValidator(_known_core)]
Text = Annotated[Line, Field(min_length=1)]
#: Zephyr's name of a board and core.
ZephyrName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_./@-]*$")]
#: First release of Zephyr with a board, such as `4.1`; `none` where no release is known that has it.
ZephyrRelease = Annotated[str, Field(pattern=r"^(\d+\.\d+|none)$")]
#: What is taken where a file states none: the oldest release that projects are made for.
OLDEST_ZEPHYR = "3.7"
_Positive = Annotated[int, Field(gt=0)]
#: First address beyond those of 32 bits.
ADDRESS_SPACE = 1 << 32
_Address = Annotated[int, Field(ge=0, lt=ADDRESS_SPACE)]
_Word = Annotated[int, Field(ge=0, lt=1 << 32)]


class BoardRecord(BaseModel):
    """Has the keys it names and no others, and does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StartStep(BoardRecord):
    """One thing that a core does to start another: `write`, `set` or `clear`, exactly one of them.

    Attributes:
        address: Of a 32-bit register.
        write: A value, or `vectors`: the address of the vector table of the core that is started.
        set: Bits that are set in it.
        clear: Bits that are cleared in it.
        actions: Names of the keys that say what is done.
    """

    actions: ClassVar[tuple[str, ...]] = ("write", "set", "clear")

    address: _Address
    write: Literal["vectors"] | _Word | None = None
    set: _Word | None = None
    clear: _Word | None = None

    @model_validator(mode="after")
    def _one_action(self) -> Self:
        given = [name for name in self.actions if getattr(self, name) is not None]
        if len(given) != 1:
            expected = f"{', '.join(self.actions[:-1])} or {self.actions[-1]}"
            raise ValueError(f"does not say one thing, got {', '.join(given) or 'nothing'}, expected {expected}")
        return self


class SetupStep(StartStep):
    """One thing that the image does before anything else: those of `StartStep`, `wait_set` or `wait_clear`.

    Attributes:
        wait_set: Bits that are waited for until all are set.
        wait_clear: Bits that are waited for until all are clear.
        what: What it is for, for people: it is a comment in the generated code.
    """

    actions: ClassVar[tuple[str, ...]] = (*StartStep.actions, "wait_set", "wait_clear")

    wait_set: _Word | None = None
    wait_clear: _Word | None = None
    what: Annotated[str, Field(pattern=r"^[ -~]{0,100}$")] = ""


class BoardStatus(BoardRecord):
    """Status bits that follow control bits: what an emulator without a model of the SoC's clocks has to know.

    Attributes:
        address: Register with the status bits.
        bits: The status bits.
        follows: The control bits, as many and in the same order.
        of: Register with the control bits; None for the same one.
        inverted: True where a status bit is set while its control bit is clear.
    """

    address: _Address
    bits: _Word
    follows: _Word
    of: _Address | None = None
    inverted: bool = False


class Boot(BoardRecord):
    """A block before the image's vectors, which the boot ROM of the SoC loads and calls.

    Attributes:
        driver: Names its source in `firmware/ports/boot/`.
        block_bytes: Bytes of it, at the start of the region with `load = true`.
        run_address: Where the boot ROM copies it to, in RAM.
        address: First register of the flash controller that it sets up.
    """

    driver: Identifier
    block_bytes: _Positive
    run_address: _Address
    address: _Address


class Core(BoardRecord):
    """A core of the SoC.

    Attributes:
        name: Name within the SoC, as in `vendor/board:name`.
        mcpu: Core, as in the target attribute `-mcpu`.
        clock_hz: Clock after the start-up code has run, or the highest allowed where there is no port yet; None for
            cores of host class, which change it.
        aliases: Other names of it within the SoC.
        start: What another core does to start this one, in order; empty where it starts by itself, or where nobody has
            written down how it is started.
        caches: True where the start-up code turns on its instruction and data caches.
    """

    name: Identifier
    mcpu: _CoreName
    clock_hz: _Positive | None = None
    aliases: tuple[Identifier, ...] = ()
    start: tuple[StartStep, ...] = ()
    caches: bool = False


class Gpu(BoardRecord):
    """A GPU of the SoC: known, so that it can be refused by name.

    Attributes:
        name: Name within the SoC, as in `vendor/board:name`.
        model: Name for people.
    """

    name: Identifier
    model: Text


class Memory(BoardRecord):
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


class Uart(BoardRecord):
    """A serial port of the SoC.

    Attributes:
        driver: IP block: names the driver in `firmware/ports/uart/`.
        address: First register.
        clock_hz: Clock that the baud rate is divided from.
        irq: Number of its receive interrupt, counted from the first external one; None where it is polled.
        params: What else the driver has to know, by name (`tx_pin = 24`).
        setup: What lets it be used: its clock, its reset.
    """

    driver: Identifier
    address: _Address
    clock_hz: _Positive
    irq: Annotated[int, Field(ge=0)] | None = None
    params: dict[Identifier, int] = {}
    setup: tuple[SetupStep, ...] = ()


class Counter(BoardRecord):
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


class Rpc(BoardRecord):
    """The line that the host talks over.

    Attributes:
        uart: Which serial port.
        baud: Bits in a second.
        params: What the board adds to the serial port's `params`, such as the pins it is wired to.
        core: The core that talks on it; None for the first.
        setup: What connects it to the board: the functions of its pins.
        rts_cts: Whether RTS and CTS are wired and the firmware uses them: the host then keeps to them.
        dtr: Level of DTR while the port is open. USB of a SoC's own sends nothing before it is on; on some boards it is
            wired to reset.
        rts: Level of RTS where it is not used for flow control; on some boards it selects the boot loader.
    """

    uart: Identifier
    baud: _Positive = 115200
    rts_cts: bool = False
    dtr: bool = True
    rts: bool = True
    params: dict[Identifier, int] = {}
    core: Identifier | None = None
    setup: tuple[SetupStep, ...] = ()


class Qemu(BoardRecord):
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
    arguments: tuple[Line, ...] = ()


class Unicorn(BoardRecord):
    """How Unicorn emulates the board.

    Attributes:
        instructions_per_second: Instructions in a second of virtual time, which the counter is derived from.
    """

    instructions_per_second: _Positive = 1_000_000_000


class Renode(BoardRecord):
    """How Renode emulates the board: what the scripts of a project load.

    Attributes:
        platform: Platform description that comes with Renode, relative to its folder; None where Renode has none of the
            board. Then the project brings one, made of the board's memories, serial port and status bits.
        uart: Peripheral of the line that the host talks over, as Renode names it.
        instructions_per_second: Instructions in a second of virtual time; the core's clock, a tick for each.
        receive_bytes_per_second: How fast Renode's model of the serial port takes bytes from the host without losing
            any, in wall time; None where it keeps what arrives.
        secure_bit: Address bit of the secure aliases of memories and ports, for a made description: each is there with
            the bit and without it.
        overrides: What drivers of bare-metal projects need otherwise than the platform has it: lines of a description.
        commands: What the script says after the platform, for what start-up code waits for.
        release: Release that CI takes: one that has all the board needs, or `latest` for the newest build.
        source: Where that comes from.
    """

    platform: RelativePath | None = None
    uart: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.]+$")]
    instructions_per_second: _Positive
    receive_bytes_per_second: _Positive | None = None
    secure_bit: _Positive | None = None
    overrides: Lines = ""
    commands: tuple[Text, ...] = ()
    release: Annotated[str, Field(pattern=r"^(\d+\.\d+\.\d+|latest)$")] = "1.16.1"
    source: Text


class Emulators(BoardRecord):
    """The emulators that can be the board."""

    qemu: Qemu | None = None
    unicorn: Unicorn | None = None
    renode: Renode | None = None


#: What a board file says to a tool; the tool's own schema checks it (`aboard.flashers`).
FlashValue = bool | int | Line | tuple[Line, ...]


class Flash(BoardRecord):
    """How the board is flashed.

    Attributes:
        source: Where the arguments of the tools come from.
        tools: What each tool has to be told, by the name of its flasher. In a file these are the other tables below
            `[flash]`.
    """

    source: Text
    tools: dict[Identifier, dict[Identifier, FlashValue]] = {}

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, data: object) -> object:
        """Takes the tables of a file, `[flash.openocd]` and the like, as tools."""
        if not isinstance(data, dict) or "tools" in data:
            return data
        tools = {key: value for key, value in data.items() if key != "source"}
        return {**{key: value for key, value in data.items() if key == "source"}, "tools": tools}

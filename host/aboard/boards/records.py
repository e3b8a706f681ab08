"""The records of board and SoC files: the parts of a board. `aboard.boards.board` joins them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from aboard.base.fields import Line
from aboard.boards import cpu as cpus
from aboard.errors import TargetError

if TYPE_CHECKING:
    from typing_extensions import Self


def _known_core(name: str) -> str:
    """Returns the full name of a core. `native` becomes the core of this machine, so that a stored board names it."""
    try:
        return cpus.find(name).name
    except TargetError as error:
        raise ValueError(str(error)) from error


Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
#: `vendor/board`; `zephyr:BOARD` for a board that only Zephyr describes, `soc:vendor/soc` and `core:NAME` for a SoC or
#: core without a board.
BoardId = Annotated[
    str, Field(pattern=r"^((soc:)?[a-z0-9_.-]+/[a-z0-9_.-]+|zephyr:[a-zA-Z0-9_./@-]+|core:[a-z0-9.+-]+)$")
]
Alias = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$")]
UsbId = Annotated[str, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{4}$")]
_CoreName = Annotated[str, AfterValidator(_known_core)]
Text = Annotated[Line, Field(min_length=1)]
#: Zephyr's name of a board and core.
ZephyrName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_./@-]*$")]
#: First release of Zephyr with a board, such as `4.1`; `none` if no known release has the board.
ZephyrRelease = Annotated[str, Field(pattern=r"^(\d+\.\d+|none)$")]
#: Default of `zephyr_since`: the oldest release of Zephyr that projects support.
OLDEST_ZEPHYR = "3.7"
Positive = Annotated[int, Field(gt=0)]
#: Name of a target kind, or of an attribute of it.
_KindName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
#: Value of an attribute in a SoC file; the kind checks it.
AcceleratorValue = bool | int | Line
#: First address beyond 32 bits.
ADDRESS_SPACE = 1 << 32
Address = Annotated[int, Field(ge=0, lt=ADDRESS_SPACE)]
_Word = Annotated[int, Field(ge=0, lt=1 << 32)]


class BoardRecord(BaseModel):
    """Base class of the records: immutable, and unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StartStep(BoardRecord):
    """One step by which a core starts another core: exactly one of `write`, `set` and `clear`.

    Attributes:
        address: Address of a 32-bit register.
        write: Value to write, or `vectors`: the address of the vector table of the started core.
        set: Bits to set in the register.
        clear: Bits to clear in the register.
        actions: Names of the keys that name an action.
    """

    actions: ClassVar[tuple[str, ...]] = ("write", "set", "clear")

    address: Address
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
    """One of the first steps of an image: an action of `StartStep`, or `wait_set` or `wait_clear`.

    Attributes:
        wait_set: The image waits until all these bits are set.
        wait_clear: The image waits until all these bits are clear.
        what: Purpose of the step, for a comment in the generated code.
    """

    actions: ClassVar[tuple[str, ...]] = (*StartStep.actions, "wait_set", "wait_clear")

    wait_set: _Word | None = None
    wait_clear: _Word | None = None
    what: Annotated[str, Field(pattern=r"^[ -~]{0,100}$")] = ""


class BoardStatus(BoardRecord):
    """Status bits that follow control bits, for an emulator without a model of the SoC's clocks.

    Attributes:
        address: Address of the register with the status bits.
        bits: The status bits.
        follows: The control bits; the same number of bits, in the same order.
        of: Address of the register with the control bits; None for the same register.
        inverted: True if a status bit is set while its control bit is clear.
    """

    address: Address
    bits: _Word
    follows: _Word
    of: Address | None = None
    inverted: bool = False


class Boot(BoardRecord):
    """A block before the vector table of the image, for the boot ROM of the SoC: code, or a description of the image.

    Attributes:
        driver: Name of the source file in `firmware/ports/boot/`.
        block_bytes: Bytes of the block, which is at the start of the region with `load = true`.
        run_address: RAM address that the boot ROM copies the block to before it calls the block; None if the block is a
            description, which the boot ROM reads.
        address: First register of the flash controller that the block sets up; None if the block is a description.
    """

    driver: Identifier
    block_bytes: Positive
    run_address: Address | None = None
    address: Address | None = None


class Counter(BoardRecord):
    """The counter that times a run.

    Attributes:
        driver: Name of the driver in `firmware/ports/counter/`: `systick`, `nrf51_timer`, `riscv_mtime`,
            `clock_gettime`.
        hz: Ticks per second.
        address: First register; None if the architecture of the core defines the address.
        params: Further parameters of the driver by name.
        core: Name of the core that the counter serves; None for the first core.
    """

    driver: Identifier
    hz: Positive
    address: Address | None = None
    params: dict[Identifier, int] = {}
    core: Identifier | None = None


class Interrupts(BoardRecord):
    """The interrupt controller of a core whose architecture leaves it to the SoC: RISC-V.

    Attributes:
        driver: IP block; the name of the driver in `firmware/ports/interrupts/`.
        address: First register; None if the controller has control registers of the core only.
        params: Further parameters of the driver by name. With `vectored = 1`, interrupts enter a table of handlers.
    """

    driver: Identifier
    address: Address | None = None
    params: dict[Identifier, int] = {}


class Core(BoardRecord):
    """A core of the SoC.

    Attributes:
        name: Name within the SoC, as in `vendor/board:name`.
        mcpu: Name of the core, as in the target attribute `-mcpu`.
        clock_hz: Clock after the start-up code, in Hz; the highest allowed clock if aboard has no port yet. None for
            cores of host class, whose clock varies.
        wait_states: Wait states of the flash at that clock, as the start-up code sets them; None if it sets none.
        aliases: Other names of the core within the SoC.
        start: Steps by which another core starts this core, in order; empty if the core starts by itself or the steps
            are not known.
        caches: True if the start-up code enables the instruction and data caches.
        interrupts: The interrupt controller, for RISC-V; Cortex-M cores have their own.
        counter: The counter of this core, instead of that of the SoC.
        boot: The boot block of images for this core, instead of that of the SoC.
    """

    name: Identifier
    mcpu: _CoreName
    clock_hz: Positive | None = None
    wait_states: Annotated[int, Field(ge=0)] | None = None
    aliases: tuple[Identifier, ...] = ()
    start: tuple[StartStep, ...] = ()
    caches: bool = False
    interrupts: Interrupts | None = None
    counter: Counter | None = None
    boot: Boot | None = None


class Gpu(BoardRecord):
    """A GPU of the SoC. The record exists so that an error can name the GPU.

    Attributes:
        name: Name within the SoC, as in `vendor/board:name`.
        model: Name for people.
    """

    name: Identifier
    model: Text


class Accelerator(BoardRecord):
    """An accelerator of the SoC, for a device of a composite target.

    Attributes:
        kind: Target kind of the device.
        attributes: Attributes of that kind which the hardware determines, by name: `{"macs": 128, "irq": 56}`.
        configurable: Names of the attributes with several possible values, as in an FPGA or a simulator. A user may
            choose them; the file states the usual values.
        cores: Names of the cores that reach the accelerator; empty for all cores.
    """

    kind: _KindName
    attributes: dict[_KindName, AcceleratorValue] = {}
    configurable: tuple[_KindName, ...] = ()
    cores: tuple[Identifier, ...] = ()

    @model_validator(mode="after")
    def _stated(self) -> Self:
        unknown = [name for name in self.configurable if name not in self.attributes]
        if unknown:
            raise ValueError(f"configurable names no attribute, got {', '.join(unknown)}, expected some of attributes")
        return self


class Uart(BoardRecord):
    """A serial port of the SoC.

    Attributes:
        driver: IP block; the name of the driver in `firmware/ports/uart/`.
        address: First register.
        clock_hz: Input clock of the baud rate divider, in Hz.
        irq: Number of the receive interrupt, counted from the first external interrupt; None if the driver polls.
        params: Further parameters of the driver by name (`tx_pin = 24`).
        setup: Steps that enable the port: its clock, its reset.
    """

    driver: Identifier
    address: Address
    clock_hz: Positive
    irq: Annotated[int, Field(ge=0)] | None = None
    params: dict[Identifier, int] = {}
    setup: tuple[SetupStep, ...] = ()


class Rpc(BoardRecord):
    """The serial line between host and board.

    Attributes:
        uart: Name of the serial port.
        baud: Bits per second.
        params: Parameters that the board adds to the `params` of the serial port, such as the pins.
        cores: Names of the cores that use the line, each in images of its own; empty for the first core.
        setup: Steps that connect the port to the board: the functions of its pins.
        rts_cts: True if RTS and CTS are wired and the firmware uses them; the host then uses them too.
        dtr: Level of DTR while the port is open. A USB port of the SoC itself sends nothing while DTR is off. On some
            boards DTR is wired to reset.
        rts: Level of RTS if RTS is not used for flow control; on some boards RTS selects the boot loader.
    """

    uart: Identifier
    baud: Positive = 115200
    rts_cts: bool = False
    dtr: bool = True
    rts: bool = True
    params: dict[Identifier, int] = {}
    cores: tuple[Identifier, ...] = ()
    setup: tuple[SetupStep, ...] = ()


class PowerPin(BoardRecord):
    """A free pin of the board that an image can drive while a model runs, for a power analyser.

    Attributes:
        what: Name of the pin on the chip and on the board.
        high: The access that drives the pin high: one of `write`, `set` and `clear`.
        low: The access that drives the pin low.
        setup: Steps that make the pin an output, which is low.
    """

    what: Text
    high: StartStep
    low: StartStep
    setup: tuple[SetupStep, ...] = ()

    @model_validator(mode="after")
    def _numbers(self) -> Self:
        if "vectors" in (self.high.write, self.low.write):
            raise ValueError("writes no number, got vectors, expected a value")
        return self


#: Value of an argument of a flash tool in a board file; the schema of the tool checks it (`aboard.flashers`).
FlashValue = bool | int | Line | tuple[Line, ...]


class Arduino(BoardRecord):
    """What Arduino calls the board.

    Attributes:
        fqbn: Fully qualified board name of arduino-cli, for the first core: `package:architecture:board`, with options.
        source: Source of the name: the file of the Arduino core that defines the board.
    """

    fqbn: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+(:[A-Za-z0-9_.-]+){2}(:[A-Za-z0-9_.=,-]+)?$")]
    source: Text


class Flash(BoardRecord):
    """Settings for flashing the board.

    Attributes:
        source: Source of the arguments.
        tools: Arguments of each tool, by the name of its flasher. In a file, these are the other tables below
            `[flash]`.
    """

    source: Text
    tools: dict[Identifier, dict[Identifier, FlashValue]] = {}

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, data: object) -> object:
        """Moves the tables `[flash.openocd]` and so on of a file into `tools`."""
        if not isinstance(data, dict) or "tools" in data:
            return data
        tools = {key: value for key, value in data.items() if key != "source"}
        return {**{key: value for key, value in data.items() if key == "source"}, "tools": tools}

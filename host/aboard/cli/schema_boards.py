"""The JSON of the commands about boards and hardware; `aboard.cli.schema` has the JSON of the other commands."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_result import Result


class MemoryInfo(Result):
    """A memory region of a board."""

    name: str
    kind: str
    address: int
    size_bytes: int


class CoreInfo(Result):
    """A core of a board."""

    name: str
    mcpu: str
    clock_hz: int | None = Field(description="Clock rate of the core after start-up; null for this machine.")


class BoardInfo(Result):
    """A board."""

    id: str
    name: str
    target: str
    cores: list[CoreInfo]
    memory: list[MemoryInfo]
    flash_bytes: int | None = Field(
        description="Flash for code and constants; null if the board has no memory of its own (this machine)."
    )
    ram_bytes: int | None
    templates: list[str] = Field(description="Project templates that work for the board.")
    bare_metal: bool = Field(description="True if aboard has drivers for bare-metal projects on the board.")
    zephyr: str | None = Field(description="The board's name in Zephyr.")
    zephyr_since: str | None = Field(
        description="First release of Zephyr with the board, among those that projects support; null without Zephyr."
    )
    arduino: str | None = Field(
        description="Fully qualified board name of arduino-cli; null if no Arduino core is known."
    )
    emulators: list[str] = Field(description="Runners that emulate the board, in the order in which they are tried.")
    flashers: list[str] = Field(description="Tools that flash the board, in the order in which they are tried.")
    aliases: list[str]
    source: str = Field(description="Source of the figures.")


class BoardNeeds(Result):
    """What a model needs on a board that it fits, with the board's default project."""

    board: str = Field(description="Id of the board.")
    ram_needed_bytes: int
    flash_needed_bytes: int = Field(description="With the size of the code as predicted.")


class BoardsResult(Result):
    """`aboard boards`."""

    boards: list[BoardInfo] = Field(description="Boards that pass the filters; machines only with --machines.")
    needs: list[BoardNeeds] | None = Field(description="What MODEL needs on each of them; null without --fits.")


class BoardAddResult(Result):
    """`aboard boards add`."""

    board: str = Field(description="Id of the board.")
    files: list[str] = Field(description="Files that were written: of the board, of its SoC.")
    source: str = Field(description="The vendor's files, with release or commit.")


class HardwareCoreInfo(Result):
    """A core of a board, as hardware that a target can name."""

    hardware: str = Field(
        description="Canonical hardware string: `vendor/board`, with `:core` if the board has several cores."
    )
    name: str
    mcpu: str
    clock_hz: int | None = Field(description="Clock rate of the core after start-up; null for cores of host class.")
    flash_bytes: int | None = Field(description="Flash for code and constants; null without a limit.")
    ram_bytes: int | None = Field(description="RAM for data, arena and stack; null without a limit.")
    aliases: list[str] = Field(description="Other hardware strings that mean this core.")


class HardwareBoardInfo(Result):
    """A board or machine in the hardware tree."""

    id: str
    vendor: str
    name: str
    soc: str
    aliases: list[str]
    cores: list[HardwareCoreInfo] = Field(description="Cores that match the filters.")
    gpus: list[str] = Field(description="GPUs of the board, which are known and not supported.")


class GpuInfo(Result):
    """A GPU that is recognised and refused by name."""

    id: str
    name: str


class HardwareResult(Result):
    """`aboard hardware`."""

    hardware: list[HardwareBoardInfo]
    gpus: list[GpuInfo] = Field(description="Graphics cards that are known and not supported; empty with a filter.")


class OriginInfo(Result):
    """An attribute that hardware implies, or that is given with it."""

    name: str
    value: str | int | bool
    origin: str = Field(
        description="Source of the value: the board, a core of the SoC, another attribute, default, given."
    )
    file: str | None = Field(description="The file that defines the value.")


class HardwareShowResult(Result):
    """`aboard hardware show`."""

    hardware: str = Field(description="Canonical hardware string.")
    target: str = Field(description="Canonical form of the whole target.")
    key: str = Field(description="Key under which tuning records are stored.")
    name: str
    soc: str
    core: HardwareCoreInfo
    attributes: list[OriginInfo]
    features: list[str] = Field(description="Features of the core, such as `dsp`.")
    memory: list[MemoryInfo] = Field(description="Memory regions that the core reaches.")
    emulators: list[str]
    zephyr: str | None = Field(description="Zephyr's name of board and core.")
    usb: list[str] = Field(description="USB ids of the board, `vid:pid`.")
    board_file: str | None = Field(description="File of the board; null for a SoC without a board.")
    soc_file: str
    sources: list[str] = Field(description="Sources of the figures in the files, in their order.")


class UsbPortInfo(Result):
    """A serial port of a USB device."""

    device: str = Field(description="Name of the port.")
    usb_id: str = Field(description="USB id, `vid:pid`.")
    serial_number: str | None
    description: str
    boards: list[str] = Field(description="Boards that the device may be; several if they have the same debug probe.")


class DetectResult(Result):
    """`aboard hardware detect`."""

    ports: list[UsbPortInfo]

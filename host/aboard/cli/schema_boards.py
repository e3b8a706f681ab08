"""The JSON of the commands about boards and hardware; `aboard.cli.schema` has that of the others."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Result(BaseModel):
    """What a command prints, or a part of it: these keys and no others."""

    model_config = ConfigDict(extra="forbid")


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
    clock_hz: int | None = Field(description="After start-up; null for this machine.")


class BoardInfo(Result):
    """A board."""

    id: str
    name: str
    target: str
    cores: list[CoreInfo]
    memory: list[MemoryInfo]
    flash_bytes: int | None = Field(description="Null where the board has no memory of its own (this machine).")
    ram_bytes: int | None
    emulators: list[str]
    aliases: list[str]
    zephyr: str | None = Field(description="The board's name in Zephyr.")
    source: str = Field(description="Where the figures come from.")


class BoardsResult(Result):
    """`aboard boards`."""

    boards: list[BoardInfo]


class HardwareCoreInfo(Result):
    """A core of a board, as hardware that a target can name."""

    hardware: str = Field(
        description="Canonical hardware string: `vendor/board`, with `:core` where there are several."
    )
    name: str
    mcpu: str
    clock_hz: int | None = Field(description="After start-up; null for cores of host class.")
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
    cores: list[HardwareCoreInfo] = Field(description="Those that the filters let pass.")
    gpus: list[str] = Field(description="Known, and not supported.")


class GpuInfo(Result):
    """A GPU that is recognised and refused by name."""

    id: str
    name: str


class HardwareResult(Result):
    """`aboard hardware`."""

    hardware: list[HardwareBoardInfo]
    gpus: list[GpuInfo] = Field(description="Cards that are known and not supported; none with a filter.")


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
    key: str = Field(description="What tuning records are stored under.")
    name: str
    soc: str
    core: HardwareCoreInfo
    attributes: list[OriginInfo]
    features: list[str] = Field(description="What the core can do.")
    memory: list[MemoryInfo] = Field(description="Regions that the core reaches.")
    emulators: list[str]
    zephyr: str | None = Field(description="Zephyr's name of board and core.")
    usb: list[str] = Field(description="USB ids, `vid:pid`.")
    board_file: str
    soc_file: str
    sources: list[str] = Field(description="Where the figures of the two files come from.")


class UsbPortInfo(Result):
    """A serial port of a USB device."""

    device: str = Field(description="Name of the port.")
    usb_id: str = Field(description="`vid:pid`.")
    serial_number: str | None
    description: str
    boards: list[str] = Field(description="Boards it may be; several where they have the same debug probe.")


class DetectResult(Result):
    """`aboard hardware detect`."""

    ports: list[UsbPortInfo]

"""The JSON of `aboard flash`, `aboard devices` and `aboard debug`."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_boards import Result


class FlashResult(Result):
    """`aboard flash`."""

    path: str = Field(description="Folder of the project.")
    board: str
    image: str = Field(description="Path of the ELF file.")
    build_id: str = Field(description="Build id that the image reports over RPC.")
    runner: str = Field(description="The tool, by the name of its flasher.")
    version: str | None = Field(description="Version of the tool; null if it prints none without a board.")
    command: list[str] = Field(description="Command line that was run, or with `--dry-run` would be run.")
    flashed: bool = Field(description="False with `--dry-run`.")
    serial_number: str | None = Field(description="Of the board's probe; null where it is not known.")
    port: str | None = Field(description="Serial port that the board was asked over; null where it was not asked.")
    verified: bool = Field(description="True when the tool compared the flash with the image.")
    answered: bool | None = Field(
        description="True if the board reported this build over RPC; null if it was not asked."
    )
    seconds: float | None = Field(description="Run time of the tool; null with `--dry-run`.")
    log: str | None = Field(description="File with the output of the tool; null with `--dry-run`.")


class PortInfo(Result):
    """A serial port."""

    device: str = Field(description="Such as `/dev/ttyACM0`.")
    held_by: list[str] = Field(description="Processes that have it open, as `name (pid n)`, as far as this user sees.")


class DeviceInfo(Result):
    """A USB device that has a serial port, or that a board file names."""

    usb_id: str = Field(description="`vid:pid`.")
    serial_number: str | None = Field(description="For `--device`.")
    description: str = Field(description="Name that the device reports.")
    ports: list[PortInfo]
    boards: list[str] = Field(description="Boards it may be: those with the same kind of probe have the same USB id.")


class DriveInfo(Result):
    """A drive of a UF2 boot loader."""

    path: str = Field(description="Folder where it is mounted; for `--device`.")
    board_id: str | None = Field(description="Board id that the boot loader reports.")
    boards: list[str] = Field(description="Boards it may be.")


class DevicesResult(Result):
    """`aboard devices`."""

    devices: list[DeviceInfo]
    drives: list[DriveInfo]


class DebugResult(Result):
    """`aboard debug`."""

    path: str = Field(description="Folder of the project.")
    image: str = Field(description="Path of the ELF file.")
    runner: str = Field(description="Runner with the gdb server: an emulator, or the flasher of a probe.")
    server: list[str] = Field(description="Command line of the gdb server; empty where gdb starts the image itself.")
    gdb: list[str] = Field(description="Command line of gdb.")
    port: int | None = Field(description="TCP port between them; null without a server.")
    line: str | None = Field(description="Pseudo-terminal of the image's line while it ran; null where there was none.")
    exit_code: int | None = Field(description="Of gdb; null with `--dry-run`.")

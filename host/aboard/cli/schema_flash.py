"""The JSON of `aboard flash`, `aboard devices` and `aboard debug`."""

from __future__ import annotations

from pydantic import Field

from aboard.cli.schema_result import Result


class FlashResult(Result):
    """`aboard flash`."""

    path: str = Field(description="Folder of the project.")
    board: str
    image: str = Field(description="Path of the ELF file.")
    build_id: str = Field(description="Build id that the image reports over RPC.")
    runner: str = Field(description="Name of the flasher, which drives the tool.")
    version: str | None = Field(description="Version of the tool; null if it prints none without a board.")
    command: list[str] = Field(description="Command line of the tool; with `--dry-run` it was not run.")
    flashed: bool = Field(description="True if the board was flashed; false with `--dry-run`.")
    serial_number: str | None = Field(description="Serial number of the board's probe; null if it is unknown.")
    port: str | None = Field(description="Serial port over which the board was checked; null if it was not checked.")
    verified: bool = Field(description="True if the tool compared the flash with the image.")
    answered: bool | None = Field(
        description="True if the board reported this build over RPC; null if it was not checked."
    )
    seconds: float | None = Field(description="Run time of the tool; null with `--dry-run`.")
    log: str | None = Field(description="File with the output of the tool; null with `--dry-run`.")


class PortInfo(Result):
    """A serial port."""

    device: str = Field(description="Name of the port, such as `/dev/ttyACM0`.")
    held_by: list[str] = Field(
        description="Processes that hold the port, as `name (pid n)`, if this user may see them."
    )


class DeviceInfo(Result):
    """A USB device that has a serial port, or that a board file names."""

    usb_id: str = Field(description="USB id, `vid:pid`.")
    serial_number: str | None = Field(description="Serial number for `--device`; null if the device has none.")
    description: str = Field(description="Name that the device reports.")
    ports: list[PortInfo]
    boards: list[str] = Field(
        description="Boards that the device may be; boards with the same kind of probe have the same USB id."
    )


class DriveInfo(Result):
    """A drive of a UF2 boot loader."""

    path: str = Field(description="Folder where the drive is mounted, for `--device`.")
    board_id: str | None = Field(description="Board id that the boot loader reports.")
    boards: list[str] = Field(description="Boards that the drive may belong to.")


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
    port: int | None = Field(description="TCP port of the gdb server; null without a server.")
    line: str | None = Field(description="Pseudo-terminal of the image's serial line; null without one.")
    exit_code: int | None = Field(description="Exit code of gdb; null with `--dry-run`.")

"""The records of board files about emulators."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from aboard.base.fields import Line, Lines, RelativePath
from aboard.boards.records import BoardRecord, Positive, Text


class Qemu(BoardRecord):
    """Settings for the emulation of the board by QEMU.

    Attributes:
        program: Command of QEMU.
        machine: Argument of `-machine`.
        cpu: Argument of `-cpu`; None for the default of the machine.
        serial: Number of the machine's serial port that carries the RPC, counted from 0.
        instructions_per_second: Instructions per second of virtual time; 10**9 with `-icount shift=0`.
        arguments: Further arguments.
    """

    program: Literal["qemu-system-arm", "qemu-system-riscv32"]
    machine: Text
    cpu: Text | None = None
    serial: Annotated[int, Field(ge=0)] = 0
    instructions_per_second: Positive = 1_000_000_000
    arguments: tuple[Line, ...] = ()


class Unicorn(BoardRecord):
    """Settings for the emulation of the board by Unicorn.

    Attributes:
        instructions_per_second: Instructions per second of virtual time; the emulated counter is derived from this
            rate.
    """

    instructions_per_second: Positive = 1_000_000_000


class Renode(BoardRecord):
    """Settings for the emulation of the board by Renode; the scripts of a project use them.

    Attributes:
        platform: Platform description that Renode ships, relative to Renode's folder. None if Renode has no description
            of the board; then the project generates one from the board's memories, serial port and status bits.
        uart: Renode's name of the peripheral of the RPC line.
        instructions_per_second: Instructions per second of virtual time; equal to the clock of the core, one tick per
            instruction.
        receive_bytes_per_second: Rate at which Renode's model of the serial port receives bytes from the host without
            loss, in wall time; None if the model loses no bytes at any rate.
        secure_bit: Address bit of the secure aliases of memories and ports, for a generated description. Each region
            appears with the bit and without it.
        overrides: Lines of a platform description that adapt the platform to the drivers of bare-metal projects.
        commands: Renode commands after the platform is loaded, such as values that start-up code waits for.
        release: Release of Renode for CI: a release with everything that the board needs, or `latest` for the newest
            build.
        source: Source of these settings.
    """

    platform: RelativePath | None = None
    uart: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.]+$")]
    instructions_per_second: Positive
    receive_bytes_per_second: Positive | None = None
    secure_bit: Positive | None = None
    overrides: Lines = ""
    commands: tuple[Text, ...] = ()
    release: Annotated[str, Field(pattern=r"^(\d+\.\d+\.\d+|latest)$")] = "1.16.1"
    source: Text


class Emulators(BoardRecord):
    """The emulators that support the board; None for an emulator that does not."""

    qemu: Qemu | None = None
    unicorn: Unicorn | None = None
    renode: Renode | None = None

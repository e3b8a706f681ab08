"""Espressif's esptool, 5 or later: writes over the serial port of the chip's boot loader."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from aboard.errors import ToolError
from aboard.flashers import formats
from aboard.flashers.base import Capabilities, Done, Finding, Flasher, Job, Settings
from aboard.flashers.problems import Diagnosis, Problem

#: The first bytes of an image that the boot ROM starts in flash, without a second boot loader.
_DIRECT_BOOT = b"\x1d\x04\xdb\xae" * 2


class EspToolSettings(Settings):
    """Keys of `[flash.esptool]`.

    Attributes:
        chip: esptool's name of the chip.
        address: Flash address of the image.
        baud: Baud rate while flashing, in bits a second.
        mode: SPI mode of the flash, as esptool writes it.
        frequency: Clock of the flash, as esptool writes it.
    """

    chip: str
    address: int
    baud: int = 921_600
    mode: str = "dio"
    frequency: str = "40m"


class EspTool(Flasher[EspToolSettings]):
    """Flashes the binary beside the ELF file, or that of an image for direct boot, with `esptool write-flash`."""

    name: ClassVar[str] = "esptool"
    order: ClassVar[int] = 15
    interface: ClassVar[int] = 1
    program: ClassVar[str | None] = "esptool"
    purpose: ClassVar[str] = "flashes Espressif boards"
    how_to_get: ClassVar[str] = "pip install 'esptool>=5'"
    version_arguments: ClassVar[tuple[str, ...] | None] = ("version",)
    capabilities: ClassVar[Capabilities] = Capabilities("bin", "port", verifies=True, debugs=False)
    settings = EspToolSettings
    proof: ClassVar[str | None] = r"Hash of data verified"
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(r"No such file or directory|could not find any .*port|No serial ports found", Problem.NO_PROBE),
        Finding(r"Permission denied|Access is denied", Problem.NO_ACCESS),
        Finding(r"port is busy", Problem.BUSY),
        Finding(r"Wrong (?:--)?chip|This chip is .* not |Unexpected chip ID", Problem.WRONG_CHIP),
        Finding(r"[Ss]ecure [Dd]ownload [Mm]ode|flash encryption is enabled", Problem.LOCKED),
        Finding(r"MD5 of file does not match|[Vv]erif(?:y|ication) failed", Problem.VERIFY),
        Finding(
            r"Failed to connect|No serial data received|Invalid head of packet|Timed out waiting for packet",
            Problem.NO_TARGET,
        ),
    )
    advice: ClassVar[Mapping[Problem, str]] = {
        Problem.NO_TARGET: "Hold BOOT, press and release RESET, release BOOT, and flash again",
        Problem.NO_ACCESS: "Add yourself to the port's group (often dialout)",
        Problem.NO_PROBE: "Plug it in, or name its port with --device; `aboard devices` lists what is attached",
        Problem.LOCKED: "The chip takes only images signed for it: flash it with ESP-IDF",
    }

    @override
    def command(self, job: Job[EspToolSettings], program: str) -> list[str]:
        settings = job.settings
        port = ["--port", job.port] if job.port else []
        resets = ["--before", "default-reset", "--after", "hard-reset"]
        flash = ["--flash-mode", settings.mode, "--flash-freq", settings.frequency, "--flash-size", "detect"]
        return [
            program,
            "--chip",
            settings.chip,
            *port,
            "--baud",
            str(settings.baud),
            *resets,
            "write-flash",
            *flash,
            f"0x{settings.address:x}",
            str(job.image),
        ]

    @override
    def run(self, job: Job[EspToolSettings]) -> Done:
        """Flashes an image; see `Flasher.run`. Requires a port: without one esptool takes any attached device."""
        if job.port is None:
            raise self.error(job, Diagnosis(Problem.NO_PROBE, "no serial port of the board"))
        return super().run(job)

    @override
    def convert(self, elf: Path, scratch: Path, settings: EspToolSettings) -> Path:
        super().convert(elf, scratch, settings)
        binary = elf.with_suffix(".bin")
        if binary.is_file():
            return binary
        if not formats.segments(elf)[0].data.startswith(_DIRECT_BOOT):
            raise ToolError(
                f"{binary}: no image for the boot ROM, got no such file, expected one beside {elf.name}. "
                "Build the project with the template zephyr"
            )
        return formats.write_bin(elf, scratch / "image.bin")

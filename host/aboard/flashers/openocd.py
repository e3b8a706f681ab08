"""OpenOCD, 0.12 or later: ST-LINK, CMSIS-DAP, J-Link and FTDI probes over SWD and JTAG."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from aboard.base import quoting
from aboard.flashers.base import Capabilities, Finding, Flasher, Job, Settings
from aboard.flashers.problems import Problem


class OpenOcdSettings(Settings):
    """Keys of `[flash.openocd]`.

    Attributes:
        config: Configuration of probe and chip, in order: files that OpenOCD finds (`*.cfg`), and commands.
        before: Commands after connecting and before writing.
    """

    config: tuple[str, ...]
    before: tuple[str, ...] = ()


class OpenOcd(Flasher[OpenOcdSettings]):
    """Flashes with OpenOCD's `program`."""

    name: ClassVar[str] = "openocd"
    order: ClassVar[int] = 10
    interface: ClassVar[int] = 1
    program: ClassVar[str | None] = "openocd"
    purpose: ClassVar[str] = "flashes over SWD and JTAG"
    how_to_get: ClassVar[str] = "apt install openocd"
    capabilities: ClassVar[Capabilities] = Capabilities("elf", "serial number", verifies=True, debugs=True)
    settings = OpenOcdSettings
    proof: ClassVar[str | None] = r"\*\* Verified OK \*\*"
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(r"LIBUSB_ERROR_ACCESS|insufficient permissions", Problem.NO_ACCESS),
        Finding(r"LIBUSB_ERROR_BUSY|unable to claim interface", Problem.BUSY),
        Finding(r"[Mm]ultiple devices found", Problem.SEVERAL),
        Finding(
            r"Error: open failed|No J-Link device found|unable to find a matching CMSIS-DAP device"
            r"|unable to open ftdi device|No Valid JTAG Interface|Invalid serial number",
            Problem.NO_PROBE,
        ),
        Finding(r"Can't find (?:target|board|interface)/", Problem.NOT_SUPPORTED),
        Finding(
            r"device protected|Could not find MEM-AP|Device Security Bit Set|Secured MCU state|AP lock engaged",
            Problem.LOCKED,
        ),
        Finding(r"UNEXPECTED|Cannot identify target|expected 1 of", Problem.WRONG_CHIP),
        Finding(
            r"init mode failed|examination failed|[Cc]annot read IDR|Error connecting DP|Target not examined",
            Problem.NO_TARGET,
        ),
        Finding(r"\*\* Verify Failed \*\*|checksum mismatch|contents differ", Problem.VERIFY),
    )
    advice: ClassVar[Mapping[Problem, str]] = {
        Problem.LOCKED: "Unlock it in OpenOCD after `init`, which erases all of the flash: nrf52_recover, or "
        "stm32f4x unlock 0 for that family",
        Problem.NOT_SUPPORTED: "Install OpenOCD 0.12 or later, or the chip maker's",
    }

    @override
    def command(self, job: Job[OpenOcdSettings], program: str) -> list[str]:
        before = ["init", *job.settings.before] if job.settings.before else []
        # The image is named without its folder: Tcl would interpret blanks and braces in the path.
        last = f"program {job.image.name} verify reset exit"
        return [*_connected(job, program), *(word for text in [*before, last] for word in ("-c", text))]

    @override
    def convert(self, elf: Path, scratch: Path, settings: OpenOcdSettings) -> Path:
        super().convert(elf, scratch, settings)
        return Path(shutil.copyfile(elf, scratch / "image.elf"))

    @override
    def gdb_server(self, job: Job[OpenOcdSettings], program: str, port: int) -> list[str] | None:
        ports = (f"gdb_port {port}", "telnet_port disabled", "tcl_port disabled")
        return [*_connected(job, program), *(word for text in ports for word in ("-c", text))]


def _connected(job: Job[OpenOcdSettings], program: str) -> list[str]:
    # A USB device chooses its serial number, and Tcl would execute it.
    chosen = ["-c", f"adapter serial {quoting.tcl_word(job.serial_number)}"] if job.serial_number else []
    words = [("-f" if text.endswith(".cfg") else "-c", text) for text in job.settings.config]
    return [program, *chosen, *(word for pair in words for word in pair)]

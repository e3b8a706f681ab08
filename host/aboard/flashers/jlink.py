"""SEGGER's J-Link Commander: J-Link probes, including on-board ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from typing_extensions import override

from aboard.flashers.base import Capabilities, Finding, Flasher, Job, Settings
from aboard.flashers.problems import Problem

_SCRIPT = "flash.jlink"


class JLinkSettings(Settings):
    """Keys of `[flash.jlink]`.

    Attributes:
        device: SEGGER's name of the chip.
        interface: Debug interface.
        speed_khz: Its clock.
        arguments: Further arguments of the program.
    """

    device: str
    interface: Literal["swd", "jtag"] = "swd"
    speed_khz: int = 4000
    arguments: tuple[str, ...] = ()


class JLink(Flasher[JLinkSettings]):
    """Flashes with a script for J-Link Commander."""

    name: ClassVar[str] = "jlink"
    order: ClassVar[int] = 40
    interface: ClassVar[int] = 1
    program: ClassVar[str | None] = "JLinkExe"
    purpose: ClassVar[str] = "flashes over J-Link"
    how_to_get: ClassVar[str] = "install the J-Link software from https://www.segger.com"
    version_arguments: ClassVar[tuple[str, ...] | None] = None
    capabilities: ClassVar[Capabilities] = Capabilities("hex", "serial number", verifies=True, debugs=True)
    settings = JLinkSettings
    proof: ClassVar[str | None] = r"^O\.K\.\s*$"
    gdb_start: ClassVar[tuple[str, ...]] = ("monitor reset", "load", "monitor reset")
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(r"Cannot connect to J-Link|No emulators connected|J-Link via USB\.\.\.\s*FAILED", Problem.NO_PROBE),
        Finding(r"[Uu]nknown (?:/ supported )?device|[Uu]nknown target device", Problem.NOT_SUPPORTED),
        Finding(r"(?i:device (?:is|may be|seems to be) (?:read-?out )?(?:protected|secured|locked))", Problem.LOCKED),
        Finding(r"(?i:verif(?:y|ication) failed|failed to verify)", Problem.VERIFY),
        Finding(r"Cannot connect to target|Could not find (?:core|supported CPU)", Problem.NO_TARGET),
    )
    advice: ClassVar[Mapping[Problem, str]] = {
        Problem.NOT_SUPPORTED: "Install a newer J-Link software",
        Problem.LOCKED: "Unlock it in J-Link Commander (unlock), which erases all of the flash",
    }

    @override
    def command(self, job: Job[JLinkSettings], program: str) -> list[str]:
        settings = job.settings
        chosen = ["-USB", job.serial_number.lstrip("0")] if job.serial_number else []
        connection = ["-device", settings.device, "-if", settings.interface, "-speed", str(settings.speed_khz)]
        return [
            program,
            "-NoGui",
            "1",
            "-ExitOnError",
            "1",
            *chosen,
            *connection,
            "-autoconnect",
            "1",
            *settings.arguments,
            "-CommanderScript",
            _SCRIPT,
        ]

    def scripts(self, job: Job[JLinkSettings]) -> Mapping[str, str]:
        """Returns the script for J-Link Commander: reset and halt, write and verify, reset, go, quit."""
        lines = ("r", f"loadfile {job.image.name}", "r", "g", "q")
        return {_SCRIPT: "\n".join(lines) + "\n"}

    @override
    def gdb_server(self, job: Job[JLinkSettings], program: str, port: int) -> list[str] | None:
        settings = job.settings
        chosen = f"usb={job.serial_number.lstrip('0')}" if job.serial_number else "usb"
        connection = ["-device", settings.device, "-if", settings.interface, "-speed", str(settings.speed_khz)]
        return [
            "JLinkGDBServerCLExe",
            "-select",
            chosen,
            *connection,
            "-port",
            str(port),
            "-singlerun",
            "-nogui",
            "-silent",
        ]

"""The open-source stlink tools: ST-LINK probes, for the STM32 families they know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from typing_extensions import override

from aboard.flashers.base import Capabilities, Finding, Flasher, Job, Settings
from aboard.flashers.problems import Problem


class StLinkSettings(Settings):
    """Keys of `[flash.stlink]`.

    Attributes:
        under_reset: Connect while the chip is held in reset: for images that switch the debug port off.
    """

    under_reset: bool = False


class StLink(Flasher[StLinkSettings]):
    """Flashes with `st-flash write`."""

    name: ClassVar[str] = "stlink"
    order: ClassVar[int] = 30
    interface: ClassVar[int] = 1
    program: ClassVar[str | None] = "st-flash"
    purpose: ClassVar[str] = "flashes ST boards"
    how_to_get: ClassVar[str] = "apt install stlink-tools"
    capabilities: ClassVar[Capabilities] = Capabilities("hex", "serial number", verifies=True, debugs=True)
    settings = StLinkSettings
    proof: ClassVar[str | None] = r"Flash written and verified"
    gdb_start: ClassVar[tuple[str, ...]] = ("load",)
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(r"LIBUSB_ERROR_ACCESS|-3 LIBUSB|Permission denied", Problem.NO_ACCESS),
        Finding(r"LIBUSB_ERROR_BUSY|[Uu]nable to claim", Problem.BUSY),
        Finding(r"Couldn't find any ST-Link devices|Couldn't find ST-?Link", Problem.NO_PROBE),
        Finding(r"unknown chip id|[Uu]nsupported (?:chip|device)", Problem.NOT_SUPPORTED),
        Finding(r"(?i:(?:write|read|readout)[ -]?protected|RDP|flash (?:memory )?is locked)", Problem.LOCKED),
        Finding(r"Verification of flash failed", Problem.VERIFY),
        Finding(r"(?:Can not|Cannot|Failed to) connect to (?:the )?target", Problem.NO_TARGET),
    )
    advice: ClassVar[Mapping[Problem, str]] = {
        Problem.LOCKED: "Unlock it with STM32CubeProgrammer (option bytes, RDP level 0), which erases all of the flash",
        Problem.NO_TARGET: "Check power and the debug cable, or set under_reset = true in [flash.stlink]",
    }

    @override
    def command(self, job: Job[StLinkSettings], program: str) -> list[str]:
        return [program, *_chosen(job), "--reset", "--format", "ihex", "write", str(job.image)]

    @override
    def gdb_server(self, job: Job[StLinkSettings], program: str, port: int) -> list[str] | None:
        return ["st-util", *_chosen(job), "-p", str(port)]


def _chosen(job: Job[StLinkSettings]) -> list[str]:
    serial = ["--serial", job.serial_number] if job.serial_number else []
    return [*serial, *(["--connect-under-reset"] if job.settings.under_reset else [])]

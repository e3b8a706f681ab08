"""pyOCD: CMSIS-DAP, ST-LINK and J-Link probes, for Cortex-M chips."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from typing_extensions import override

from aboard.flashers.base import Capabilities, Finding, Flasher, Job, Settings
from aboard.flashers.problems import Problem


class PyOcdSettings(Settings):
    """Keys of `[flash.pyocd]`.

    Attributes:
        target: pyOCD's name of the chip.
        frequency_hz: Clock of SWD; None for pyOCD's own.
        options: Options of pyOCD, each as `name=value`.
    """

    target: str
    frequency_hz: int | None = None
    options: tuple[str, ...] = ()


class PyOcd(Flasher[PyOcdSettings]):
    """Flashes with `pyocd load`."""

    name: ClassVar[str] = "pyocd"
    order: ClassVar[int] = 20
    interface: ClassVar[int] = 1
    program: ClassVar[str | None] = "pyocd"
    purpose: ClassVar[str] = "flashes over CMSIS-DAP"
    how_to_get: ClassVar[str] = "pip install pyocd"
    capabilities: ClassVar[Capabilities] = Capabilities("elf", "serial number", verifies=False, debugs=True)
    settings = PyOcdSettings
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(r"No connected debug probe|No available debug probes", Problem.NO_PROBE),
        Finding(r"Enter the number of the debug probe|multiple probes", Problem.SEVERAL),
        Finding(r"Access denied|insufficient permissions", Problem.NO_ACCESS),
        Finding(r"Resource busy|is already in use|already open", Problem.BUSY),
        Finding(r"[Tt]arget type \S+ (?:is )?not recognized", Problem.NOT_SUPPORTED),
        Finding(r"not automatically unlocking|APPROTECT enabled|in secure state: |is locked", Problem.LOCKED),
        Finding(r"No ACK|SWD/JTAG [Cc]ommunication [Ff]ailure|Unable to connect to target", Problem.NO_TARGET),
    )
    advice: ClassVar[Mapping[Problem, str]] = {
        Problem.NOT_SUPPORTED: "Install the chip's pack: pyocd pack update, then pyocd pack install TARGET",
        Problem.LOCKED: "Unlock it, which erases all of the flash: pyocd erase --mass",
    }

    @override
    def command(self, job: Job[PyOcdSettings], program: str) -> list[str]:
        return [program, "load", *_chosen(job), "--format", "elf", str(job.image)]

    @override
    def gdb_server(self, job: Job[PyOcdSettings], program: str, port: int) -> list[str] | None:
        return [program, "gdbserver", *_chosen(job), "--port", str(port), "--telnet-port", "0"]


def _chosen(job: Job[PyOcdSettings]) -> list[str]:
    settings = job.settings
    clock = ["--frequency", str(settings.frequency_hz)] if settings.frequency_hz else []
    probe = ["--uid", job.serial_number] if job.serial_number else []
    options = [word for option in settings.options for word in ("-O", option)]
    # Without --no-wait pyOCD waits for a probe forever.
    return ["--no-wait", "--target", settings.target, *clock, *probe, *options]

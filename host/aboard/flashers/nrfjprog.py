"""Nordic's nrfjprog, of the nRF Command Line Tools: J-Link probes, for nRF chips."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from typing_extensions import override

from aboard.flashers.base import Capabilities, Finding, Flasher, Job, Settings
from aboard.flashers.problems import Diagnosis, Problem

# Exit codes, from the manual of the nRF Command Line Tools, "nrfjprog return codes".
_CODES = {16: Problem.LOCKED, 55: Problem.VERIFY}


class NrfJprogSettings(Settings):
    """Keys of `[flash.nrfjprog]`.

    Attributes:
        family: Chip family.
        coprocessor: The core, for chips with several.
    """

    family: Literal["NRF51", "NRF52", "NRF53", "NRF54L", "NRF91"]
    coprocessor: Literal["CP_APPLICATION", "CP_NETWORK"] | None = None


class NrfJprog(Flasher[NrfJprogSettings]):
    """Flashes with `nrfjprog --program`."""

    name: ClassVar[str] = "nrfjprog"
    order: ClassVar[int] = 50
    interface: ClassVar[int] = 1
    program: ClassVar[str | None] = "nrfjprog"
    purpose: ClassVar[str] = "flashes Nordic boards"
    how_to_get: ClassVar[str] = "install the nRF Command Line Tools of Nordic Semiconductor"
    capabilities: ClassVar[Capabilities] = Capabilities("hex", "serial number", verifies=True, debugs=False)
    settings = NrfJprogSettings
    findings: ClassVar[tuple[Finding, ...]] = (
        Finding(r"no debugger connected|Unable to connect to a debugger", Problem.NO_PROBE),
        Finding(r"multiple debuggers|more than one (?:debugger|device)", Problem.SEVERAL),
        Finding(r"readback protection|ap-protection is enabled", Problem.LOCKED),
        Finding(r"family .* does not match|[Ww]rong (?:device )?family", Problem.WRONG_CHIP),
        Finding(r"(?i:verify failed|verification failed)", Problem.VERIFY),
        Finding(r"[Cc]annot connect to (?:the )?(?:device|target)|low voltage", Problem.NO_TARGET),
    )
    advice: ClassVar[Mapping[Problem, str]] = {
        Problem.LOCKED: "Unlock it, which erases all of the flash: nrfjprog --recover",
    }

    @override
    def command(self, job: Job[NrfJprogSettings], program: str) -> list[str]:
        settings = job.settings
        core = ["--coprocessor", settings.coprocessor] if settings.coprocessor else []
        chosen = ["--snr", job.serial_number.lstrip("0")] if job.serial_number else []
        actions = ["--program", str(job.image), "--sectorerase", "--verify", "--reset"]
        return [program, *actions, "-f", settings.family, *core, *chosen]

    def diagnose(self, output: str, code: int) -> Diagnosis | None:
        """Reads the exit code first, because it is more precise than the output. See `Flasher.diagnose`."""
        found = super().diagnose(output, code)
        if found is None or code not in _CODES:
            return found
        return Diagnosis(_CODES[code], found.evidence)

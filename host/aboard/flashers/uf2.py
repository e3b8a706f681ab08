"""UF2 boot loaders: the board appears as a drive that takes a file. No tool is needed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from aboard.flashers import formats
from aboard.flashers.base import Capabilities, Done, Flasher, Job, Settings
from aboard.flashers.problems import Diagnosis, Problem

_INFO = "INFO_UF2.TXT"
_MOUNTS = Path("/proc/mounts")
_FOLDERS = (Path("/Volumes"), Path("/media"), Path("/run/media"))


class Uf2Settings(Settings):
    """Keys of `[flash.uf2]`.

    Attributes:
        board_id: Value of `Board-ID` in the drive's INFO_UF2.TXT.
        family: Id of the chip family in the file.
    """

    board_id: str
    family: int


class Uf2(Flasher[Uf2Settings]):
    """Copies the image to the drive of the board's boot loader."""

    name: ClassVar[str] = "uf2"
    order: ClassVar[int] = 5
    interface: ClassVar[int] = 1
    program: ClassVar[str | None] = None
    purpose: ClassVar[str] = "flashes boards that show up as a drive"
    how_to_get: ClassVar[str] = "nothing is needed"
    capabilities: ClassVar[Capabilities] = Capabilities("uf2", "drive", verifies=False, debugs=False)
    settings = Uf2Settings
    advice: ClassVar[Mapping[Problem, str]] = {
        Problem.NO_PROBE: "Hold the board's BOOTSEL button while it is plugged in; it then shows up as a drive. Mount "
        "the drive if that is not done for you",
        Problem.SEVERAL: "Name the folder of its drive with --device",
    }

    @override
    def command(self, job: Job[Uf2Settings], program: str) -> list[str]:
        """Returns the copy as a shell command, for display; no program is run."""
        return ["cp", job.image.name, job.port or "DRIVE"]

    @override
    def convert(self, elf: Path, scratch: Path, settings: Uf2Settings) -> Path:
        return formats.write_uf2(elf, scratch / "image.uf2", settings.family)

    @override
    def run(self, job: Job[Uf2Settings]) -> Done:
        """Copies the file; see `Flasher.run`. The board restarts once it has the whole file."""
        drive = self._drive(job)
        target = drive / job.image.name
        try:
            shutil.copyfile(job.image, target)
        except OSError as error:
            raise self.error(job, Diagnosis(Problem.FAILED, f"{target}: {error.strerror}")) from error
        return Done(("cp", str(job.image), str(drive)), f"copied to {drive}")

    def _drive(self, job: Job[Uf2Settings]) -> Path:
        named = Path(job.port) if job.port else None
        found = [drive for drive in drives() if named in (None, drive)]
        if not found:
            where = f"no UF2 drive {named}" if named else "no UF2 drive"
            raise self.error(job, Diagnosis(Problem.NO_PROBE, where))
        ours = [drive for drive in found if board_id(drive) == job.settings.board_id]
        if not ours:
            others = ", ".join(f"{drive} of {board_id(drive)}" for drive in found)
            raise self.error(job, Diagnosis(Problem.WRONG_CHIP, others))
        if len(ours) > 1:
            raise self.error(job, Diagnosis(Problem.SEVERAL, ", ".join(map(str, ours))))
        return ours[0]


def drives() -> list[Path]:
    """Returns the mounted drives of UF2 boot loaders, sorted."""
    return sorted({place for place in _mounted() if (place / _INFO).is_file()})


def board_id(drive: Path) -> str | None:
    """Returns the board id in a drive's INFO_UF2.TXT; None if there is none."""
    try:
        lines = (drive / _INFO).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    found = (line.partition(":")[2].strip() for line in lines if line.startswith("Board-ID:"))
    return next(found, None)


def _mounted() -> Iterator[Path]:
    try:
        for line in _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines():
            # /proc/mounts writes blanks and some other characters as octal numbers.
            yield Path(line.split()[1].encode().decode("unicode_escape"))
    except (OSError, IndexError):
        for folder in _FOLDERS:
            yield from folder.glob("*")
        if sys.platform == "win32":
            yield from (Path(f"{letter}:/") for letter in "DEFGHIJKLMNOPQRSTUVWXYZ")

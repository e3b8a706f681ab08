"""The results of a build: the image with its sizes, and the build folder with its log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aboard import outputs
from aboard.base.scratch import Scratch
from aboard.boards.zephyr.reports import ModuleUse, RegionUse
from aboard.errors import ProjectError
from aboard.project.elf import ImageSizes
from aboard.project.project import BUILD_LOG, is_build_folder
from aboard.project.toolchain import Toolchain

LOG_NAME = BUILD_LOG


@dataclass(frozen=True)
class BuildResult:
    """A built image.

    Attributes:
        image: The ELF file.
        sizes: Flash and RAM that the image takes.
        toolchain: Toolchain of the build.
        log: File with the output of CMake and the compiler.
        regions: Use of each memory region; empty if the build does not report it.
        modules: Memory use of each part of the image, largest first; empty if the build does not report it.
    """

    image: Path
    sizes: ImageSizes
    toolchain: Toolchain
    log: Path
    regions: tuple[RegionUse, ...] = ()
    modules: tuple[ModuleUse, ...] = ()


def make_anew(folder: Path) -> None:
    """Makes the build folder of a project, or empties an existing build folder.

    Raises:
        ProjectError: The folder holds files that no build made, or cannot be written.
    """
    place = outputs.followed(folder, ProjectError)
    try:
        if place.is_dir() and any(place.iterdir()):
            if not is_build_folder(folder):
                raise ProjectError(
                    f"{folder}: holds files that no build made, got {next(place.iterdir()).name}, expected a build "
                    "folder or none. Move them away"
                )
            with Scratch(beside=place) as temporary:
                place.rename(temporary / "old")
        place.mkdir(parents=True, exist_ok=True)
        (place / LOG_NAME).touch()
    except OSError as error:
        raise ProjectError(f"{folder}: cannot be written, got {error.strerror}. Remove it") from error

"""Projects: folders that build without aboard, with a record that lets aboard use them.

CMakeLists.txt, cmake/, linker.ld    how it is built
src/main.c                           the application
models/<name>/                       bundles
firmware/, board/                    server, port and drivers; the board's addresses
project.json                         the record for aboard: `ProjectInfo`
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt, ValidationError

from aboard.base import manifest
from aboard.base.fields import Identifier, Line, Word, first_problem, is_file_within, relative_path
from aboard.base.manifest import Manifest
from aboard.boards.board import Board
from aboard.errors import ProjectError

if TYPE_CHECKING:
    from typing_extensions import Self

FILE_NAME = "project.json"
BUILD_FOLDER = "build"
#: Log of the tools, in the build folder.
BUILD_LOG = "aboard.log"


def _image_path(text: str) -> str:
    """Checks the path of an image. A template without an image has the build folder as its path."""
    return relative_path(text.removesuffix("/"))


class ProjectInfo(BaseModel):
    """The record of a project, `project.json`.

    Attributes:
        format: Version of the record format.
        generator: Name and version of the generator.
        template: Name of the template.
        options: Values of the template's options.
        image: Path of the image, relative to the project.
        models: Names of the models, in the order of their numbers on the device.
        build_id: Hash of the generated sources; the image contains and reports it.
        board: The board at the time when the project was made.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    generator: Line
    template: Word
    options: dict[Identifier, StrictBool | StrictInt | Line]
    image: Annotated[str, AfterValidator(_image_path)]
    models: Annotated[tuple[Identifier, ...], Field(min_length=1)]
    build_id: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    board: Board


@dataclass(frozen=True)
class Project:
    """A project on disk.

    Attributes:
        path: Folder of the project, absolute.
        info: Record of the project.
    """

    path: Path
    info: ProjectInfo

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Reads a project.

        Raises:
            ProjectError: The folder is missing, is not a project, or is damaged.
        """
        folder = Path(path).resolve()
        record = folder / FILE_NAME
        if record.exists() and not is_file_within(record, folder):
            raise ProjectError(f"{record}: not a file of the project. Make one with `aboard create`")
        try:
            return cls(folder, ProjectInfo.model_validate_json(record.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            raise ProjectError(
                f"{folder}: not a project, as it has no {FILE_NAME}. Make one with `aboard create`"
            ) from error
        except OSError as error:
            raise ProjectError(
                f"{record}: cannot be read, got {error.strerror}, expected a project. Make one with `aboard create`"
            ) from error
        except (ValidationError, UnicodeDecodeError) as error:
            raise ProjectError(
                f"{record}: {first_problem(error)}. Make the project again with `aboard create` of this version"
            ) from error

    @property
    def board(self) -> Board:
        """The board, at the time when the project was made."""
        return self.info.board

    @property
    def build_id(self) -> str:
        """Hash of the generated sources; the image contains and reports it."""
        return self.info.build_id

    @property
    def image(self) -> Path:
        """Path of the image. The file exists after a build."""
        return self.path / self.info.image

    @cached_property
    def models(self) -> tuple[Manifest, ...]:
        """The manifests of the models, in the order of their numbers on the device."""
        return tuple(manifest.read(self.path / "models" / name) for name in self.info.models)


def is_build_folder(folder: Path) -> bool:
    """True for the build folder of a project, which CMake or aboard made and can make again."""
    if folder.name != BUILD_FOLDER or not (folder.parent / FILE_NAME).is_file():
        return False
    return any((folder / name).is_file() for name in (BUILD_LOG, "CMakeCache.txt"))

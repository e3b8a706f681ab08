"""The bundle's `manifest.json`: the only file that crosses from the compile path to the device path.

The compile path writes the file (`aboard.emit`) and the device path reads it. `manifest_records` defines the fields.
`manifest_checks` checks the relations between fields.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError, model_validator

from aboard.base import manifest_checks
from aboard.base.fields import first_problem, is_file_within
from aboard.base.manifest_records import ManifestFields
from aboard.errors import ProjectError

if TYPE_CHECKING:
    from typing_extensions import Self

FILE_NAME = "manifest.json"


def label(name: str, width: int = 40) -> str:
    """Returns a short form of a tensor or operator name for tables.

    Converters join the names of fused operators with semicolons; the label keeps the first name. Of a long name it
    keeps the end, because layers differ there.
    """
    first = name.partition(";")[0]
    return first if len(first) <= width else f"…{first[1 - width :]}"


class Manifest(ManifestFields):
    """A compiled model as the device path sees it. Reading a manifest checks that its fields agree."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for problem in manifest_checks.problems(self):
            raise ValueError(problem)
        return self


def read(folder: Path) -> Manifest:
    """Reads the manifest of a bundle.

    Args:
        folder: The bundle.

    Raises:
        ProjectError: It is missing, damaged, or of another version.
    """
    path = folder / FILE_NAME
    if path.exists() and not is_file_within(path, folder):
        raise ProjectError(f"{path}: not a file of the bundle. Make one with `aboard compile`")
    try:
        return Manifest.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProjectError(
            f"{path}: cannot be read, got {error.strerror}, expected a bundle. Make one with `aboard compile`"
        ) from error
    except (ValidationError, UnicodeDecodeError) as error:
        raise ProjectError(
            f"{path}: {first_problem(error)}. Make the bundle again with `aboard compile` of this version"
        ) from error


def write(manifest: Manifest, folder: Path) -> None:
    """Writes the manifest into a bundle."""
    (folder / FILE_NAME).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")


def subject(manifest: Manifest) -> str:
    """Returns what a model was compiled from and for: not the same words where one cannot stand for the other."""
    return f"{manifest.model_file or manifest.name} ({manifest.model_hash[:8]}) for {manifest.target}"

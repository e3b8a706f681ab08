"""The record of a folder: the files that aboard wrote, with their hashes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from aboard.base.version import VERSION

#: File of the record. It is hidden and not part of the contents of the folder.
RECORD = ".aboard-files.json"


class WriteRecord(BaseModel):
    """The record of the files that aboard wrote into a folder.

    Attributes:
        format: Version of the record format.
        generator: Name and version of the generator.
        what: Kind of folder: `bundle`, `project` or `package`.
        of: Sources and purpose of the folder, in words.
        files: SHA-256 of each file, by path relative to the folder, with `/`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    generator: str = f"aboard {VERSION}"
    what: str
    of: str
    files: Mapping[str, str]


def read(folder: Path) -> WriteRecord | None:
    """Returns the record of a folder; None if it is missing or damaged."""
    try:
        return WriteRecord.model_validate_json((folder / RECORD).read_bytes())
    except (OSError, ValidationError):
        return None


def write(folder: Path, what: str, of: str) -> WriteRecord:
    """Writes and returns the record of the present files of a folder.

    Raises:
        OSError: The record cannot be written.
    """
    found = {path: str(digest(folder / path)) for path in sorted(files(folder))}
    record = WriteRecord(what=what, of=of, files=found)
    (folder / RECORD).write_text(record.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return record


def digest(path: Path) -> str | None:
    """Returns the SHA-256 of a file; None if the path is not a regular file or cannot be read."""
    try:
        if path.is_symlink() or not path.is_file():
            return None
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def none(path: Path) -> bool:
    """A filter for `files` that skips no folder."""
    del path
    return False


def files(folder: Path, skipped: Callable[[Path], bool] = none) -> Iterator[str]:
    """Yields the paths of all files and links in a folder, relative to the folder, without the record.

    Args:
        folder: The folder.
        skipped: True for a sub-folder to leave out.

    Raises:
        OSError: A sub-folder cannot be read, or belongs to another file system.
    """
    device = folder.stat().st_dev
    for path in _walked(folder, skipped, device):
        name = path.relative_to(folder).as_posix()
        if name != RECORD:
            yield name


def _walked(folder: Path, skipped: Callable[[Path], bool], device: int) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            path = Path(entry.path)
            if not entry.is_dir(follow_symlinks=False):
                yield path
                continue
            if entry.stat(follow_symlinks=False).st_dev != device:
                raise OSError(0, "another file system in it", str(path))
            if not skipped(path):
                yield from _walked(path, skipped, device)

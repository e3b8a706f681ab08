"""The record of a folder: which files aboard wrote into it, with their hashes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from aboard.base.version import VERSION

#: Its file. It is hidden, and no part of what the folder is for.
RECORD = ".aboard-files.json"


class WriteRecord(BaseModel):
    """What aboard wrote.

    Attributes:
        format: Version of this format.
        generator: Name and version of the generator.
        what: `bundle`, `project` or `package`.
        of: What it was made of and for, in words.
        files: SHA-256 of each file, by path in the folder with `/`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    generator: str = f"aboard {VERSION}"
    what: str
    of: str
    files: Mapping[str, str]


def read(folder: Path) -> WriteRecord | None:
    """Returns the record of a folder; None where there is none, or a damaged one."""
    try:
        return WriteRecord.model_validate_json((folder / RECORD).read_bytes())
    except (OSError, ValidationError):
        return None


def write(folder: Path, what: str, of: str) -> WriteRecord:
    """Writes the record of a folder as it is now, and returns it.

    Raises:
        OSError: It cannot be written.
    """
    found = {path: str(digest(folder / path)) for path in sorted(files(folder))}
    record = WriteRecord(what=what, of=of, files=found)
    (folder / RECORD).write_text(record.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return record


def digest(path: Path) -> str | None:
    """Returns the SHA-256 of a file; None for what is no file of its own or cannot be read."""
    try:
        if path.is_symlink() or not path.is_file():
            return None
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def none(path: Path) -> bool:
    """Says of no folder that it is left out."""
    del path
    return False


def files(folder: Path, skipped: Callable[[Path], bool] = none) -> Iterator[str]:
    """Yields everything in a folder that is no folder, links included, by path in it; the record is left out.

    Args:
        folder: The folder.
        skipped: Says of a folder in it whether it is left out.

    Raises:
        OSError: A folder in it cannot be read, or is another file system's.
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

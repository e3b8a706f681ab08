"""Reads and copies the files of a bundle. Others may have made the folder, so every path is checked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from aboard.base.fields import is_file_within
from aboard.errors import ProjectError


def copy(bundle: Path, folder: Path) -> None:
    """Copies a bundle into a new folder.

    Raises:
        ProjectError: The bundle holds a symbolic link that leads out of the bundle, or something that is not a file.
        OSError: A file cannot be read or written.
    """
    for path in _files(bundle):
        place = folder / path.relative_to(bundle)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)


def _files(bundle: Path) -> Iterator[Path]:
    """Yields the files. Refuses links that lead out, and links to folders because they may lead in a circle."""
    for top, folders, names in os.walk(bundle):
        for path in (Path(top) / name for name in (*names, *folders)):
            if path.is_symlink() and not is_file_within(path, bundle):
                raise ProjectError(
                    f"{path}: is a symbolic link to a folder or out of the bundle, got {path.readlink()}, expected "
                    "files. Remove it, or make the bundle again with `aboard compile`"
                )
        for path in (Path(top) / name for name in names):
            if not path.is_file():
                raise ProjectError(f"{path}: not a file, expected files and folders in a bundle. Remove it")
            yield path


def read(bundle: Path, path: str) -> str:
    """Returns the text of a file that the manifest of a bundle names.

    Args:
        bundle: Folder of the bundle.
        path: Path of the file, relative to the bundle.

    Raises:
        ProjectError: The file is missing, is not UTF-8 text, or lies outside the bundle.
    """
    file = bundle / path
    try:
        if file.exists() and not is_file_within(file, bundle):
            raise ProjectError(f"{file}: not a file of the bundle. Make the bundle again with `aboard compile`")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "what is not UTF-8"
        raise ProjectError(
            f"{file}: cannot be read, got {reason}. Make the bundle again with `aboard compile`"
        ) from error

"""Files that a user named for results."""

from __future__ import annotations

from pathlib import Path

from aboard.errors import InputError


def write_text(path: Path, text: str) -> None:
    """Writes a file.

    Raises:
        InputError: It cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written, got {error.strerror}. Name a file in a folder that is there"
        ) from error

"""Writes single files: reports, pictures, results, suites."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from aboard.base.scratch import Scratch
from aboard.errors import InputError
from aboard.outputs.place import followed, shown, unwritable

_MARK = b"aboard-sha256="
_BLANK = b"0" * 64
_SEAL = re.compile(re.escape(_MARK) + b"([0-9a-f]{64})")
#: Files of aboard are far smaller than this number of bytes. A larger file cannot be aboard's and is not read.
_LARGEST = 1 << 30

#: Placeholder for the hash, in a comment of the file's format. `sealed` replaces the last one in the file.
SEAL = (_MARK + _BLANK).decode()


def sealed(content: bytes) -> bytes:
    """Returns the content of a file with its hash in place of `SEAL`.

    Args:
        content: Content of the file, including `SEAL`.

    Raises:
        ValueError: The content does not include `SEAL`.
    """
    at = content.rindex(SEAL.encode())
    return content[:at] + _MARK + hashlib.sha256(content).hexdigest().encode() + content[at + len(SEAL) :]


def is_sealed(content: bytes) -> bool:
    """True for content that `sealed` returned; False if a byte was changed, added or removed."""
    return any(
        hashlib.sha256(content[: found.start(1)] + _BLANK + content[found.end(1) :]).hexdigest()
        == found.group(1).decode()
        for found in _SEAL.finditer(content)
    )


def check_file(path: Path, *, force: bool = False) -> Path:
    """Refuses a file that may not be written. Call it before the work that produces the file.

    Args:
        path: The file.
        force: True to overwrite files that aboard did not write.

    Returns:
        The path to write, with links resolved.

    Raises:
        InputError: The path is a folder, its parent does not exist, or aboard did not write the file or it has changed
            since.
    """
    place = followed(path, InputError)
    if place.is_dir():
        raise InputError(f"{shown(path)}: is a folder, expected a file. Name a file in it")
    if not place.parent.is_dir():
        raise InputError(f"{shown(path)}: no such folder, got {shown(path.parent)}. Make it first")
    if not force and place.is_file() and not _is_ours(place):
        raise InputError(
            f"{shown(path)}: holds {place.stat().st_size:,} bytes that aboard did not write, or that were changed "
            "since, expected no file, or one that nobody changed. Name another file, or say --force to overwrite it"
        )
    return place


def _is_ours(place: Path) -> bool:
    try:
        size = place.stat().st_size
        return not size or (size < _LARGEST and is_sealed(place.read_bytes()))
    except OSError:
        return False


def write_file(path: Path, content: bytes, *, force: bool = False) -> None:
    """Writes a file atomically. Devices and pipes are written to directly.

    Args:
        path: The file.
        content: Content, as `sealed` returns it.
        force: True to overwrite files that aboard did not write.

    Raises:
        InputError: `check_file` refuses the file, or writing fails.
    """
    if _is_already(path, content):
        return
    place = check_file(path, force=force)
    try:
        put(place, content)
    except OSError as error:
        raise unwritable(path, error, InputError) from error


def write_files(files: Mapping[Path, bytes], *, force: bool = False) -> None:
    """Checks all files, then writes each of them as `write_file` does.

    Raises:
        InputError: `check_file` refuses a file, and no file was written; or writing fails.
    """
    wanted = {path: content for path, content in files.items() if not _is_already(path, content)}
    for path in wanted:
        check_file(path, force=force)
    for path, content in wanted.items():
        write_file(path, content, force=force)


def _is_already(path: Path, content: bytes) -> bool:
    try:
        return path.is_file() and path.read_bytes() == content
    except OSError:
        return False


def put(place: Path, content: bytes) -> None:
    """Writes a file in one step and replaces an existing file. The new file keeps the mode of the old file.

    Args:
        place: The file, links followed.
        content: Bytes to write.

    Raises:
        OSError: The file cannot be written.
    """
    if place.exists() and not place.is_file():
        place.write_bytes(content)
        return
    with Scratch(beside=place) as temporary:
        fresh = temporary / "fresh"
        fresh.write_bytes(content)
        if place.exists():
            shutil.copymode(place, fresh)
        fresh.replace(place)

"""Single files that aboard writes: reports, pictures, results, suites."""

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
#: What aboard writes is smaller by far; a larger file need not be read to know that it is another's.
_LARGEST = 1 << 30

#: Text that has to stand in a file, in a comment of its format; where it stands last, `sealed` puts the hash.
SEAL = (_MARK + _BLANK).decode()


def sealed(content: bytes) -> bytes:
    """Returns a file with its hash in the place of `SEAL`.

    Args:
        content: The file, with `SEAL` in it.

    Raises:
        ValueError: `SEAL` does not stand in it.
    """
    at = content.rindex(SEAL.encode())
    return content[:at] + _MARK + hashlib.sha256(content).hexdigest().encode() + content[at + len(SEAL) :]


def is_sealed(content: bytes) -> bool:
    """True for a file as `sealed` returned it; False when a byte of it was changed, added or removed."""
    return any(
        hashlib.sha256(content[: found.start(1)] + _BLANK + content[found.end(1) :]).hexdigest()
        == found.group(1).decode()
        for found in _SEAL.finditer(content)
    )


def check_file(path: Path, *, force: bool = False) -> Path:
    """Refuses a file that may not be written: called early, before hours of work for it.

    Args:
        path: The file.
        force: Whether a file of others is overwritten.

    Returns:
        Where it is written, links followed.

    Raises:
        InputError: It is a folder, lies in none, or is a file that aboard did not write or that was changed since.
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
    """Writes a file: all of it, or nothing. Devices and pipes are written to.

    Args:
        path: The file.
        content: As `sealed` returns it.
        force: Whether a file of others is overwritten.

    Raises:
        InputError: It may not be written (`check_file`), or cannot.
    """
    if _is_already(path, content):
        return
    place = check_file(path, force=force)
    try:
        put(place, content)
    except OSError as error:
        raise unwritable(path, error, InputError) from error


def write_files(files: Mapping[Path, bytes], *, force: bool = False) -> None:
    """Writes several files, each as `write_file` does, after looking at all of them.

    Raises:
        InputError: One of them may not be written, and then none is; or cannot.
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
    """Writes a file, whatever is there, in one step. A file that is there keeps its mode.

    Args:
        place: The file, links followed.
        content: Its bytes.

    Raises:
        OSError: It cannot be written.
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

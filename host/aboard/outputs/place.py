"""Destinations of files and folders: resolves links, and replaces a destination in one step."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

from aboard.errors import AboardError

_LONGEST_SHOWN = 120
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
#: Error numbers of systems and file systems without an atomic exchange.
_NO_EXCHANGE = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM)


def followed(path: Path, error: type[AboardError]) -> Path:
    """Returns the absolute path after following symbolic links; the last part need not exist.

    Args:
        path: Path from the user.
        error: Class of the error to raise.

    Raises:
        AboardError: A link is broken or refers to itself, or a part of the path cannot be read or is too long.
    """
    try:
        found = path.resolve()
        if path.exists() and not found.exists():
            return path.absolute()  # a pipe of this process, as behind /dev/stdout, has no real path
        if path.is_symlink() and not os.path.lexists(found):
            raise error(
                f"{shown(path)}: is a symbolic link to {shown(found)}, which is not there. Make that, or remove the "
                "link"
            )
    except RuntimeError as loop:  # Python before 3.13
        raise error(f"{shown(path)}: is a symbolic link to itself. Remove it") from loop
    except OSError as problem:
        raise unwritable(path, problem, error) from problem
    return found


def unwritable(path: Path, problem: OSError, error: type[AboardError]) -> AboardError:
    """Returns the error for a path that the system refuses to write."""
    return error(f"{shown(path)}: cannot be written, got {problem.strerror or problem}. {_advice(problem)}")


def _advice(problem: OSError) -> str:
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return "Make room, or choose another place"
    if problem.errno == errno.ENAMETOOLONG:
        return "Choose a shorter name"
    return "Choose another place"


def shown(path: Path | str) -> str:
    """Returns a path for messages; the middle of a very long path is left out."""
    text = str(path)
    half = _LONGEST_SHOWN // 2
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:half]}...{text[-half:]} ({len(text)} characters)"


def swap(fresh: Path, place: Path, aside: Path) -> None:
    """Moves a folder to a destination, and replaces the folder there if one exists.

    Args:
        fresh: The new folder.
        place: Destination.
        aside: Path for the old folder if the system cannot exchange two folders in one step; else the old folder moves
            to `fresh`.

    Raises:
        OSError: The system refuses the move; both folders are unchanged.
    """
    if not place.exists():
        fresh.rename(place)
        return
    try:
        exchange(fresh, place)
    except OSError as error:
        if error.errno not in _NO_EXCHANGE:
            raise
        place.rename(aside)
        try:
            fresh.rename(place)
        except OSError:
            aside.rename(place)
            raise


def exchange(one: Path, other: Path) -> None:
    """Exchanges two paths in one step.

    Raises:
        OSError: The system refuses or does not support the exchange.
    """
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(one), None, str(other))

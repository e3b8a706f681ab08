"""Faults of the machine: a full disk, a missing right, a name that is too long. None of them is a bug of aboard."""

from __future__ import annotations

import errno
from pathlib import Path

from aboard.errors import AboardError, ToolError
from aboard.outputs import place

#: Advice by error number of the system.
_ADVICE = {
    errno.ENOSPC: "Make room, or choose another place; TMPDIR names that of temporary files",
    errno.EDQUOT: "Make room, or choose another place; TMPDIR names that of temporary files",
    errno.EFBIG: "Raise the limit for files (ulimit -f), or choose another place",
    errno.ENAMETOOLONG: "Choose a shorter name",
    errno.EACCES: "Change the rights, or choose another place",
    errno.EPERM: "Change the rights, or choose another place",
    errno.EROFS: "Choose another place",
    errno.EIO: "Look whether the disk is sound",
    errno.ELOOP: "Remove the link that leads to itself",
    errno.EMFILE: "Raise the limit for open files (ulimit -n)",
    errno.ENFILE: "End other programs",
    errno.ENOMEM: "End other programs",
    errno.EAGAIN: "Raise the limit for processes (ulimit -u), or end other programs",
}


def machine_error(error: Exception) -> AboardError | None:
    """Returns the message for a fault of the machine; None for any other error."""
    if isinstance(error, MemoryError):
        return ToolError("aboard: there is not enough memory. End other programs, or take a smaller model")
    if not isinstance(error, OSError):
        return None
    if isinstance(error, FileNotFoundError) and _folder_is_gone():
        return ToolError("the current folder: is not there any more. Change to another")
    if error.errno not in _ADVICE:
        return None
    where = place.shown(error.filename) if isinstance(error.filename, (str, Path)) else "aboard"
    return ToolError(f"{where}: {error.strerror}. {_ADVICE[error.errno]}")


def _folder_is_gone() -> bool:
    try:
        Path.cwd()
    except OSError:
        return True
    return False

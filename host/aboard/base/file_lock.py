"""Locks of files, which the system frees when the process that holds them ends, however it ends."""

from __future__ import annotations

import sys


def take(fd: int) -> bool | None:
    """Locks an open file; False if another process holds it, None if the system cannot lock the file.

    Args:
        fd: Descriptor of the file, which is open for reading and writing.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except (ImportError, OSError):
        return None
    return True

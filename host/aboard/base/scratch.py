"""Temporary folders. Each belongs to a process; the next process removes the folders of killed processes.

A folder holds a lock file that its process keeps locked (`file_lock`). The system frees the lock when the process ends,
however it ends. A folder with a free lock can be removed.

A temporary folder may also be made beside its destination, so that a rename moves the new contents there. In that case
a note in the system's temporary folder names the parent. If the process is killed between moving the old contents away
and moving the new contents in, the next process puts the old contents back.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import sys
import tempfile
from pathlib import Path
from types import TracebackType

from aboard.base import file_lock
from aboard.errors import ToolError

PREFIX = "aboard-tmp-"
#: In a folder beside a destination: the old contents, and a file with the path of the destination.
REPLACED, PLACE = "replaced", ".place"
_BESIDE_PREFIX = f".{PREFIX}"
_LOCK = ".lock"
_NOTE = ".beside"
_ATTEMPTS = 100
_NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)


class Scratch:
    """A temporary folder. Use it in a `with` statement, or call `close`.

    Attributes:
        path: The folder, absolute.
    """

    def __init__(self, beside: Path | None = None, within: Path | None = None) -> None:
        """Makes the folder.

        Args:
            beside: Destination of a later rename; the folder is made in its parent.
            within: Folder for temporary files; by default the system's.

        Raises:
            ToolError: The folder cannot be made.
            OSError: The folder cannot be made beside `beside`.
        """
        self._lock = -1
        self._note: Scratch | None = None
        try:
            parent = beside.parent if beside is not None else within or Path(tempfile.gettempdir())
            _sweep_once(parent)
            if beside is not None:
                self._note = _noted(parent)
            self.path, self._lock = _made(parent, PREFIX if beside is None else _BESIDE_PREFIX)
            if beside is not None:
                (self.path / PLACE).write_bytes(os.fsencode(beside))
        except OSError as error:
            self.close()
            if beside is not None:
                raise
            raise ToolError(
                f"{error.filename or 'temporary files'}: no temporary folder can be made there, got {error.strerror}. "
                "Make room, or name another folder with TMPDIR"
            ) from error

    def close(self) -> None:
        """Removes the folder. A second call does nothing."""
        if self._lock >= 0:
            _empty(self.path)
            os.close(self._lock)
            self._lock = -1
            _empty(self.path)  # Windows removes no file that is open
        if self._note is not None:
            self._note.close()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def sweep(parent: Path | None = None) -> None:
    """Removes the temporary folders of killed processes of this user.

    Args:
        parent: Folder to look in; by default the system's folder for temporary files.
    """
    with contextlib.suppress(OSError), os.scandir(parent or tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith((PREFIX, _BESIDE_PREFIX)):
                with contextlib.suppress(OSError):
                    _sweep_one(Path(entry.path))


@functools.cache
def _sweep_once(parent: Path) -> None:
    sweep(parent)


def _made(parent: Path, prefix: str) -> tuple[Path, int]:
    """Returns a new folder and the descriptor of its lock file; -1 if the system cannot lock files."""
    for _ in range(_ATTEMPTS):
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=prefix)).absolute()
        # Before the lock is taken, another process may remove the folder as one of a killed process.
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            if _locked(lock, folder / _LOCK) is not False:
                return folder, lock
            os.close(lock)
    raise FileExistsError(0, "no folder that stays", str(parent))


def _locked(lock: int, path: Path) -> bool | None:
    """Locks an open file; False if another process holds or removed it, None if the system cannot lock files."""
    taken = file_lock.take(lock)
    if not taken:
        return taken
    try:
        return os.path.samestat(os.fstat(lock), path.lstat())
    except FileNotFoundError:
        return False


def _noted(parent: Path) -> Scratch | None:
    """Returns a temporary folder whose note names `parent`, so that the next command also sweeps `parent`."""
    with contextlib.suppress(OSError, ToolError):
        note = Scratch()
        (note.path / _NOTE).write_bytes(os.fsencode(parent))
        return note
    return None


def _sweep_one(folder: Path) -> None:
    """Removes a folder, unless it belongs to a running process or to another user."""
    found = folder.lstat()
    if _is_of_another(found) or not folder.is_dir() or folder.is_symlink():
        return
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | _NO_FOLLOW)
    except FileNotFoundError:
        folder.rmdir()  # not locked yet: its process makes another. rmdir keeps a folder that is not empty
        return
    try:
        if _locked(lock, folder / _LOCK):
            with contextlib.suppress(FileNotFoundError):
                sweep(Path(os.fsdecode((folder / _NOTE).read_bytes())))
            _empty(folder)
    finally:
        os.close(lock)


def _is_of_another(found: os.stat_result) -> bool:
    """True for a folder of another user. On Windows each user has a folder for temporary files."""
    return sys.platform != "win32" and found.st_uid != os.geteuid()


def _empty(folder: Path) -> None:
    """Removes a folder that this process has locked; the lock file last, so that a later sweep can finish the work."""
    _put_back(folder)
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.name == _LOCK:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
        if [path.name for path in folder.iterdir()] == [_LOCK]:
            (folder / _LOCK).unlink()
            folder.rmdir()


def _put_back(folder: Path) -> None:
    """Moves old contents back to their destination if nothing is there."""
    with contextlib.suppress(FileNotFoundError):
        place = Path(os.fsdecode((folder / PLACE).read_bytes()))
        if (folder / REPLACED).exists() and not os.path.lexists(place):
            (folder / REPLACED).rename(place)

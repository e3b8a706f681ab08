"""Temporary folders: each belongs to a process, and those of processes that were killed are removed by the next one.

A folder holds a lock file that its process keeps locked (`flock`), which the system unlocks when the process ends,
however it ends. What lies in a folder whose lock is free belongs to nobody any more.

A folder may also lie beside what it becomes, so that a rename puts that in its place. Then a note in the folder for
temporary files leads to it, and what was moved out of the way is put back where a process was killed before it had
put something in its place.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from aboard.errors import ToolError

try:
    import fcntl
except ImportError:  # Windows, where `aboard.base.platforms` says that aboard does not run
    fcntl = None  # type: ignore[assignment]

PREFIX = "aboard-tmp-"
#: In a folder beside something: what was there before, and in a file where that was.
REPLACED, PLACE = "replaced", ".place"
_BESIDE_PREFIX = f".{PREFIX}"
_LOCK = ".lock"
_NOTE = ".beside"
_ATTEMPTS = 100


class Scratch:
    """A temporary folder. Use it in a `with` statement, or call `close`.

    Attributes:
        path: The folder, absolute.
    """

    def __init__(self, beside: Path | None = None, within: Path | None = None) -> None:
        """Makes it.

        Args:
            beside: A file or folder that will be renamed into place; its parent is where the folder is made.
            within: Folder for temporary files; the system's where none is named.

        Raises:
            ToolError: It cannot be made.
            OSError: It cannot be made beside what was named.
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
        """Removes it. A second call does nothing."""
        if self._lock >= 0:
            _empty(self.path)
            os.close(self._lock)
            self._lock = -1
        if self._note is not None:
            self._note.close()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def sweep(parent: Path | None = None) -> None:
    """Removes the folders that killed processes of this user have left.

    Args:
        parent: Where to look; the system's folder for temporary files where none is named.
    """
    if fcntl is None:
        return
    with contextlib.suppress(OSError), os.scandir(parent or tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith((PREFIX, _BESIDE_PREFIX)):
                with contextlib.suppress(OSError):
                    _sweep_one(Path(entry.path))


@functools.cache
def _sweep_once(parent: Path) -> None:
    sweep(parent)


def _made(parent: Path, prefix: str) -> tuple[Path, int]:
    """Returns a new folder, and the open lock file in it, which is -1 where nothing can be locked."""
    for _ in range(_ATTEMPTS):
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=prefix)).absolute()
        # Until it is locked the folder may be taken for one of a killed process, and be gone.
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            if _locked(lock, folder / _LOCK) is not False:
                return folder, lock
            os.close(lock)
    raise FileExistsError(0, "no folder that stays", str(parent))


def _locked(lock: int, path: Path) -> bool | None:
    """Locks an open file; False where another process has it or has removed it, None where the system cannot lock."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    try:
        return os.path.samestat(os.fstat(lock), path.lstat())
    except FileNotFoundError:
        return False


def _noted(parent: Path) -> Scratch | None:
    """Returns a folder for temporary files that leads to another place for some, so that any command looks there."""
    with contextlib.suppress(OSError, ToolError):
        note = Scratch()
        (note.path / _NOTE).write_bytes(os.fsencode(parent))
        return note
    return None


def _sweep_one(folder: Path) -> None:
    """Removes a folder unless a process has it, or another user."""
    found = folder.lstat()
    if found.st_uid != os.geteuid() or not folder.is_dir() or folder.is_symlink():
        return
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        folder.rmdir()  # made and not yet locked: its process makes another. One that holds something stays
        return
    try:
        if _locked(lock, folder / _LOCK):
            with contextlib.suppress(FileNotFoundError):
                sweep(Path(os.fsdecode((folder / _NOTE).read_bytes())))
            _empty(folder)
    finally:
        os.close(lock)


def _empty(folder: Path) -> None:
    """Removes a folder that this process has locked: the lock last, so that what remains can be removed again."""
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
    """Puts back what was moved out of the way and has nothing in its place."""
    with contextlib.suppress(FileNotFoundError):
        place = Path(os.fsdecode((folder / PLACE).read_bytes()))
        if (folder / REPLACED).exists() and not os.path.lexists(place):
            (folder / REPLACED).rename(place)

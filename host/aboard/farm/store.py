"""Keeps the results of jobs in a file, so that a command that was interrupted continues where it was.

The file has a line of JSON for each result. A line is written once for each key, and is on the disk before the next job
is recorded. A last line that a killed process left unfinished is dropped.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from aboard.base import file_lock
from aboard.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Self

_NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)


class Store:
    """Results by key. Use it in a `with` statement.

    Attributes:
        path: The file; None to keep results in memory.
        rows: The results by key.
    """

    def __init__(self, path: Path | None) -> None:
        """Opens the file, and reads what is in it.

        Args:
            path: The file, which is made if missing; None to keep results in memory.

        Raises:
            InputError: The file cannot be read or written, is not one of `aboard farm`, or another process writes it.
        """
        self.path = path
        self.rows: dict[str, Any] = {}
        self._fd = -1
        if path is None:
            return
        try:
            self._open(path)
        except OSError as error:
            self.close()
            raise InputError(f"{path}: cannot be opened, got {error.strerror}. Name another folder with -o") from error
        except InputError:
            self.close()
            raise

    def record(self, key: str, row: Any) -> bool:
        """Records a result; False if the key has one already, which stays.

        Args:
            key: The key.
            row: The result, as JSON has it.
        """
        if key in self.rows:
            return False
        self.rows[key] = row
        if self._fd >= 0:
            os.write(self._fd, f"{json.dumps({'key': key, 'row': row})}\n".encode())
            os.fsync(self._fd)
        return True

    def clear(self) -> None:
        """Drops all results."""
        self.rows.clear()
        if self._fd >= 0:
            os.ftruncate(self._fd, 0)

    def close(self) -> None:
        """Closes the file. A second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _NO_FOLLOW, 0o666)
        if file_lock.take(self._fd) is False:
            raise InputError(f"{path}: another process writes it. Wait for its end, or name another folder with -o")
        self._read(path)

    def _read(self, path: Path) -> None:
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        try:
            for line in whole.splitlines():
                entry = json.loads(line)
                self.rows.setdefault(str(entry["key"]), entry["row"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path}: not results of `aboard farm`, got a line that is none. Name another folder with -o"
            ) from error
        if content and not whole and not content.startswith(b'{"key": '):
            # A first line of ours that a killed process left unfinished begins like that.
            raise InputError(f"{path}: not results of `aboard farm`, got other text. Name another folder with -o")
        os.ftruncate(self._fd, len(whole))

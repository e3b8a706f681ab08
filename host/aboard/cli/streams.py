"""Standard input, output and error of the process: makes sure that they exist, and records a failing output."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import Any


class _Output(io.FileIO):
    """Standard output that stores the error of a failed write.

    Attributes:
        failure: The first error; None without one.
    """

    failure: OSError | None = None

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.failure = error
            raise


def prepare() -> None:
    """Makes sure that the three streams exist, and that they accept any text.

    The first opened file would get the number of a closed stream (`>&-`). So a closed stream is replaced by one that is
    empty, or that cannot be written: a lost result is then an error.
    """
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)
    raw = _Output(1, "w", closefd=False)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    # File names that are not UTF-8, and locales with few characters, must not cause an error.
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=raw.isatty()
    )
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def failure() -> OSError | None:
    """Returns why standard output could not be written; None if all writes succeeded."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, _Output) and raw.failure is not None:
        return raw.failure
    try:
        sys.stdout.flush()
    except OSError as error:
        return error
    return None


def silence() -> None:
    """Discards buffered standard output, so that the process can end without an error."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        sys.stdout.flush()

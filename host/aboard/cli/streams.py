"""Standard input, output and error of the process: all three there, and an output that cannot be written."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import Any


class _Output(io.FileIO):
    """Standard output that remembers why it could not be written.

    Attributes:
        failure: The error; None while all went well.
    """

    failure: OSError | None = None

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.failure = error
            raise


def prepare() -> None:
    """Sees to it that the three streams are there, and that any text can be written to them.

    A stream that was closed (`>&-`) would give its number to the first file that is opened. In its place stands one
    that gives nothing, or that cannot be written, so that a lost result is an error.
    """
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)
    raw = _Output(1, "w", closefd=False)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    # File names that are no UTF-8, and locales that know little, are no reason to fail.
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=raw.isatty()
    )
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def failure() -> OSError | None:
    """Returns why standard output could not be written; None where it could."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, _Output) and raw.failure is not None:
        return raw.failure
    try:
        sys.stdout.flush()
    except OSError as error:
        return error
    return None


def silence() -> None:
    """Lets what waits for standard output go nowhere, so that the process can end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        sys.stdout.flush()

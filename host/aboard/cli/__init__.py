"""The command line: one file for each command, loaded when the command is called.

`main` is the entry point. Exit codes: 0 success, 1 an error that the user can act on (one message on stderr), 2 wrong
usage, 70 a bug in aboard (traceback). A fault of the machine (a full disk, a missing right) or of a package that
extends aboard is reported as such, not as a bug in aboard. With `--json` stdout holds exactly one JSON object, after an
error too (`{"error": ...}`).
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

import click

from aboard.base import scratch
from aboard.base.extensions import TRACEBACK, plugin_error
from aboard.cli import streams
from aboard.cli.console import Console, details
from aboard.cli.group import group
from aboard.cli.os_errors import machine_error
from aboard.cli.schema_result import ErrorDetail
from aboard.errors import AboardError, CapacityError, ExtraError

__all__ = ["EXIT_BUG", "EXIT_USAGE", "EXIT_USER", "invoke", "main"]

EXIT_USER = 1
EXIT_USAGE = 2
EXIT_BUG = 70
_EXIT_INTERRUPTED = 130
_EXIT_TERMINATED = 143


def main() -> NoReturn:
    """Runs the command line of this process and ends it with the exit code."""
    streams.prepare()
    signal.signal(signal.SIGTERM, _terminate)
    scratch.sweep()
    sys.exit(invoke(sys.argv[1:]))


def invoke(arguments: Sequence[str], program: str = "aboard") -> int:
    """Runs one command line.

    Args:
        arguments: Words after `aboard`.
        program: Name of the called program, for usage messages.

    Returns:
        The exit code.
    """
    console = Console(json="--json" in arguments)
    stdout = sys.stdout
    again = shlex.join([program, *arguments])
    try:
        with details(console):
            result = group.main(args=list(arguments), prog_name=program, standalone_mode=False, obj=console)
        sys.stdout.flush()
    except SystemExit:
        if sys.stdout is stdout:
            raise
        # click ends the process and wraps standard output if any pipe has no reader, not only that of standard output.
        sys.stdout = stdout
        if streams.failure() is not None:
            return _without_reader()
        return _failed(console, "ToolError", "a program that aboard talked to has ended. Try again", EXIT_USER)
    except Exception as error:
        return _failure(console, error, again)
    except KeyboardInterrupt:
        return _failed(console, "Interrupted", "interrupted", _EXIT_INTERRUPTED)
    return result if isinstance(result, int) else 0


def _failure(console: Console, error: Exception, again: str) -> int:
    """Prints the message of an error, and returns the exit code; `again` is the command line, to be repeated."""
    unwritable = streams.failure()
    if isinstance(unwritable, BrokenPipeError):
        return _without_reader()
    if unwritable is not None:
        streams.silence()
        console.error(f"standard output: cannot be written, got {unwritable.strerror}. Send it elsewhere")
        return EXIT_USER
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.Abort):
        return _failed(console, "Interrupted", "interrupted", _EXIT_INTERRUPTED)
    if isinstance(error, click.ClickException):
        console.usage(error)
        return _failed(console, "UsageError", error.format_message(), error.exit_code, shown=True)
    known = error if isinstance(error, AboardError) else plugin_error(error) or machine_error(error)
    if known is not None:
        if os.environ.get(TRACEBACK):
            console.traceback(error)
        least = known.least_bytes if isinstance(known, CapacityError) else None
        message = f"{known}\n    {again}" if isinstance(known, ExtraError) else str(known)
        return _failed(console, type(known).__name__, message, EXIT_USER, least_bytes=least)
    # Any other exception is a bug in aboard and keeps its traceback.
    console.traceback(error)
    console.error("this is a bug in aboard, not in what you did. Please report it with the lines above")
    return _failed(console, type(error).__name__, str(error), EXIT_BUG, shown=True)


def _without_reader() -> int:
    """Ends without a message, because the reader of a pipe has gone (`aboard boards | head`)."""
    streams.silence()
    return 0


def _failed(
    console: Console, kind: str, message: str, code: int, *, shown: bool = False, least_bytes: int | None = None
) -> int:
    if not shown:
        console.error(message)
    if console.json:
        try:
            console.emit_error(ErrorDetail(kind=kind, message=message, exit_code=code, least_bytes=least_bytes))
            sys.stdout.flush()
        except OSError:
            streams.silence()
    return code


def _terminate(signum: int, frame: FrameType | None) -> NoReturn:
    """Turns SIGTERM into an exception, so that emulators are stopped and temporary folders removed."""
    del signum, frame
    raise SystemExit(_EXIT_TERMINATED)

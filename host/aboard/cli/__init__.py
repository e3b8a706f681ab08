"""The command line: one file for each command, loaded when it is called.

`main` is the entry point. Exit codes: 0 done, 1 the user can act on it (one message on stderr), 2 wrong usage, 70 our
bug (traceback). With `--json` stdout holds exactly one JSON object, after an error too (`{"error": ...}`).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

import click

from aboard.cli.console import Console
from aboard.cli.group import group
from aboard.errors import AboardError

__all__ = ["EXIT_BUG", "EXIT_USAGE", "EXIT_USER", "invoke", "main"]

EXIT_USER = 1
EXIT_USAGE = 2
EXIT_BUG = 70
_EXIT_INTERRUPTED = 130
_EXIT_TERMINATED = 143


def main() -> NoReturn:
    """Runs the command line of this process and ends it with the exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = invoke(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe went away (`aboard boards | head`): nothing is wrong, and nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def invoke(arguments: Sequence[str], program: str = "aboard") -> int:
    """Runs one command line.

    Args:
        arguments: Words after `aboard`.
        program: What was called, for usage messages.

    Returns:
        The exit code.
    """
    console = Console(json="--json" in arguments)
    try:
        result = group.main(args=list(arguments), prog_name=program, standalone_mode=False, obj=console)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        console.usage(error)
        return _failed(console, "UsageError", error.format_message(), error.exit_code)
    except AboardError as error:
        console.error(str(error))
        return _failed(console, type(error).__name__, str(error), EXIT_USER)
    except (KeyboardInterrupt, click.Abort):
        console.error("interrupted")
        return _failed(console, "Interrupted", "interrupted", _EXIT_INTERRUPTED)
    except BrokenPipeError:
        raise
    except Exception as error:
        # Whatever is not an AboardError is our bug: it keeps its traceback.
        console.traceback(error)
        console.error("this is a bug in aboard, not in what you did. Please report it with the lines above")
        return _failed(console, type(error).__name__, str(error), EXIT_BUG)


def _failed(console: Console, kind: str, message: str, code: int) -> int:
    if console.json:
        console.emit_error(kind, message, code)
    return code


def _terminate(signum: int, frame: FrameType | None) -> NoReturn:
    """Turns SIGTERM into an exception, so that emulators are stopped and temporary folders removed."""
    del signum, frame
    raise SystemExit(_EXIT_TERMINATED)

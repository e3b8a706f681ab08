"""The output of commands: results on stdout, everything else on stderr.

All output of a command passes through this file. Control characters become visible escapes (`aboard.base.printable`),
because names in a model, log lines of a device and output of tools must not drive the terminal.
"""

from __future__ import annotations

import contextlib
import enum
import io
import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import click
from pydantic import BaseModel
from rich.console import Console as RichConsole
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text
from typing_extensions import override

from aboard.base import printable, progress
from aboard.cli.schema_result import ErrorDetail, ErrorResult

#: Seconds after which a step shows what it is doing.
PROGRESS_AFTER_S = 2.0


class Verbosity(enum.IntEnum):
    """What a command prints on stderr besides errors."""

    QUIET = -1
    NORMAL = 0
    VERBOSE = 1


@dataclass
class Console:
    """The output streams of a command.

    Attributes:
        json: True if stdout has to hold one JSON object.
        verbosity: What stderr gets: errors only; also notes and, on a terminal, progress; or also each step, with its
            time, and each program that aboard starts.
    """

    json: bool = False
    verbosity: Verbosity = Verbosity.NORMAL
    _emitted: bool = False

    def emit(self, result: BaseModel, text: Callable[[], str]) -> None:
        """Prints the result of the command.

        Args:
            result: The record that `--json` prints.
            text: Returns the text that is printed without `--json`.
        """
        self._emitted = True
        if self.json:
            click.echo(_json(result))
        else:
            click.echo(printable.lines(text()))

    def emit_error(self, error: ErrorDetail) -> None:
        """Prints the JSON object of a failed command, unless stdout already holds its result."""
        if not self._emitted:
            click.echo(_json(ErrorResult(error=error)))

    def diagnostic(self, text: str) -> None:
        """Prints text on stderr."""
        _say(printable.lines(text))

    def note(self, text: str) -> None:
        """Prints a line of information on stderr, except with --quiet."""
        if self.verbosity >= Verbosity.NORMAL:
            _say(f"aboard: {printable.lines(text)}\n")

    def detail(self, text: str) -> None:
        """Prints a line of information on stderr with --verbose."""
        if self.verbosity >= Verbosity.VERBOSE:
            self.note(text)

    def error(self, message: str) -> None:
        """Prints the one message of a failed command. `NO_COLOR` (https://no-color.org) switches its colour off."""
        head = "error: " if os.environ.get("NO_COLOR") else click.style("error: ", fg="red", bold=True)
        _say(f"{head}{printable.lines(message)}\n")

    def usage(self, error: click.ClickException) -> None:
        """Prints the usage of a command, and the error in its arguments."""
        said = io.StringIO()
        error.show(said)
        _say(printable.lines(said.getvalue()))

    def traceback(self, error: BaseException) -> None:
        """Prints where an exception was raised."""
        _say(printable.lines("".join(traceback.format_exception(error))))

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Shows the current step: on a terminal while it lasts; with --verbose its begin, and its time at its end.

        On a terminal, a step of more than two seconds shows what it is doing (`aboard.base.progress`).
        """
        if self.verbosity >= Verbosity.VERBOSE:
            begin = time.monotonic()
            self.detail(text)
            yield
            self.detail(f"{text}: done in {time.monotonic() - begin:.1f} s")
        elif self._shows_progress():
            begin = time.monotonic()
            with RichConsole(stderr=True).status(Text(printable.one_line(text))) as status:

                def show(what: str) -> None:
                    if time.monotonic() - begin >= PROGRESS_AFTER_S:
                        status.update(Text(printable.one_line(f"{text}: {what}")))

                with progress.observed(show):
                    yield
        else:
            yield

    @contextmanager
    def progress(self, text: str, total: int) -> Iterator[Advance]:
        """Shows a progress bar, on a terminal only and not with --quiet.

        Yields:
            A function to call after each of the `total` pieces, with a note that stands beside the bar.
        """
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        console = RichConsole(stderr=True)
        with Progress(*columns, console=console, transient=True, disable=not self._shows_progress()) as bar:
            task = bar.add_task(printable.one_line(text), total=total)

            def advance(note: str = "") -> None:
                bar.update(task, advance=1, description=printable.one_line(f"{text} {note}".strip()))

            yield advance

    def _shows_progress(self) -> bool:
        return self.verbosity >= Verbosity.NORMAL and sys.stderr.isatty()


class Advance(Protocol):
    """Tells a progress bar that a piece is done."""

    def __call__(self, note: str = "") -> None:
        """Advances the bar; `note` stands beside its text."""


class _Details(logging.Handler):
    """Prints what modules log about their work, such as the programs that they start."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.DEBUG)
        self._console = console

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self._console.detail(record.getMessage())


@contextmanager
def details(console: Console) -> Iterator[None]:
    """Prints what the package logs, while the context lasts, if --verbose is given."""
    logger, handler, level = logging.getLogger("aboard"), _Details(console), logging.getLogger("aboard").level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def _say(text: str) -> None:
    """Prints on stderr. If stderr cannot be written, only the exit code reports the error."""
    with contextlib.suppress(OSError):
        click.echo(text, nl=False, err=True)


def _json(result: BaseModel) -> str:
    """Returns a record as JSON on one line; escapes also the control characters that JSON allows."""
    text = result.model_dump_json(by_alias=True)
    return text if text.isprintable() else "".join(c if printable.is_one_line(c) else json.dumps(c)[1:-1] for c in text)

"""The output of commands: results on stdout, everything else on stderr.

All output of a command passes through this file. Control characters become visible escapes (`aboard.base.printable`),
because names in a model, log lines of a device and output of tools must not drive the terminal.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click
from pydantic import BaseModel
from rich.console import Console as RichConsole
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from aboard.base import printable
from aboard.cli.schema import ErrorDetail, ErrorResult


@dataclass
class Console:
    """The output streams of a command.

    Attributes:
        json: True if stdout has to hold one JSON object.
    """

    json: bool = False
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
        """Prints a line of information on stderr."""
        _say(f"aboard: {printable.lines(text)}\n")

    def error(self, message: str) -> None:
        """Prints the one message of a failed command."""
        _say(click.style("error: ", fg="red", bold=True) + printable.lines(message) + "\n")

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
        """Shows the current step, on a terminal only."""
        if not sys.stderr.isatty():
            yield
            return
        with RichConsole(stderr=True).status(Text(printable.one_line(text))):
            yield

    @contextmanager
    def progress(self, text: str, total: int) -> Iterator[Callable[[], None]]:
        """Shows a progress bar, on a terminal only.

        Yields:
            A function to call after each of the `total` pieces.
        """
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        console = RichConsole(stderr=True)
        with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
            task = bar.add_task(printable.one_line(text), total=total)
            yield lambda: bar.advance(task)


def _say(text: str) -> None:
    """Prints on stderr. If stderr cannot be written, only the exit code reports the error."""
    with contextlib.suppress(OSError):
        click.echo(text, nl=False, err=True)


def _json(result: BaseModel) -> str:
    """Returns a record as JSON on one line; escapes also the control characters that JSON allows."""
    text = result.model_dump_json(by_alias=True)
    return text if text.isprintable() else "".join(c if printable.is_one_line(c) else json.dumps(c)[1:-1] for c in text)

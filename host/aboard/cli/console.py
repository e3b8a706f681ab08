"""What a command prints: results on stdout, everything else on stderr.

All that a command prints passes here, and nothing passes that drives the terminal: names in a model, log lines of a
device, words of a package or of a tool are shown with visible escapes (`aboard.base.printable`).
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
    """The two streams of a command, and whether the result is wanted as JSON.

    Attributes:
        json: True when stdout shall hold one JSON object.
    """

    json: bool = False
    _emitted: bool = False

    def emit(self, result: BaseModel, text: Callable[[], str]) -> None:
        """Prints the result of the command.

        Args:
            result: What is printed with `--json`.
            text: Returns what is printed without.
        """
        self._emitted = True
        if self.json:
            click.echo(_json(result))
        else:
            click.echo(printable.lines(text()))

    def emit_error(self, error: ErrorDetail) -> None:
        """Prints the JSON object of a command that failed, unless its result stands on stdout already."""
        if not self._emitted:
            click.echo(_json(ErrorResult(error=error)))

    def diagnostic(self, text: str) -> None:
        """Prints text on stderr, beside the result."""
        _say(printable.lines(text))

    def note(self, text: str) -> None:
        """Prints a line for the user on stderr."""
        _say(f"aboard: {printable.lines(text)}\n")

    def error(self, message: str) -> None:
        """Prints the one message of a command that failed."""
        _say(click.style("error: ", fg="red", bold=True) + printable.lines(message) + "\n")

    def usage(self, error: click.ClickException) -> None:
        """Prints how the command is used, and what was wrong with the words it was given."""
        said = io.StringIO()
        error.show(said)
        _say(printable.lines(said.getvalue()))

    def traceback(self, error: BaseException) -> None:
        """Prints where an exception was raised."""
        _say(printable.lines("".join(traceback.format_exception(error))))

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Shows what is being done, on a terminal only."""
        if not sys.stderr.isatty():
            yield
            return
        with RichConsole(stderr=True).status(Text(printable.one_line(text))):
            yield

    @contextmanager
    def progress(self, text: str, total: int) -> Iterator[Callable[[], None]]:
        """Shows a bar, on a terminal only.

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
    """Prints on stderr; where that is full or closed, the exit code still tells."""
    with contextlib.suppress(OSError):
        click.echo(text, nl=False, err=True)


def _json(result: BaseModel) -> str:
    """Returns a record as JSON on one line; JSON itself lets some characters pass that drive a terminal."""
    text = result.model_dump_json(by_alias=True)
    return text if text.isprintable() else "".join(c if printable.is_one_line(c) else json.dumps(c)[1:-1] for c in text)

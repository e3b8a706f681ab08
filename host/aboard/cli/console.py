"""What a command prints: results on stdout, everything else on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click
from pydantic import BaseModel
from rich.console import Console as RichConsole
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

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
        click.echo(result.model_dump_json(by_alias=True) if self.json else text())

    def emit_error(self, kind: str, message: str, code: int) -> None:
        """Prints the JSON object of a command that failed, unless its result stands on stdout already."""
        if not self._emitted:
            click.echo(ErrorResult(error=ErrorDetail(kind=kind, message=message, exit_code=code)).model_dump_json())

    def text(self, text: str) -> None:
        """Prints text beside the result: on stdout, or on stderr where that has to stay JSON."""
        click.echo(text, err=self.json)

    def note(self, text: str) -> None:
        """Prints a line for the user on stderr."""
        click.echo(f"aboard: {text}", err=True)

    def error(self, message: str) -> None:
        """Prints the one message of a command that failed."""
        click.echo(click.style("error: ", fg="red", bold=True) + message, err=True)

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Shows what is being done, on a terminal only."""
        if not sys.stderr.isatty():
            yield
            return
        with RichConsole(stderr=True).status(text):
            yield

    @contextmanager
    def progress(self, text: str, total: int) -> Iterator[Callable[[], None]]:
        """Shows a bar, on a terminal only.

        Yields:
            A function to call after each of the `total` pieces.
        """
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        console = RichConsole(stderr=True)
        with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
            task = bar.add_task(text, total=total)
            yield lambda: bar.advance(task)

"""The boards that commands list."""

from __future__ import annotations

from collections.abc import Iterator

from aboard import boards
from aboard.cli.console import Console
from aboard.errors import BoardError


def readable(console: Console) -> Iterator[boards.Board]:
    """Yields the boards. Reports a wrong board file on stderr and continues."""
    for name in boards.names():
        try:
            yield boards.load(name)
        except BoardError as error:
            console.note(f"left out: {error}")

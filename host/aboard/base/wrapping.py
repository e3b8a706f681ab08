"""Text in lines that fit the terminal."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

from rich.cells import cell_len

#: Columns where neither `COLUMNS` nor a terminal says otherwise.
DEFAULT_WIDTH = 80
#: A long word may continue on another line behind these characters.
_PIECE = re.compile(r"[^/_,;:.=+-]*[/_,;:.=+-]+|[^/_,;:.=+-]+")
#: Start of a path or an address.
_PLACE = re.compile(r"[^A-Za-z]*([a-z]+://|/|[A-Za-z]:\\|<)")


def columns() -> int:
    """Returns the columns of the terminal: `COLUMNS`, else those of standard output, else 80."""
    return shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns


def paragraph(text: str, indent: str = "", width: int | None = None) -> str:
    """Returns a text in lines that fit the terminal. Paths and addresses stay whole, so that they can be copied.

    Args:
        text: The text; its own line breaks stay.
        indent: Start of all lines but the first.
        width: Columns of a line; None for those of the terminal.
    """
    return "\n".join(wrapped(text, width or columns(), indent, whole_places=True))


def wrapped(text: str, width: int, indent: str = "", *, whole_places: bool = False) -> Iterator[str]:
    """Yields the lines of a text; words that are too long for a line are divided.

    Args:
        text: The text; its own line breaks stay.
        width: Columns of a line.
        indent: Start of all lines but the first.
        whole_places: True to leave paths and addresses whole, in lines that may be too long.
    """
    for source in text.split("\n"):
        line, is_empty = "", True
        for word in source.split(" "):
            joined = f"{line}{word}" if is_empty else f"{line} {word}"
            if cell_len(joined) > width and line.strip():
                yield line.rstrip()
                joined = f"{indent}{word}"
            if cell_len(joined) > width and not (whole_places and is_place(word)):
                *full, joined = _divided(joined, width)
                yield from full
            line, is_empty = joined, False
        yield line


def is_place(word: str) -> bool:
    """True for a path or an address."""
    return _PLACE.match(word) is not None


def pieces(word: str) -> list[str]:
    """Returns the pieces of a word, at most one of which has to be on each line."""
    return _PIECE.findall(word)


def _divided(word: str, width: int) -> Iterator[str]:
    """Yields a word in parts that fit a line, as few as possible."""
    line = ""
    for piece in pieces(word):
        if line and cell_len(line + piece) > width:
            yield line
            line = ""
        line += piece
        while cell_len(line) > width and len(line) > 1:
            cut = max(width, 1)
            yield line[:cut]
            line = line[cut:]
    yield line

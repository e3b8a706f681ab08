"""Plain tables and aligned facts, drawn by rich for the width of the terminal.

A table that is wider than the terminal gets narrower columns: lists of names are shortened to `qemu +2`, and text
continues on further lines. Numbers stay whole.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from aboard.base import printable
from aboard.base.manifest import label
from aboard.base.wrapping import columns, is_place, pieces, wrapped

#: Columns of text with long words get at least this width before all columns shrink.
_NARROW = 12
_SIZES = ((1 << 20, "M"), (1 << 10, "K"))


@runtime_checkable
class Shortened(Protocol):
    """The content of a cell that is shortened instead of continued on further lines."""

    def within(self, width: int) -> str:
        """Returns the text for a column; the shortest text may be wider than the column."""


@dataclass(frozen=True)
class Names:
    """A list of names in a cell: all names, or the first ones and the number of the others (`qemu +2`)."""

    names: Sequence[str]

    def __str__(self) -> str:
        return ", ".join(self.names) or "-"

    def within(self, width: int) -> str:
        """Returns as many names as fit into a number of columns, at least one."""
        for count in range(len(self.names), 0, -1):
            others = len(self.names) - count
            text = ", ".join(self.names[:count]) + (f" +{others}" if others else "")
            if count == 1 or cell_len(text) <= width:
                return text
        return str(self)


@dataclass(frozen=True)
class Label:
    """The name of a tensor or an operator in a cell (`aboard.base.manifest.label`)."""

    name: str

    def __str__(self) -> str:
        return label(self.name)

    def within(self, width: int) -> str:
        """Returns the name, or its end behind an ellipsis."""
        return label(self.name, max(min(width, len(str(self))), _NARROW))


@dataclass(frozen=True)
class _Cell:
    """A cell, which rich asks for its width and its lines.

    Attributes:
        content: The value.
        most_columns: Columns of a line; None for those of the column of the table. Paths and addresses may take more.
    """

    content: object
    most_columns: int | None = None

    @property
    def text(self) -> str:
        return printable.lines(cell(self.content))

    @property
    def least(self) -> int:
        """Columns of the narrowest column that the cell suits."""
        if isinstance(self.content, Shortened):
            return cell_len(self.content.within(0))
        return max(map(self._least_of, self.text.split()), default=0)

    @property
    def most(self) -> int:
        """Columns of the content without further line breaks."""
        return max(map(cell_len, self.text.split("\n")))

    def _least_of(self, word: str) -> int:
        if is_number(word) or (self.most_columns is not None and is_place(word)):
            return cell_len(word)
        return min(max(map(cell_len, pieces(word))), _NARROW)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(self.least, self.most).with_maximum(options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text, width = self.text, self.most_columns or options.max_width
        if isinstance(self.content, Shortened):
            text = printable.lines(self.content.within(width))
        lines = wrapped(text, width, whole_places=self.most_columns is not None)
        yield Text("\n".join(lines), overflow="fold")


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    total: Sequence[object] | None = None,
    *,
    keep: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> str:
    """Returns a table as text.

    Args:
        head: Names of the columns.
        rows: Cells; integers have thousands separators, None prints as `-`; narrow columns shorten what is `Shortened`.
        total: A last row, below a line.
        keep: Columns that get narrower only if the others cannot.
        optional: Columns that are left out if the whole table does not fit the terminal, the last one first.
    """
    listed = [*rows, *([total] if total is not None else [])]
    every = {name: [_Cell(row[index]) for row in listed] for index, name in enumerate(head)}
    for name in reversed(optional):
        if _width(every, 2) > columns():
            del every[name]
    gap = 2 if _width(every, 2) <= columns() else 1
    widths = _fitted(every, columns() - gap * (len(every) - 1), keep)
    drawn = Table.grid(padding=(0, gap, 0, 0))
    for cells, width in zip(every.values(), widths, strict=True):
        figures = cells if total is None else cells[:-1]
        numeric = bool(figures) and all(is_number(each.text) for each in figures)
        drawn.add_column(width=width, justify="right" if numeric else "left")
    rule = ["-" * width for width in widths]
    body = [[cells[index] for cells in every.values()] for index in range(len(listed))]
    lines: list[Sequence[RenderableType]] = [[_Cell(name) for name in every], rule, *body]
    if total is not None:
        lines.insert(-1, rule)
    for line in lines:
        drawn.add_row(*line)
    return render(drawn, sum(widths) + gap * (len(widths) - 1))


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Returns lines of name and value, with aligned values; pairs with None are left out."""
    listed = [(_Cell(name), value) for name, value in pairs if value is not None]
    name_width = max(name.most for name, _ in listed)
    room = max(columns() - name_width - 2, _NARROW)
    cells = [_Cell(value, most_columns=room) for _, value in listed]
    width = max(max(each.least, min(each.most, room)) for each in cells)
    drawn = Table.grid(padding=(0, 2, 0, 0))
    drawn.add_column(width=name_width)
    drawn.add_column(width=width)
    for (name, _), each in zip(listed, cells, strict=True):
        drawn.add_row(name, each)
    return render(drawn, name_width + 2 + width)


def render(drawn: Table, width: int) -> str:
    """Returns a table of rich as plain text, without spaces at the ends of lines.

    Args:
        drawn: The table.
        width: Columns that it may take.
    """
    # The table contains names of the model: [brackets] and :colons: in names are not markup.
    console = Console(
        file=io.StringIO(), width=width, color_system=None, legacy_windows=False, markup=False, emoji=False
    )
    with console.capture() as captured:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in captured.get().rstrip().splitlines())


def _limits(every: dict[str, list[_Cell]]) -> list[tuple[int, int]]:
    """Returns the narrowest width and the natural width of each column, head included."""
    cells = [[_Cell(name), *column] for name, column in every.items()]
    return [(max(each.least for each in column), max(each.most for each in column)) for column in cells]


def _width(every: dict[str, list[_Cell]], gap: int) -> int:
    return sum(most for _, most in _limits(every)) + gap * (len(every) - 1)


def _fitted(every: dict[str, list[_Cell]], room: int, keep: Sequence[str]) -> list[int]:
    """Returns the widths of columns that together fit into `room`, if that is possible with at least 1 each.

    The widest column shrinks first: among the columns that are not in `keep` down to their narrowest widths, then
    among the others, then among all.
    """
    limits = _limits(every)
    widths = [most for _, most in limits]
    kept = [name in keep for name in every]
    for least in (
        [most if held else least for (least, most), held in zip(limits, kept, strict=True)],
        [least for least, _ in limits],
        [1] * len(limits),
    ):
        for _ in range(sum(widths) - room):
            able = [index for index, width in enumerate(widths) if width > least[index]]
            if not able:
                break
            widths[max(able, key=lambda index: widths[index])] -= 1
    return widths


def cell(value: object) -> str:
    """Returns a value as text for a table."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def amount(count: int) -> str:
    """Returns a number of bytes in words: `22,604 bytes (22.1 KiB)`."""
    return f"{count:,} bytes" + (f" ({count / 1024:.1f} KiB)" if count >= 1024 else "")


def short_amount(count: int | None) -> str | None:
    """Returns a number of bytes as options take it: `512K`, `2M`; None for None."""
    if not count:
        return None if count is None else "0"
    return next((f"{count // unit}{name}" for unit, name in _SIZES if count % unit == 0), str(count))


def is_number(text: str) -> bool:
    """True for figures, which are right-aligned and stay whole: `1,024`, `-3.5`, `12 %`, `512K`, and `-` for none."""
    digits = text.removesuffix("K").removesuffix("M")
    return text == "-" or digits.replace(",", "").replace(".", "").replace("%", "").strip(" +-").isdigit()

"""Tables of an HTML page, as rows of texts."""

from __future__ import annotations

from html.parser import HTMLParser


class _Tables(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self._cell: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None:
            self.tables[-1][-1].append(" ".join(" ".join(self._cell).split()))
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)


def tables(page: str) -> list[list[list[str]]]:
    """Returns the tables of a page, the row of heads first."""
    parser = _Tables()
    parser.feed(page)
    return parser.tables


def table(page: str, head: str) -> list[dict[str, str]]:
    """Returns the rows of the table whose first column has that head, by the heads of their columns.

    Of columns with one name the last is taken.
    """
    (found,) = (rows for rows in tables(page) if rows and rows[0][0] == head)
    return [dict(zip(found[0], row, strict=True)) for row in found[1:]]

"""Tables that a narrow screen shows as cards, one for each row, so that no column is hidden."""

from __future__ import annotations

import re

#: Tables of more columns than these are cards: on phones, on tablets, and on windows that are narrower than a desk's.
_PHONE, _TABLET, _DESK = 3, 5, 9

_TABLE = re.compile(r"<table>(.*?)</table>", re.DOTALL)
_HEAD = re.compile(r"<th\b[^>]*>(.*?)</th>", re.DOTALL)
_ROW = re.compile(r"<tr[^>]*>.*?</tr>", re.DOTALL)
_CELL = re.compile(r"<(td|th)\b")


def labelled(html: str) -> str:
    """Returns a page whose wide tables have the class `cards` (`style`: report.css) and the head of each cell.

    Args:
        html: A page of this package: tables have one row of heads in `thead`, in escaped text, and no joined cells.
    """
    return _TABLE.sub(_table, html)


def _table(found: re.Match[str]) -> str:
    head, _, body = found[1].partition("</thead>")
    names = _HEAD.findall(head)
    if len(names) <= _PHONE:
        return found[0]
    kind = "wide" if len(names) > _DESK else "middle" if len(names) > _TABLET else "small"
    rows = _ROW.sub(lambda row: _row(row[0], names), body)
    return f'<table class="cards {kind}">{head}</thead>{rows}</table>'


def _row(row: str, names: list[str]) -> str:
    left = iter(names)
    return _CELL.sub(lambda cell: f'{cell[0]} data-label="{next(left)}"', row)

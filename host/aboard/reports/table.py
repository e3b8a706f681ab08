"""Plain tables: columns are as wide as needed, numbers are right-aligned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_GAP = "  "


def table(head: Sequence[str], rows: Iterable[Sequence[object]], total: Sequence[object] | None = None) -> str:
    """Returns a table as text.

    Args:
        head: Names of the columns.
        rows: Cells; integers have thousands separators, None prints as `-`.
        total: A last row, below a line.
    """
    body = [[cell(value) for value in row] for row in rows]
    numeric = [all(_is_number(row[i]) for row in body) and bool(body) for i in range(len(head))]
    last = [cell(value) for value in total] if total is not None else None
    everything = [list(head), *body, *([last] if last else [])]
    widths = [max(len(row[i]) for row in everything) for i in range(len(head))]
    rule = _GAP.join("-" * width for width in widths)
    lines = [_line(list(head), widths, numeric), rule, *(_line(row, widths, numeric) for row in body)]
    if last:
        lines += [rule, _line(last, widths, numeric)]
    return "\n".join(lines)


def cell(value: object) -> str:
    """Returns a value as text for a table."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Returns lines of name and value, with aligned values; pairs with None are left out."""
    listed = [(name, cell(value)) for name, value in pairs if value is not None]
    width = max(len(name) for name, _ in listed)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in listed)


def amount(count: int) -> str:
    """Returns a number of bytes in words: `22,604 bytes (22.1 KiB)`."""
    return f"{count:,} bytes" + (f" ({count / 1024:.1f} KiB)" if count >= 1024 else "")


def _is_number(text: str) -> bool:
    return text == "-" or text.replace(",", "").replace(".", "").replace("%", "").lstrip("+-").isdigit()


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = [
        text.rjust(width) if right else text.ljust(width)
        for text, width, right in zip(cells, widths, numeric, strict=True)
    ]
    return _GAP.join(padded).rstrip()

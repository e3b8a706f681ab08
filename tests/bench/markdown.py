"""Tables and numbers of the benchmarks' page, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Returns a Markdown table; all columns but the first `left` are aligned to the right."""
    rule = [*["---"] * left, *["---:"] * (len(head) - left)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *rows]) + "\n"


def number(value: int | None) -> str:
    """Returns a number with thousands separated; a dash for none."""
    return "-" if value is None else f"{value:,}"


def ratio(ours: int | None, theirs: int | None) -> str:
    """Returns how much of theirs ours is, with two digits; a dash where one is missing."""
    return "-" if not ours or not theirs else f"{ours / theirs:.2f}"


def with_section(page: str, begin: str, end: str, text: str) -> str:
    """Returns a page with the text between two marks replaced.

    Raises:
        ValueError: The page has not one pair of these marks.
    """
    before, rest = page.split(begin)
    _, behind = rest.split(end)
    return f"{before}{begin}\n\n{text.strip()}\n\n{end}{behind}"

"""The table of docs/trust.md, written from docs/fuzz.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "trust.md"
_BEGIN, _END = "<!-- counts: written by make fuzz-page -->", "<!-- end of counts -->"
_COLUMNS = ("cases", "compared", "refused", "failures")


def table(record: Mapping[str, Any]) -> str:
    """Returns the table of a record."""
    lines = [
        f"The last long run ended on {record['date']}:",
        "",
        "| campaign | cases | compared | refused | failures | minutes | seeds | also counted |",
        "|---|---:|---:|---:|---:|---:|---|---|",
    ]
    for one in record["campaigns"]:
        more = {key: value for key, value in one.items() if key not in ("campaign", "seeds", "seconds", *_COLUMNS)}
        words = ", ".join(f"{key.replace('_', ' ')} {value:,}" for key, value in more.items())
        counts = " | ".join(f"{one.get(key, 0):,}" for key in _COLUMNS)
        seeds = ", ".join(map(str, one["seeds"]))
        lines.append(f"| {one['campaign']} | {counts} | {one['seconds'] / 60:.1f} | {seeds} | {words} |")
    return "\n".join(lines)


def filled(text: str, record: Mapping[str, Any]) -> str:
    """Returns the page with the table of a record."""
    before, rest = text.split(_BEGIN)
    return f"{before}{_BEGIN}\n\n{table(record)}\n\n{_END}{rest.split(_END)[1]}"


def write(record: Mapping[str, Any]) -> None:
    """Writes the table into the page."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), record), encoding="utf-8")

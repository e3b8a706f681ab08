"""The table of docs/explanation/trust.md, written from docs/fuzz.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import markdown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "trust.md"
_BEGIN, _END = "<!-- counts: written by make fuzz-page -->", "<!-- end of counts -->"
_COLUMNS = ("cases", "compared", "refused", "failures")

#: What a case of each campaign is.
CASES: Mapping[str, str] = {
    "boards": "graphs",
    "elementwise": "sets of operators",
    "graphs": "graphs",
    "hostile": "calls",
    "models": "files",
    "npu_streams": "streams",
    "process": "commands",
    "wire": "frames",
    "wire_libfuzzer": "inputs",
    "wire_narrow": "frames",
}
_OF_WIRE = {
    "accepted": "requests accepted",
    "damaged": "damaged frames besides",
    "runs": "runs of models and operators",
}
_OF_MODELS = {
    "tcc": "compiled by tcc",
    "gcc": "compiled by gcc",
    "sanitized": "compiled with sanitizers",
    "ran": "run without a reference",
    "compiled": "too large to run",
}
#: What a campaign counts besides, in words; counts that are not here have words for names, such as a disturbance.
_WORDS: Mapping[str, Mapping[str, str]] = {
    "elementwise": {"results": "results compared"},
    "graphs": _OF_MODELS,
    "hostile": {"results": "calls with a result", "errors": "calls with an error"},
    "models": _OF_MODELS,
    "npu_streams": {
        "same": "the results of the unchanged stream",
        "changed": "other results",
        "command": "errors in a command",
        "bus": "outside of a region",
        "unmodelled": "not modelled",
        "room": "beyond the budget, or the room for weights",
    },
    "wire": _OF_WIRE,
    "wire_libfuzzer": {"edges": "branches reached"},
    "wire_narrow": _OF_WIRE,
}


def table(record: Mapping[str, Any]) -> str:
    """Returns the table of a record."""
    lines = [
        "The last long run of each campaign:",
        "",
        "| campaign | ended on | cases | compared | refused | failures | minutes | seeds | also counted |",
        "|---|---|---:|---:|---:|---:|---:|---|---|",
    ]
    return "\n".join(lines + [_row(one) for one in record["campaigns"]])


def _row(one: Mapping[str, Any]) -> str:
    """Returns the row of a campaign."""
    name, words = one["campaign"], _WORDS.get(one["campaign"], {})
    more = [key for key in one if key not in ("campaign", "date", "seeds", "seconds", *_COLUMNS)]
    # Counts with words first, in the order of the words; the names of errors follow what they are part of.
    more.sort(key=lambda key: list(words).index(key) if key in words else len(words))
    cases, *counts = (f"{one.get(key, 0):,}" for key in _COLUMNS)
    also = ", ".join(f"{words.get(key, key)} {one[key]:,}" for key in more)
    cells = (one["date"], f"{cases} {CASES[name]}", *counts, f"{one['seconds'] / 60:.1f}")
    return f"| {name} | {' | '.join(cells)} | {', '.join(map(str, one['seeds']))} | {also} |"


def filled(text: str, record: Mapping[str, Any]) -> str:
    """Returns the page with the table of a record."""
    return markdown.with_section(text, _BEGIN, _END, table(record))


def write(record: Mapping[str, Any]) -> None:
    """Writes the table into the page."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), record), encoding="utf-8")

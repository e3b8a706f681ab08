"""What each value of each knob costs: the kernels of a model's layers, tried whole on emulated boards.

`tuning.py` tries every point of every layer with `-opt=speed`, which sets no limit of memory, and writes
docs/tuning.json; what is there is kept, so delete the file to begin again. `tuning.py --page` writes the tables of
docs/reference/kernel_knobs.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

from aboard import boards  # noqa: E402  found through the line above
from aboard.kernels.tunable import KERNEL  # noqa: E402  likewise
from aboard.target import Target  # noqa: E402  likewise
from aboard.tuner.bench import OnBoard  # noqa: E402  likewise
from aboard.tuner.found import Found  # noqa: E402  likewise
from aboard.tuner.run import run  # noqa: E402  likewise
from aboard.tuner.search import TuningSearch  # noqa: E402  likewise
from aboard.tuner.trials import Trials, beside  # noqa: E402  likewise
from aboard.tuning.key import HOST  # noqa: E402  likewise
from bench import markdown  # noqa: E402  likewise
from support import models  # noqa: E402  likewise

RECORD = ROOT / "docs" / "tuning.json"
PAGE = ROOT / "docs" / "reference" / "kernel_knobs.md"
BEGIN, END = "<!-- knobs: written by make tuning-page -->", "<!-- end of knobs -->"
MODEL, BOARDS = "kws", ("arm/mps2_an386", "arm/mps3_an547")

Row = dict[str, Any]


def search(board: str, trials: Path | None) -> TuningSearch:
    """Returns the search of a board; what was measured is kept in `trials`."""
    target = Target(boards.load(board).target).overridden({"opt": "speed"})
    bench = OnBoard(boards.load(board))
    return TuningSearch.prepare(models.required(MODEL), target, bench, samples=1, only=[HOST], trials=Trials(trials))


def measured(board: str, trials: Path) -> Iterator[Row]:
    """Yields a row for each kind of layer of the model: every point with its instructions."""
    plan = search(board, trials)
    found = run(plan, lambda note: print(board, note, flush=True))
    for part in plan.parts:
        tried = [trial for trial in found.trials if part.workload in trial.regions or not trial.regions]
        yield {
            "model": MODEL,
            "board": board,
            "workload": part.workload,
            "layers": len(part.names),
            "points": [_point(trial.point, trial.regions[part.workload].count) for trial in tried if trial.regions],
        }
    yield _schedule(board, found)


def _point(values: Mapping[str, Any], count: int) -> Row:
    return {"values": dict(values), "instructions": count}


def _schedule(board: str, found: Found) -> Row:
    best = next(entry for entry in found.best if entry.names == ("schedule",))
    point = _point(best.record.values, best.cost.count)
    return {"model": MODEL, "board": board, "workload": best.record.workload, "layers": 1, "points": [point]}


def tables(rows: Sequence[Row]) -> str:
    """Returns a table for each board: a line for each layer, kernel and knob."""
    parts = []
    for board in dict.fromkeys(row["board"] for row in rows):
        lines = [line for row in rows if row["board"] == board and len(row["points"]) > 1 for line in _lines(row)]
        head = ("layer", "kernel", "knob", "instructions by value")
        parts.append(f"### {board}\n\n{markdown.table(head, lines, left=len(head))}")
    return "\n".join(parts)


def _lines(row: Row) -> Iterator[tuple[str, str, str, str]]:
    points = row["points"]
    kernels = dict.fromkeys(str(point["values"][KERNEL]) for point in points)
    for kernel in kernels:
        mine = [point for point in points if point["values"][KERNEL] == kernel]
        own = mine[0]
        yield _name(row), f"`{kernel}`", "(its own choice)", f"{own['instructions']:,}"
        for knob in own["values"]:
            others = [p for p in mine if all(p["values"][n] == v for n, v in own["values"].items() if n != knob)]
            if knob != KERNEL and len(others) > 1:
                yield "", "", f"`{knob}`", ", ".join(_value(point, knob, own) for point in others)


def _value(point: Row, knob: str, own: Row) -> str:
    change = 100 * (point["instructions"] / own["instructions"] - 1)
    return f"`{point['values'][knob]}` {change:+.1f} %"


def _name(row: Row) -> str:
    """Returns op and shape of a workload, with the number of layers."""
    step = row["workload"].split("; ")[-2]
    op, result = step.split(" = ")[1].split("(")[0], step.rsplit(": ", 1)[1]
    return f"{op} to {result}" + (f", {row['layers']} layers" if row["layers"] > 1 else "")


def main() -> None:
    rows: list[Row] = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else []
    if "--page" not in sys.argv:
        for board in BOARDS:
            if not any(row["board"] == board for row in rows):
                rows += measured(board, beside(RECORD))
                lines = ",\n".join(json.dumps(row) for row in rows)
                RECORD.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        beside(RECORD).unlink(missing_ok=True)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(markdown.with_section(page, BEGIN, END, tables(rows)), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Solves the public "challenging" instances of MiniMalloc at their capacity; writes the table of the planner's page.

python tests/bench/minimalloc.py           all instances; writes the table
python tests/bench/minimalloc.py A F       these; only prints

The instances (github:google/minimalloc, benchmarks/challenging) are looked for in the folder that ABOARD_MINIMALLOC
names, else in ../shared/bench/minimalloc beside the checkout. Every solution is checked by the validator, which knows
nothing of the search. Seconds are those of the processor, of one core.
"""

from __future__ import annotations

import csv
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "planner.md"
BEGIN, END = "<!-- minimalloc: written by tests/bench/minimalloc.py -->", "<!-- /minimalloc -->"
sys.path[:0] = [str(ROOT / "host"), str(ROOT / "tests")]

from aboard.errors import CapacityError, InputError  # noqa: E402  found through the line above
from aboard.memory import exact, planner  # noqa: E402  likewise
from aboard.memory.interference import InterferenceGraph  # noqa: E402  likewise
from aboard.memory.problem import LiveRange, MemoryPlan, lower_bound  # noqa: E402  likewise
from aboard.memory.validate import validate  # noqa: E402  likewise
from bench import markdown  # noqa: E402  likewise

CAPACITY = 1_048_576
BUDGET = 1_000_000


@dataclass(frozen=True)
class Row:
    """What solving an instance took.

    Attributes:
        name: The instance.
        buffers: Its buffers.
        bound: Most bytes alive at once.
        greedy: Bytes that the greedy orders need.
        peak: Bytes of the solution.
        states: States that the search looked at.
        seconds: Seconds of a processor.
    """

    name: str
    buffers: int
    bound: int
    greedy: int
    peak: int
    states: int
    seconds: float


def folder() -> Path:
    """Returns where the instances are looked for."""
    return Path(os.environ.get("ABOARD_MINIMALLOC", ROOT.parent / "shared" / "bench" / "minimalloc"))


def instances(names: Iterable[str] = "ABCDEFGHIJK") -> list[Path]:
    """Returns the files of instances that are there."""
    paths = [folder() / f"{name}.{CAPACITY}.csv" for name in names]
    return [path for path in paths if path.is_file()]


def read(path: Path) -> list[LiveRange]:
    """Returns the buffers of an instance; its lifetimes are half open."""
    with path.open(newline="") as file:
        return [
            LiveRange(row["id"], int(row["size"]), int(row["lower"]), int(row["upper"]) - 1, 1)
            for row in csv.DictReader(file)
        ]


def solve(path: Path) -> Row:
    """Solves an instance at the capacity.

    Raises:
        CapacityError: No solution was found.
    """
    live_ranges = read(path)
    begin = time.process_time()
    graph = InterferenceGraph.of(live_ranges, [])
    if graph is None:
        raise CapacityError(f"{path.name}: got {len(live_ranges)} buffers, expected fewer. Take a smaller instance")
    answer = exact.fit(graph, CAPACITY, BUDGET)
    seconds = time.process_time() - begin
    if answer.offsets is None:
        raise CapacityError(
            f"{path.name}: no plan was found, got {answer.states} states, expected one. Raise BUDGET in {__file__}"
        )
    peak = max(at + live_range.bytes for at, live_range in zip(answer.offsets, live_ranges, strict=True))
    validate(live_ranges, MemoryPlan(answer.offsets, CAPACITY, 0))
    return Row(
        name=path.name.split(".")[0],
        buffers=len(live_ranges),
        bound=lower_bound(live_ranges),
        greedy=planner.quick_peak(live_ranges, [], CAPACITY),
        peak=peak,
        states=answer.states,
        seconds=seconds,
    )


def table(rows: Sequence[Row]) -> str:
    """Returns the table as Markdown."""
    lines = [
        "| instance | buffers | most live | greedy orders | peak | states | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.name} | {r.buffers} | {r.bound:,} | {r.greedy:,} | {r.peak:,} | {r.states:,} | {r.seconds:.2f} |"
        for r in rows
    ]
    return "\n".join(lines) + "\n"


def main(names: Sequence[str]) -> int:
    """Solves instances and prints their table; writes it into the page when all are asked for."""
    wanted = list(names) or list("ABCDEFGHIJK")
    paths = instances(wanted)
    if len(paths) != len(wanted):
        raise InputError(
            f"{folder()}: instances of MiniMalloc, got {len(paths)}, expected {len(wanted)}. "
            "Set ABOARD_MINIMALLOC to benchmarks/challenging of github:google/minimalloc"
        )
    text = table([solve(path) for path in paths])
    print(text, end="")
    if not names:
        PAGE.write_text(markdown.with_section(PAGE.read_text(), BEGIN, END, text))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

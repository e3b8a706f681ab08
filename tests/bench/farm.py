"""Measures what a farm adds to the work of its jobs: the same runs by a local pool of processes, and by two workers.

    python tests/bench/farm.py [--runs 10000] [--board arm/mps2_an386] [--faults kills|stops] [--record]

Each run boots the image, runs one picture and ends the emulator. The results of both are compared. With faults, the
runs are the farm's alone, while its workers are killed, or stopped past their lease and continued; the results that are
lost, counted twice or wrong are counted. `--record` keeps the figures in docs/farm.json, one line for each kind of
faults, and writes the table of docs/tutorials/farm.md.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import aboard
from aboard.base import resources
from aboard.farm import shipping, station
from aboard.farm.jobs import Failure
from aboard.farm.station import StationSpec
from aboard.farm.submission import Shared, Step, Submission, Ticket
from bench import markdown
from support import farm as farms

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "docs" / "farm.json"
PAGE = ROOT / "docs" / "tutorials" / "farm.md"
BEGIN, END = "<!-- runs: written by make bench-farm RECORD=1 -->", "<!-- end of runs -->"
#: Without faults, workers that are killed, workers that are stopped past their lease.
KINDS = {"none": "none", "kills": "kills with -9", "stops": "stops past the lease"}

Row = dict[str, Any]

_WORKERS = 2
_WARM_UP, _BATCH = 20, 500
#: Pause between two faults, and how long a silent worker keeps its lease where workers are stopped, in seconds.
_FAULT_S, _TTL_S = 20.0, 3.0


def by_pool(pool: ProcessPoolExecutor, packed: bytes, numbers: Sequence[int]) -> dict[str, Any]:
    """Returns the results of a local pool."""
    futures = {str(n): pool.submit(farms.classify, n, 0.0, packed) for n in numbers}
    return {key: future.result() for key, future in futures.items()}


def by_farm(address: str, shared: Shared, numbers: Sequence[int], board: str) -> dict[str, Any]:
    """Returns the results of a farm."""
    found: dict[str, Any] = {}
    tickets = [Ticket(str(n), [Step(farms.classify, (n, 0.0, shared), board)]) for n in numbers]
    Submission(address, found.__setitem__).run(tickets)
    return found


def timed(run: Callable[[], dict[str, Any]]) -> tuple[float, dict[str, Any]]:
    """Returns seconds and results."""
    began = time.monotonic()
    found = run()
    return time.monotonic() - began, found


def compare(address: str, packed: bytes, runs: int, board: str) -> tuple[float, float, int]:
    """Returns the seconds of pool and farm, and the number of wrong results. They take turns, against other load."""
    pool_s = farm_s = 0.0
    wrong = 0
    shared = Shared(packed)
    with ProcessPoolExecutor(_WORKERS, initializer=station.begin, initargs=(StationSpec("emulator"),)) as pool:
        by_pool(pool, packed, range(_WARM_UP))
        by_farm(address, shared, range(_WARM_UP), board)
        for first in range(0, runs, _BATCH):
            numbers = range(first, min(first + _BATCH, runs))
            here_s, expected = timed(functools.partial(by_pool, pool, packed, numbers))
            there_s, found = timed(functools.partial(by_farm, address, shared, numbers, board))
            pool_s, farm_s = pool_s + here_s, farm_s + there_s
            wrong += expected != found
    return pool_s, farm_s, wrong


def disturbed(farm: farms.Farm, packed: bytes, runs: int, board: str, faults: str) -> tuple[int, int, int, int]:
    """Returns the numbers of faults, and of results that are lost, counted twice and wrong."""
    records: list[tuple[str, Any]] = []
    shared = Shared(packed)
    tickets = [Ticket(str(n), [Step(farms.classify, (n, 0.0, shared), board)]) for n in range(runs)]
    submission = Submission(farm.address, lambda key, result: records.append((key, result)))
    thread = threading.Thread(target=submission.run, args=(tickets,))
    thread.start()
    count = 0
    while thread.is_alive():
        thread.join(_FAULT_S)
        # A worker that is hit before it works proves nothing.
        if thread.is_alive() and len(farm.status()) == _WORKERS:
            count += 1
            print(f"{len(records):,} of {runs:,} results", file=sys.stderr)
            pid = farms.worker_pids(farm.workers[0].pid)[count % _WORKERS]
            if faults == "kills":
                os.kill(pid, signal.SIGKILL)
            else:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(2 * _TTL_S)
                os.kill(pid, signal.SIGCONT)
    found = dict(records)
    station.begin(StationSpec("emulator"))
    pictures = range(min(runs, len(farms.PICTURES)))
    labels = [farms.classify(number, 0.0, packed) for number in pictures]
    assert not any(isinstance(label, Failure) for label in labels)
    right = [label[1] for label in labels if not isinstance(label, Failure)]
    wrong = sum(found[key] != (int(key), right[int(key) % len(right)]) for key in found)
    return count, runs - len(found), len(records) - len(found), wrong


def measured(faults: str, runs: int, board: str) -> Row:
    """Returns the figures of a number of runs.

    Args:
        faults: One of `KINDS`.
        runs: Number of runs.
        board: The emulated board.
    """
    ttl_s = _TTL_S if faults == "stops" else 300.0
    row: Row = {"faults": faults, "runs": runs, "board": board, "workers": _WORKERS}
    with tempfile.TemporaryDirectory() as folder, farms.running(Path(folder), ttl_s) as farm:
        module = aboard.compile(resources.models() / "digits.tflite", board=board)
        project = aboard.create(module, board=board, path=Path(folder) / "digits")
        project.build()
        farm.worker("--emulators", str(_WORKERS), "--builds", "0")
        farm.until(lambda workers: len(workers) == _WORKERS)
        packed = shipping.pack(project)
        if faults == "none":
            pool_s, farm_s, wrong = compare(farm.address, packed, runs, board)
            return {**row, "pool_s": round(pool_s, 1), "farm_s": round(farm_s, 1), "wrong": wrong}
        began = time.monotonic()
        count, lost, twice, wrong = disturbed(farm, packed, runs, board, faults)
        seconds = round(time.monotonic() - began, 1)
    return {**row, "count": count, "farm_s": seconds, "lost": lost, "twice": twice, "wrong": wrong}


def table(rows: Sequence[Row]) -> str:
    """Returns the table of the page, or that there is no record."""
    if not rows:
        return "No run is recorded yet."
    head = ("faults", "runs", "number of faults", "farm", "local pool", "overhead", "lost", "counted twice", "wrong")
    return markdown.table(head, [_line(row) for row in rows])


def _line(row: Row) -> tuple[str, ...]:
    pool_s = row.get("pool_s")
    against = ("-", "-") if pool_s is None else (f"{pool_s:,} s", f"{100 * (row['farm_s'] / pool_s - 1):+.1f} %")
    counted = (markdown.number(row.get(name, 0)) for name in ("lost", "twice", "wrong"))
    number = markdown.number(row.get("count"))
    return (KINDS[row["faults"]], markdown.number(row["runs"]), number, f"{row['farm_s']:,} s", *against, *counted)


def recorded() -> list[Row]:
    """Returns the lines of the record."""
    return list(json.loads(RECORD.read_text(encoding="utf-8"))) if RECORD.exists() else []


def keep(row: Row) -> None:
    """Puts a line into the record, in the place of an earlier one with such faults, and writes the page."""
    rows = [each for each in recorded() if each["faults"] != row["faults"]] + [row]
    rows.sort(key=lambda each: list(KINDS).index(each["faults"]))
    RECORD.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(markdown.with_section(page, BEGIN, END, table(rows)), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--board", default="arm/mps2_an386")
    parser.add_argument("--faults", choices=KINDS, default="none")
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    row = measured(given.faults, given.runs, given.board)
    print(table([row]), end="")
    if given.record:
        keep(row)
    sys.exit("results are lost, counted twice or wrong" if any(row.get(n) for n in ("lost", "twice", "wrong")) else 0)


if __name__ == "__main__":
    main()

"""Runs campaigns, two at a time, and tells their counts.

python tests/fuzz/run.py                          all campaigns, a minute each, with a fresh seed
python tests/fuzz/run.py --seconds 600            ten minutes each; --cases N ends each after N cases
python tests/fuzz/run.py --campaigns models wire  these only
python tests/fuzz/run.py --long                   the cases of `LONG`, however long they take
python tests/fuzz/run.py --record                 also writes docs/fuzz.json and the table of docs/explanation/trust.md;
                                                  what is recorded of other campaigns stays
python tests/fuzz/run.py --page                   only writes the table again from what is recorded

A campaign is a script in this folder, found by its last lines: adding the file is all it takes. Failures are kept as
cases in `--out`; one that is understood moves to `tests/fuzz/cases`, where every test run repeats it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from fuzz import page  # noqa: E402  found through the line above

HERE = Path(__file__).resolve().parent
RECORD = ROOT / "docs" / "fuzz.json"
#: Cases of a long run; campaigns that are not named get `_LONG_SECONDS`.
LONG = {
    "models": 20_000, "graphs": 3_000, "boards": 300, "process": 120, "elementwise": 600,
    "wire": 10_000_000, "wire_narrow": 1_000_000, "hostile": 100_000, "npu_streams": 100_000,
}  # fmt: skip
_LONG_SECONDS = 1200.0
_NO_LIMIT = 1e9
#: Parts of a campaign that are run as if they were campaigns of their own, with seeds of their own.
_PARTS = {"models": 2, "graphs": 2}


@dataclass(frozen=True)
class Part:
    """A campaign, or a part of one.

    Attributes:
        name: Of the campaign.
        seed: Its seed.
        cases: Its budget, or None.
        seconds: Likewise.
    """

    name: str
    seed: int
    cases: int | None
    seconds: float

    def command(self, out: Path) -> list[str]:
        words = [sys.executable, str(HERE / f"{self.name}.py"), "--seed", str(self.seed), "--out", str(out)]
        words += ["--seconds", str(self.seconds)]
        return words if self.cases is None else [*words, "--cases", str(self.cases)]


def campaigns() -> list[str]:
    """Returns the names of all campaigns."""
    scripts = [path for path in HERE.glob("*.py") if path.name != "run.py"]
    return sorted(path.stem for path in scripts if 'if __name__ == "__main__"' in path.read_text(encoding="utf-8"))


def run(part: Part, out: Path) -> dict[str, Any]:
    """Returns the counts of a part; what it prints is passed on."""
    command = part.command(out)
    lines: list[str] = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout or ():
            lines.append(line)
            print(line, end="", flush=True)
    try:
        counts: dict[str, Any] = json.loads(lines[-1])
    except (ValueError, IndexError):
        counts = {"campaign": part.name, "seed": part.seed, "cases": 0, "failures": 1, "seconds": 0.0}
        print(f"{part.name}: ended without counts, exit code {process.returncode}", flush=True)
    if process.returncode != 0 and not counts["failures"]:
        counts["failures"] = 1
    return counts


def merged(counts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the counts of each campaign, those of its parts added up; `seeds` has one for each part."""
    found: dict[str, dict[str, Any]] = {}
    for one in counts:
        total = found.setdefault(one["campaign"], {"campaign": one["campaign"], "seeds": []})
        total["seeds"].append(one["seed"])
        for key, value in one.items():
            if isinstance(value, int | float) and key != "seed":
                total[key] = round(total.get(key, 0) + value, 1)
    return [found[name] for name in sorted(found)]


def recorded(record: Mapping[str, Any], counts: Sequence[dict[str, Any]], date: str) -> dict[str, Any]:
    """Returns a record with the counts of a run in place of those of the same campaigns.

    Args:
        record: What was recorded before.
        counts: Of the run.
        date: On which it ended.
    """
    found = {one["campaign"]: one for one in record["campaigns"]}
    found |= {one["campaign"]: {"campaign": one["campaign"], "date": date, **one} for one in counts}
    return {"campaigns": [found[name] for name in sorted(found)]}


def parts(given: argparse.Namespace) -> list[Part]:
    """Returns what is to be run, the longest first."""
    seed = secrets.randbelow(1 << 31) if given.seed is None else given.seed
    found = []
    for name in given.campaigns or campaigns():
        count = _PARTS.get(name, 1) if given.jobs > 1 else 1
        cases = LONG.get(name) if given.long else given.cases
        seconds = (_NO_LIMIT if name in LONG else _LONG_SECONDS) if given.long else given.seconds
        each = None if cases is None else -(-cases // count)
        found += [Part(name, seed + number, each, seconds) for number in range(count)]
    return sorted(found, key=lambda part: -(part.cases or 0))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--cases", type=int, default=None)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--campaigns", nargs="*", choices=campaigns(), default=None)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz")
    for flag in ("--long", "--record", "--page"):
        parser.add_argument(flag, action="store_true")
    given = parser.parse_args(argv)
    if given.page:
        page.write(json.loads(RECORD.read_text(encoding="utf-8")))
        return 0
    with ThreadPoolExecutor(given.jobs) as pool:
        counts = merged(list(pool.map(lambda part: run(part, given.out), parts(given))))
    for one in counts:
        print(json.dumps(one))
    if given.record:
        date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        record = recorded(json.loads(RECORD.read_text(encoding="utf-8")), counts, date)
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        page.write(record)
    return int(any(one["failures"] for one in counts))


if __name__ == "__main__":
    sys.exit(main())

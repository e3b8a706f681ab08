"""What every campaign has in common: its arguments, its budget, its counts, and the cases that failures become.

A campaign is a script: `tests/fuzz/<campaign>.py --seed S --cases N --seconds T --out FOLDER`. It stops at whichever
of the two budgets ends first, prints its seed at the start and one JSON line of counts at the end, and returns 1 after
any failure. `--replay CASE` repeats one case instead.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: How many cases are kept of failures of one kind, which mostly have one cause.
_KEPT = 3
#: Time between lines on standard error that tell how far a campaign is.
_TELL_SECONDS = 120.0


@dataclass(frozen=True)
class Options:
    """Arguments of a campaign.

    Attributes:
        seed: Everything a campaign draws follows from it.
        cases: Most cases.
        seconds: Most seconds, after which no case is begun.
        out: Folder for the cases that failures become.
        replay: A case to repeat instead.
        flags: Those of the campaign's own flags that are given.
    """

    seed: int
    cases: int
    seconds: float
    out: Path
    replay: Path | None = None
    flags: frozenset[str] = frozenset()


def options(description: str, argv: Sequence[str] | None = None, flags: Mapping[str, str] | None = None) -> Options:
    """Returns the arguments of a campaign; without `--seed` a fresh one is drawn.

    Args:
        description: Shown by `--help`.
        argv: Arguments; those of the process by default.
        flags: Help of each flag that only this campaign has, by its name without dashes.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, default=None, help="what is drawn follows from it; fresh by default")
    parser.add_argument("--cases", type=int, default=1 << 62, help="most cases")
    parser.add_argument("--seconds", type=float, default=60.0, help="most seconds")
    parser.add_argument("--out", type=Path, default=Path("fuzz-cases"), help="folder for failures")
    parser.add_argument("--replay", type=Path, default=None, metavar="CASE", help="repeat one case (a .json file)")
    for name, text in (flags or {}).items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    given = parser.parse_args(argv)
    seed = secrets.randbelow(1 << 32) if given.seed is None else given.seed
    chosen = frozenset(name for name in flags or {} if getattr(given, name))
    return Options(seed, given.cases, given.seconds, given.out, given.replay, chosen)


@dataclass
class Campaign:
    """One run of a campaign.

    Attributes:
        name: Of the campaign; also the name of its script.
        options: Its arguments.
        counts: `cases`, `compared`, `refused`, `failures`, and what else a campaign counts.
    """

    name: str
    options: Options
    counts: Counter[str] = field(default_factory=Counter)
    _kinds: Counter[str] = field(default_factory=Counter)
    _start: float = field(default_factory=time.monotonic)
    _told: float = 0.0

    def __post_init__(self) -> None:
        print(f"{self.name}: seed {self.options.seed}", flush=True)

    def numbers(self) -> Iterator[int]:
        """Yields the numbers of the cases, from 0, within the budget."""
        while self.within_budget():
            yield self.counts["cases"]
            self.counts["cases"] += 1

    def within_budget(self) -> bool:
        """Returns whether another case may begin; now and then tells on standard error how far the campaign is."""
        if self.elapsed() - self._told > _TELL_SECONDS:
            self._told = self.elapsed()
            print(f"{self.name}: {self._told:.0f} s: {dict(self.counts)}", file=sys.stderr, flush=True)
        return self.counts["cases"] < self.options.cases and self.elapsed() < self.options.seconds

    def elapsed(self) -> float:
        """Returns the seconds since the start."""
        return time.monotonic() - self._start

    def fail(self, kind: str, what: str) -> bool:
        """Counts a failure and returns whether it is worth a case file: the first of its kind are."""
        self.counts["failures"] += 1
        self._kinds[kind] += 1
        if self._kinds[kind] <= _KEPT:
            print(f"{self.name}: case {self.counts['cases']}: {what}", flush=True)
        return self._kinds[kind] <= _KEPT

    def keep(self, what: str, content: Mapping[str, Any], files: Mapping[str, bytes]) -> Path:
        """Writes a case: a JSON file that says what failed and how to repeat it, and files beside it.

        Args:
            what: The failure.
            content: What the campaign needs to repeat it.
            files: Content of further files by suffix, such as `.tflite`.
        """
        stem = f"{self.name}-{self.options.seed}-{self.counts['cases']}"
        self.options.out.mkdir(parents=True, exist_ok=True)
        path = self.options.out / f"{stem}.json"
        for suffix, data in files.items():
            path.with_suffix(suffix).write_bytes(data)
        record = {"campaign": self.name, "what": what, "repeat": f"python tests/fuzz/{self.name}.py --replay {path}"}
        path.write_text(json.dumps(record | dict(content), indent=1) + "\n", encoding="utf-8")
        print(f"{self.name}: kept {path}", flush=True)
        return path

    def finish(self) -> int:
        """Prints the counts as one line of JSON and returns the exit code."""
        first = {key: self.counts[key] for key in ("cases", "compared", "refused", "failures")}
        more = {key: count for key, count in sorted(self.counts.items()) if key not in first}
        line = {"campaign": self.name, "seed": self.options.seed, **first, "seconds": round(self.elapsed(), 1), **more}
        print(json.dumps(line), flush=True)
        return 1 if self.counts["failures"] else 0


def read_case(path: Path, campaign: str) -> dict[str, Any]:
    """Returns the content of a case, which must be of this campaign."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if content.get("campaign") != campaign:
        sys.exit(f"{path}: is a case of {content.get('campaign')}, expected one of {campaign}")
    return content

"""Campaigns whose scripts take other arguments: how their budgets and counts become those of all campaigns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_COUNT = re.compile(r"(\w+) (\d+)\b(?!\.)")


@dataclass(frozen=True)
class Adapted:
    """A campaign by a script with arguments of its own.

    Attributes:
        script: Its file.
        words: Arguments that choose the campaign.
        budget: Option for the number of cases; None where only seconds count.
        counted: What its last line calls cases.
    """

    script: str
    words: tuple[str, ...]
    budget: str | None
    counted: str

    def arguments(self, seed: int, cases: int | None, seconds: float, out: Path) -> list[str]:
        """Returns the arguments of the script; the number of cases counts where there is one, else the seconds."""
        words = [*self.words, "--seed", str(seed), "--cases", str(out)]
        if self.budget is not None and cases is not None:
            return [*words, self.budget, str(cases)]
        return [*words, "--seconds", str(seconds)]

    def counts(self, name: str, seed: int, lines: Sequence[str], code: int, seconds: float) -> dict[str, Any]:
        """Returns the counts that the last line tells."""
        found = {key: int(value) for key, value in _COUNT.findall(lines[-1] if lines else "")}
        failures = found.pop("failures", 0) or int(code != 0)
        cases = found.pop(self.counted, 0)
        first = {"campaign": name, "seed": seed, "cases": cases, "compared": max(cases - failures, 0), "refused": 0}
        return {**first, "failures": failures, "seconds": round(seconds, 1), **found}


ADAPTED: Mapping[str, Adapted] = {
    "wire": Adapted("wire.py", (), "--frames", "frames"),
    "wire_narrow": Adapted("wire.py", ("--engine", "narrow"), "--frames", "frames"),
    "wire_libfuzzer": Adapted("wire.py", ("--engine", "libfuzzer"), None, "inputs"),
    "hostile": Adapted("hostile.py", (), "--calls", "calls"),
}

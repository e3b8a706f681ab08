"""Measures what `-opt` is worth: prints the table of docs/explanation/performance.md, section "Size against speed".

python tests/bench/preferences.py              the benchmarks' models on m4 and m3
python tests/bench/preferences.py --cores m4   on this core only
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from bench import measure  # noqa: E402  found through the line above
from support import models  # noqa: E402  likewise

MODELS = ("kws", "vww", "ic", "ad", "sww")
OPTS = ("size", "balanced", "speed")


def measured(name: str, core: str, opt: str) -> dict[str, Any]:
    """Returns the figures of `aboard deploy --json` for a model on a core.

    Raises:
        RuntimeError: It failed.
    """
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        place = ("--board", measure.BOARDS[core], "-o", str(Path(folder) / "project"))
        code, result = measure.command("deploy", str(models.path(name)), *place, "--opt", opt)
    if code != 0:
        raise RuntimeError(f"{name} on {core}: {result['error']['message']}")
    return result


def row(name: str, core: str) -> str:
    """Returns a line of the table: instructions, flash and RAM by preference, and how they differ from the default."""
    found = {opt: measured(name, core, opt) for opt in OPTS}
    cells = []
    for key in ("instructions", "flash_bytes", "ram_bytes"):
        default = found["balanced"][key]
        for opt in OPTS:
            value = found[opt][key]
            cells.append(f"{value:,}" if opt == "balanced" else f"{value:,} ({100 * (value / default - 1):+.1f} %)")
    return f"| {name} | {core} | " + " | ".join(cells) + " |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cores", nargs="+", choices=list(measure.BOARDS), default=["m4", "m3"])
    options = parser.parse_args(arguments)
    heads = [f"{what}, {opt}" for what in ("instructions", "flash", "RAM") for opt in OPTS]
    print("| model | core | " + " | ".join(heads) + " |")
    print("|---|---|" + "---:|" * len(heads))
    for core in options.cores:
        for name in models.available(MODELS):
            print(row(name, core), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Counts what kernels execute that stand alone in an image, and estimates their cycles by the table of their core.

python tests/bench/prototypes.py FOLDER     writes tests/bench/prototypes.json, which the page of the benchmarks shows

FOLDER/results.json describes them: for each a record with `name`, `core` (m4 or m55), `macs`, and `ok` where its
results are right. FOLDER/build/<name>-<core>.elf is its image: it calls `bench_mark` before and behind the first call
of its kernel, then prints by `putu`, and ends by itself. Counted is what lies between the two marks.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from aboard import boards  # noqa: E402  found through the line above
from aboard.base import programs  # noqa: E402  likewise
from aboard.cycles import core_times, histogram, listing, plugin  # noqa: E402  likewise
from bench import measure  # noqa: E402  likewise
from bench.run import PROTOTYPES, compact  # noqa: E402  likewise

#: Where the marks of the plugin lie in an image.
_MARKS = {"align": "Reset", "ticks": "bench_mark", "end": "putu"}
_TIMEOUT_S = 300


def count(image: Path, name: str) -> dict[str, int]:
    """Returns `instructions` and `cycles` of the kernel in an image.

    Args:
        image: The ELF file.
        name: Key of `measure.BOARDS`.
    """
    board = boards.load(measure.BOARDS[name])
    qemu = board.emulator.qemu
    if qemu is None:
        raise RuntimeError(f"{image}: cannot be counted, expected a board that QEMU emulates, got {board.id}")
    emulator = programs.require(qemu.program, "Install QEMU")
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        written = Path(folder) / "counts"
        argument = plugin.argument(plugin.build(Path(folder), emulator), written, histogram.arguments(image, _MARKS))
        quiet = ["-display", "none", "-serial", "null", "-monitor", "none"]
        machine = ["-M", qemu.machine, "-icount", "shift=0", "-semihosting-config", "enable=on,target=native"]
        program = [str(emulator), *machine, *quiet, "-plugin", argument, "-kernel", str(image)]
        subprocess.run(program, check=False, capture_output=True, timeout=_TIMEOUT_S)
        first = histogram.parse(written.read_text(encoding="ascii"))[0]
    core = board.core().mcpu
    cycles = core_times.timing(core).cycles(first.counts, listing.of_image(image, core))
    return {"instructions": first.instructions, "cycles": cycles}


def main(arguments: Sequence[str] | None = None) -> int:
    """Counts all of a folder; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(arguments).folder
    rows: list[dict[str, Any]] = []
    for key, result in sorted(json.loads((folder / "results.json").read_text(encoding="utf-8")).items()):
        image = folder / "build" / f"{key}.elf"
        if result["ok"] and result["macs"] and image.is_file():
            described = {name: result[name] for name in ("name", "core", "macs")}
            rows.append({**described, **count(image, result["core"])})
            print(f"{key}: {rows[-1]['instructions']:,} instructions, {rows[-1]['cycles']:,} cycles", file=sys.stderr)
    PROTOTYPES.write_text(compact(rows) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

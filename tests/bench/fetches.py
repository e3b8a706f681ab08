"""Measures how many lines of flash kernels wait for, layer by layer, and writes the figures of `FlashTiming`'s model.

python tests/bench/fetches.py                     all models
python tests/bench/fetches.py --models kws vww    these only; the samples of the others stay
python tests/bench/fetches.py --fit               measures nothing, fits again to the samples that are there

The plugin of QEMU simulates the caches of every kind of flash interface that a SoC file describes (`fetch`), on the
board of Cortex-M4 that the costs are measured on. The samples are written to tests/bench/fetches.json, the figures to
the file of the core in host/aboard/kernels/select/data. `costs.py` has the other fields of a sample.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from aboard import boards  # noqa: E402  found through the line above
from aboard.api import Project  # noqa: E402  likewise
from aboard.boards.board import Board, FlashTiming  # noqa: E402  likewise
from bench import core_data, costs, fetch_fit, histogram, sample_models  # noqa: E402  likewise
from bench.cost_fit import Sample  # noqa: E402  likewise
from bench.run import AT_ONCE, compact  # noqa: E402  likewise

SAMPLES = ROOT / "tests" / "bench" / "fetches.json"
#: Key of `costs.CORES` of the only core whose boards state how their flash is read.
CORE = "m4"
#: Kernels that are measured beside the chosen ones: of each group the first that accepts a layer.
GROUPS = (
    ("dsp_wide_s8", "dsp_taps_s8", "dsp_one_s8"),
    ("dsp_winograd_s8",),
    ("dsp_winograd_4x4_s8",),
    ("dsp_s8",),
    ("dsp_columns_s8", "dsp_points_s8", "dsp_packed_s8", "portable_few_s8"),
    ("portable_s8",),
)
#: Value of `opt` in samples of kernels that were not chosen. They are no part of a whole model.
OTHER = "other"


@cache
def timings() -> tuple[FlashTiming, ...]:
    """Returns, for every kind of flash interface that a board has, that with the most wait states."""
    found = [timing for name in boards.names() if (timing := boards.load(name).flash_timing) is not None]
    return tuple({timing.fetch.key: timing for timing in sorted(found, key=lambda each: each.wait_states)}.values())


def with_flash(board: Board, timing: FlashTiming) -> Board:
    """Returns a board as if it read its code and constants from flash."""
    memory = tuple(m.model_copy(update={"fetch": timing.fetch}) if m.load else m for m in board.memory)
    cores = tuple(core.model_copy(update={"wait_states": timing.wait_states}) for core in board.cores)
    return board.model_copy(update={"memory": memory, "cores": cores})


def lines(project: Project) -> Mapping[int, Mapping[str, Any]]:
    """Returns, by node, the lines that it waits for and those that are read ahead, for each of `timings`."""
    found: dict[int, dict[str, Any]] = {}
    for timing in timings():
        executed = histogram.run(project, board=with_flash(project.board, timing))
        for number, counted in executed.lines.items() if executed else ():
            found.setdefault(number, {"lines": {}})["lines"][timing.fetch.key] = [counted.awaited, counted.ahead]
    return found


def update(layers: Sequence[Sample], names: Sequence[str]) -> list[Sample]:
    """Returns samples of which those of some models are measured again; writes them after each group of kernels."""
    kept = [layer for layer in layers if layer["model"] not in names]
    showing = [name for name in names if sample_models.shows_all_kernels(name)]
    for group in ((), *GROUPS):
        with sample_models.files(showing if group else names) as files, costs.preferred(group):
            found = _measured(files)
        kept += [{**layer, "opt": OTHER} for layer in found if layer["implementation"] in group] if group else found
        SAMPLES.write_text(compact(kept) + "\n", encoding="utf-8")
    return kept


def _measured(files: Sequence[Path]) -> list[Sample]:
    core = costs.CORES[CORE]
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        rows = pool.map(lambda path: costs.samples(path, CORE, "balanced", lines), files)
        return [layer for layers in rows for layer in layers if layer["core"] == core and layer.get("lines")]


def fit(layers: Sequence[Sample], timing: FlashTiming) -> dict[str, Any]:
    """Returns the errors of whole models that were left out, and `typical`: lines of a cycle."""
    core = costs.CORES[CORE]
    timed = [layer for layer in json.loads(costs.SAMPLES.read_text(encoding="utf-8")) if layer["core"] == core]
    errors = fetch_fit.model_errors(layers, timed, sample_models.LEFT_OUT, timing)
    return {**errors, "typical": fetch_fit.typical(layers, timing)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, fits, and prints the errors; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", nargs="+", metavar="MODEL", help="these only; the samples of the others stay")
    parser.add_argument("--fit", action="store_true", help="measure nothing, fit again")
    options = parser.parse_args(arguments)
    layers = json.loads(SAMPLES.read_text(encoding="utf-8")) if SAMPLES.is_file() else []
    if not options.fit:
        try:
            layers = update(layers, options.models or sample_models.known())
        except ValueError as error:
            parser.error(str(error))
    found = {timing.fetch.key: fit(layers, timing) for timing in timings()}
    rows = [row for timing in timings() for row in fetch_fit.table(layers, timing)]
    core_data.write(costs.CORES[CORE], fetch_errors=found, fetches=rows)
    for key, each in found.items():
        print(key, each)
    return 0


if __name__ == "__main__":
    sys.exit(main())

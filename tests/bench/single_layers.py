"""Measures single layers on emulated cores, and writes docs/layers.json and docs/reference/single_layers.md.

python tests/bench/single_layers.py                  the listed layers and 200 drawn ones, on all cores
python tests/bench/single_layers.py --cores m4       these only; the figures of the other cores stay
python tests/bench/single_layers.py --drawn 50 --seed 3
python tests/bench/single_layers.py --page           only writes the page again from what is recorded

The listed layers are those of tests/bench/single_layers.json, with the figures of CMSIS-NN. Drawn layers are compared
with portable C and with the nearest layer whose channels are multiples of four (`layer_limits`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from bench import layer_limits, single_layer_page  # noqa: E402  found through the line above
from bench.layer_counts import counted  # noqa: E402  likewise
from bench.layer_limits import OF_PORTABLE, Compared  # noqa: E402  likewise
from bench.run import compact  # noqa: E402  likewise
from support.single_layers import SingleLayer, drawn  # noqa: E402  likewise

PEERS = Path(__file__).with_suffix(".json")
RECORD = ROOT / "docs" / "layers.json"
PAGE = ROOT / "docs" / "reference" / "single_layers.md"

CORES = ("m3", "m4", "m55")

#: Drawn layers that are recorded by name: those that are the farthest above either limit.
_WORST = 8


def listed() -> list[Mapping[str, Any]]:
    """Returns the listed layers with the figures of CMSIS-NN."""
    found: list[Mapping[str, Any]] = json.loads(PEERS.read_text(encoding="utf-8"))["layers"]
    return found


def measured(core: str, count: int, seed: int) -> dict[str, Any]:
    """Returns the record of a core.

    Args:
        core: Key of `measure.BOARDS`.
        count: Number of drawn layers.
        seed: For the draw.
    """
    layers = counted([SingleLayer.read(row) for row in listed()], core)
    records = [{"kernel": c.kernel, "instructions": c.instructions, "cycles": c.cycles} for c in layers]
    return {"layers": records, "drawn": series(layer_limits.compared(drawn(count, seed), core), seed)}


def series(found: Sequence[Compared], seed: int) -> dict[str, Any]:
    """Returns the record of drawn layers: how many are above each limit, and the worst of each."""

    def worst(ratio: str, counted: str) -> list[dict[str, Any]]:
        ordered = sorted(found, key=lambda each: -float(getattr(each, ratio)))[:_WORST]
        return [
            {
                "ratio": round(getattr(each, ratio), 3),
                "layer": each.chosen.layer.name,
                "kernel": getattr(each, counted).kernel,
            }
            for each in ordered
        ]

    return {
        "count": len(found),
        "seed": seed,
        "above_portable": sum(each.of_portable > OF_PORTABLE for each in found),
        "above_fours": sum(each.is_cliff for each in found),
        "of_portable": worst("of_portable", "chosen"),
        "of_fours": worst("of_fours", "fastest"),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and writes; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cores", nargs="+", choices=CORES, default=CORES)
    parser.add_argument("--drawn", type=int, default=200, metavar="COUNT", help="drawn layers of each core")
    parser.add_argument("--seed", type=int, default=0, help="for the draw")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    options = parser.parse_args(arguments)
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}
    for core in () if options.page else options.cores:
        record[core] = measured(core, options.drawn, options.seed)
        record = {core: record[core] for core in CORES if core in record}
        RECORD.write_text(compact(record) + "\n", encoding="utf-8")
        print(single_layer_page.summary(core, record[core], listed()), flush=True)
    PAGE.write_text(single_layer_page.page(record, json.loads(PEERS.read_text(encoding="utf-8"))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How near `-partition=cost` comes to the best partition; writes the table of the page on targets.

python tests/bench/partition.py            200 graphs and 200 chains; writes the table
python tests/bench/partition.py 20         so many of each; only prints
python tests/bench/partition.py vww        the seconds of a processor for `vww` in this process; only prints

A graph has at most 6 nodes and two devices; every set of matches is tried by the same trials of whole models. A chain
has 12 nodes and three devices, and a price that is a sum, of which dynamic programming knows the least. The seconds for
`vww` are those of the processor (`time.process_time`), the median of five processes that have imported the kernels.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "targets.md"
BEGIN, END = "<!-- partition: written by tests/bench/partition.py -->", "<!-- /partition -->"
sys.path[:0] = [str(ROOT / "host"), str(ROOT / "tests")]

from aboard import ops  # noqa: E402  found through the line above
from aboard.importers import load  # noqa: E402  likewise
from aboard.kernels import registry  # noqa: E402  likewise
from aboard.kernels.accelerator import ClaimedRegion, Cost  # noqa: E402  likewise
from aboard.partition import pipeline  # noqa: E402  likewise
from aboard.partition.costs import choose_by_cost  # noqa: E402  likewise
from aboard.partition.partitioner import Partition  # noqa: E402  likewise
from aboard.partition.trial import CostTrial  # noqa: E402  likewise
from aboard.target import Target  # noqa: E402  likewise
from bench import markdown  # noqa: E402  likewise
from support import drawn_partitions, fake_device, models  # noqa: E402  likewise
from support.device import device  # noqa: E402  likewise

COUNT = 200
#: Number of processes that partition `vww`: in one process, the second search finds what the first one found.
PROCESSES = 5


def graph_excess(seed: int) -> float:
    """Returns how much more a drawn graph costs than with the best set of matches, as a fraction."""
    rng = np.random.default_rng(seed)
    made = drawn_partitions.graph(rng, int(rng.integers(2, 7)))
    devices = {name: drawn_partitions.drawn_device(rng) for name in ("first", "second")}
    ram_cycles = int(rng.choice([0, 1, 20]))
    found = _price(drawn_partitions.decided(made, devices, ram_cycles))
    with drawn_partitions.brute_force():
        least = _price(drawn_partitions.decided(made, devices, ram_cycles))
    return found / least - 1 if least else 0.0


def chain_excess(seed: int) -> float:
    """Returns how much more a drawn chain costs than its least price, as a fraction."""
    chain = drawn_partitions.additive_chain(np.random.default_rng(seed), 12, 3)
    totals = choose_by_cost(cast(CostTrial, chain), chain.offers(), ("a", "b", "c"), 0).totals
    return totals.chosen.price(0)[1] / chain.least() - 1


def vww_seconds() -> float:
    """Returns the seconds of a processor that the partition of `vww` takes, with a device for its products."""

    def cost(target: Target, region: ClaimedRegion) -> Cost:
        macs = sum(ops.get(node.op).macs(node) for node in region.graph.nodes)
        border = sum(tensor.type.bytes for tensor in (*region.graph.inputs, *region.graph.outputs))
        return Cost(60 + macs * 0.3, border * 4)

    registry.of("conv2d")  # Imports all kernels.
    target = "composite -host='c -mcpu=cortex-m4' -device=fake -partition=cost"
    with device(fake_device.patterns(), codegen=fake_device.codegen, runtime=fake_device.runtime, cost=cost):
        graph = load(models.required("vww"), name="vww")
        begin = time.process_time()
        pipeline.decide(graph, Target(target))
        return time.process_time() - begin


def median_seconds() -> float:
    """Returns the median of `vww_seconds` in processes of their own."""
    command = [sys.executable, str(Path(__file__)), "vww"]
    printed = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(PROCESSES)]
    return statistics.median(map(float, printed))


def _price(decided: Partition) -> float:
    if decided.totals is None:
        raise ValueError("the partition was not chosen by cost")
    return float(decided.totals.chosen.price(decided.totals.cycles_per_byte)[1])


def row(name: str, excesses: Sequence[float]) -> str:
    """Returns a line of the table."""
    best = sum(excess < 1e-9 for excess in excesses)
    return f"| {name} | {len(excesses)} | {best} | {100 * max(excesses):.2f} % |"


def main(arguments: Sequence[str]) -> int:
    """Measures, prints the table, and writes it into the page when no argument is given."""
    if list(arguments) == ["vww"]:
        print(f"{vww_seconds():.3f}")
        return 0
    count = int(arguments[0]) if arguments else COUNT
    lines = [
        "| drawn | number | the best one found | most above the best |",
        "|---|---:|---:|---:|",
        row("graphs of up to 6 nodes, 2 devices", [graph_excess(seed) for seed in range(count)]),
        row("chains of 12 nodes, 3 devices", [chain_excess(seed) for seed in range(count)]),
    ]
    seconds = f"takes {median_seconds():.1f} seconds of a processor (the median of {PROCESSES} processes)"
    text = "\n".join([*lines, "", f"The partition of `vww` {seconds}.", ""])
    print(text, end="")
    if not arguments:
        PAGE.write_text(markdown.with_section(PAGE.read_text(), BEGIN, END, text))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Measures what kernels cost, layer by layer, and writes the figures that the cost model predicts from.

python tests/bench/costs.py                     all models on all cores
python tests/bench/costs.py --cores m4 m55      these only; the samples of the others stay
python tests/bench/costs.py --models kws vww    these only; the samples of the others stay
python tests/bench/costs.py --kernels dsp_s8    these only, wherever they accept a layer; the samples of the others stay
python tests/bench/costs.py --fit               measures nothing, fits again to the samples that are there

The library cmsis-nn gets a table of its own, from the layers that the record of the benchmarks has of another system.

The samples are written to tests/bench/layers.json, the figures to host/aboard/kernels/select/data, one file per core:
instructions, counted by a plugin of QEMU, and cycles, estimated from them (`aboard.cycles`). `make bench` measures the
same models; here each is profiled operator by operator on every kind of core, and where a core has several kernels for
an operator, with those also that are not its first choice. `sample_models.py` has the models, `samples.toml` those to
which a layer shape is added, `cost_fit.py` the fit. The errors of models that were left out are printed as they were
before and as they are now.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import aboard  # noqa: E402  found through the line above
from aboard.api import Project  # noqa: E402  likewise
from aboard.cycles import core_times  # noqa: E402  likewise
from aboard.cycles.histogram import total  # noqa: E402  likewise
from aboard.errors import AboardError  # noqa: E402  likewise
from aboard.kernels.contract import Call, Implementation  # noqa: E402  likewise
from aboard.kernels.select import strategy  # noqa: E402  likewise
from aboard.kernels.select.work import Work  # noqa: E402  likewise
from aboard.schedule import cost  # noqa: E402  likewise
from bench import core_data, cost_fit, histogram, measure, sample_models  # noqa: E402  likewise
from bench.cost_fit import Sample  # noqa: E402  likewise
from bench.run import AT_ONCE, compact  # noqa: E402  likewise

SAMPLES = ROOT / "tests" / "bench" / "layers.json"
RECORD = ROOT / "docs" / "benchmarks.json"
LIBRARY = ROOT / "host" / "aboard" / "backends" / "cmsis_nn" / "instructions.json"

#: One core of each kind: those whose kernels and instruction sets are those of another core are estimated by its row.
CORES = {
    "m0": "cortex-m0",
    "m3": "cortex-m3",
    "m4": "cortex-m4",
    "m55": "cortex-m55",
    "rv32": "rv32imac",
    "rv32v": "rv32imac_zve32x_zvl128b",
}

#: What else is counted of a project: fields for the samples of its nodes, by their numbers.
Further = Callable[[Project], Mapping[int, Mapping[str, Any]]]

#: Which of a layer's kernels are measured: the four that are preferred, and the last, which serves every core.
_RANKS = (0, 1, 2, 3, -1)


def counts_of(node: Mapping[str, Any], call: Call) -> dict[str, int]:
    """Returns the work of a layer, from a node of a manifest, as the cost model does.

    Args:
        node: The node.
        call: The call that computes it.
    """
    shapes = [tuple(operand["shape"]) for operand in node["inputs"]]
    results = [tuple(result["shape"]) for result in node["outputs"]]
    done = Work.of(node["macs"], shapes, results, slow_epilogue=call.slow_epilogue, loops=call.loops)
    return {term: count for term, count in done.terms.items() if count or term != "loops"}


@contextmanager
def ranked(rank: int) -> Iterator[None]:
    """Lets every node be computed by the kernel of a rank among those that can, or by the last of them."""

    def rule(explained: strategy.Explanation) -> Implementation | None:
        able = [candidate for candidate in explained.candidates if not candidate.refused]
        return able[min(rank, len(able) - 1)].implementation if able else None

    with strategy.forced(rule):
        yield


@contextmanager
def preferred(kernels: Collection[str]) -> Iterator[None]:
    """Lets every node be computed by the first of some kernels that accepts it, or else by the strategy's choice."""

    def rule(explained: strategy.Explanation) -> Implementation | None:
        able = [each.implementation for each in explained.candidates if not each.refused]
        return next((each for each in able if each.name in kernels), None)

    with strategy.forced(rule):
        yield


def samples(model: Path, core: str, opt: str, further: Further | None = None) -> list[Sample]:
    """Returns a record for each layer of a model on a core; empty where the model does not fit or is refused."""
    board = measure.BOARDS[core]
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        try:
            module = aboard.compile(model, target=f"c -hardware={board} -opt={opt}")
            project = aboard.create(module, board=board, path=Path(folder) / "project")
            project.build()
        except AboardError as error:
            print(f"{model.name} on {core}: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
            return []
        executed = histogram.run(project)
        more = {} if further is None else further(project)
        manifest = json.loads(next(project.path.glob("models/*/manifest.json")).read_text(encoding="utf-8"))
    if executed is None:
        raise RuntimeError(
            "costs are counted by a plugin of QEMU, which cannot be built here. Install gcc and binutils"
        )
    times = core_times.timing(executed.core)
    steps, assignment = module.schedule().program.steps, module.schedule().program.assignment
    found = [
        {
            "core": CORES[core],
            "model": model.stem,
            "opt": opt,
            "op": manifest["nodes"][number]["op"],
            "implementation": manifest["nodes"][number]["implementation"],
            "function": steps[number].call.function,
            **counts_of(manifest["nodes"][number], steps[number].call),
            **({} if (growth := cost.growth(steps[number], assignment)) == 1 else {"growth": round(growth, 4)}),
            **({} if (calls := assignment.stripes_of(steps[number].node)) == 1 else {"calls": calls}),
            "instructions": total(counts),
            "cycles": times.cycles(counts, executed.listing),
            **more.get(number, {}),
        }
        for number, counts in sorted(executed.nodes.items())
    ]
    print(f"{model.name} on {core}, -opt={opt}: {len(found)} layers", file=sys.stderr, flush=True)
    return found


def measured(core: str, files: Sequence[Path]) -> list[Sample]:
    """Returns the samples of all models on a core, each once where several builds gave the same."""
    found: list[Sample] = []
    showing = [path for path in files if sample_models.shows_all_kernels(path.stem)]
    showing = showing if core in sample_models.CHOOSING else []
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        found += [layer for layers in pool.map(lambda path: samples(path, core, "balanced"), files) for layer in layers]
        for rank in _RANKS:
            with ranked(rank):
                # Portable C is slower at -O2, as -opt=balanced compiles it; what is written in assembly is not.
                for opt in ("speed", "balanced") if rank == _RANKS[-1] else ("speed",):
                    rows = list(pool.map(lambda path, opt=opt: samples(path, core, opt), showing))
                    found += [layer for layers in rows for layer in layers]
    return list({json.dumps({**layer, "opt": ""}): layer for layer in reversed(found)}.values())[::-1]


def measured_kernels(core: str, files: Sequence[Path], kernels: Collection[str]) -> list[Sample]:
    """Returns the samples of some kernels in models on a core."""
    found: list[Sample] = []
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        for kernel in kernels:
            with preferred([kernel]):
                rows = list(pool.map(lambda path: samples(path, core, "balanced"), files))
            found += [layer for layers in rows for layer in layers if layer["implementation"] == kernel]
    return found


def library() -> list[dict[str, Any]]:
    """Returns the rows of the library, from the layers that the record has of it."""
    found: list[Sample] = []
    for model, cores in json.loads(RECORD.read_text(encoding="utf-8"))["anchors"]["layers"].items():
        for core, layers in cores.items():
            found += [
                {
                    "core": CORES[core],
                    "op": layer["op"].lower().replace("_2d", "2d"),
                    "model": model,
                    "implementation": "cmsis-nn",
                    "function": "",
                    "mac": layer["macs"],
                    "element": elements(layer["op"], layer["shape"]),
                    "instructions": layer["insns"],
                }
                for layer in layers
                if layer["shape"]
            ]
    return cost_fit.table(found)


def elements(op: str, shape: str) -> int:
    """Returns the elements of a layer as `counts_of` counts them, from the words that the record describes it with.

    Args:
        op: TFLite's name of the operator.
        shape: `10x4x1->64 out 25x5`, `3x3 ch 64 mult 1 stride 1 out 25x5`, `640->128`, `8x8 in [1, 8, 8, 64]` or
            `4096 elems`.
    """
    numbers = [int(number) for number in re.findall(r"\d+", shape)]
    if op == "CONV_2D":
        return prod(numbers[-3:])
    if op == "DEPTHWISE_CONV_2D":
        return numbers[2] * numbers[3] * prod(numbers[-2:])
    if op == "AVERAGE_POOL_2D":
        return prod(numbers[-4:])
    return numbers[-1]


def update(
    layers: Sequence[Sample],
    cores: Sequence[str],
    names: Sequence[str] | None,
    kernels: Collection[str] | None = None,
) -> list[Sample]:
    """Returns samples of which those of some models on some cores are measured again.

    Args:
        layers: All samples that there are.
        cores: Keys of `CORES`.
        names: Names of models; None for all, and then samples of models that are no more are left out.
        kernels: Names of the kernels that are measured; None for all.
    """
    chosen = [CORES[core] for core in cores]

    def stays(layer: Sample) -> bool:
        other_model = names is not None and layer["model"] not in names
        other_kernel = kernels is not None and layer["implementation"] not in kernels
        return layer["core"] not in chosen or other_model or other_kernel

    found = [layer for layer in layers if stays(layer)]
    with sample_models.files(sample_models.known() if names is None else names) as files:
        for core in cores:
            found += measured(core, files) if kernels is None else measured_kernels(core, files, kernels)
    return sorted(found, key=lambda layer: list(CORES.values()).index(layer["core"]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, fits, and prints what changed; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cores", nargs="+", choices=list(CORES), default=list(CORES))
    parser.add_argument("--models", nargs="+", metavar="MODEL", help="these only; the samples of the others stay")
    parser.add_argument("--kernels", nargs="+", metavar="KERNEL", help="these only; the samples of the others stay")
    parser.add_argument("--fit", action="store_true", help="measure nothing, fit again")
    options = parser.parse_args(arguments)
    layers = json.loads(SAMPLES.read_text(encoding="utf-8")) if SAMPLES.is_file() else []
    if not options.fit:
        try:
            layers = update(layers, options.cores, options.models, options.kernels)
        except ValueError as error:
            parser.error(str(error))
        SAMPLES.write_text(compact(layers) + "\n", encoding="utf-8")
    chosen = [CORES[core] for core in options.cores]
    rows = cost_fit.table(layers, cores=chosen)
    errors = cost_fit.model_errors(layers, sample_models.LEFT_OUT, cores=chosen)
    for core in chosen:
        before = core_data.read(core)
        mine = [row for row in rows if row["core"] == core]
        core_data.write(core, cycles=core_times.timing(core).basis, kernels=mine, errors=errors[core])
        print(*core_data.changes(before, core_data.read(core)), sep="\n")
    LIBRARY.write_text(compact(library()) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures what kernels cost, layer by layer, and writes the figures that the cost model predicts from.

python tests/bench/costs.py                     all models on all cores
python tests/bench/costs.py --cores m4 m55      these only; the samples of the others stay
python tests/bench/costs.py --models kws vww    these only; the samples of the others stay
python tests/bench/costs.py --fit               measures nothing, fits again to the samples that are there

The library cmsis-nn gets a table of its own, from the layers that the record of the benchmarks has of another system.

The samples are written to tests/bench/layers.json, the figures to host/aboard/kernels/select/data, one file per core:
instructions, counted by a plugin of QEMU, and cycles, estimated from them (`cycles.py`). `make bench` measures the same
models; here each is profiled operator by operator on every kind of core, and where a core has several kernels for an
operator, with those also that are not its first choice. Small models of many operators and of many shapes are added,
for kernels that no such model uses, and drawn layers, for fits that hold beyond the benchmarks.

Errors are those of models that were left out: each model's layers are predicted from the samples of all others. The
errors of whole models, left out one by one, are written beside the figures.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import aboard  # noqa: E402  found through the line above
from aboard.errors import AboardError  # noqa: E402  likewise
from aboard.kernels.contract import Implementation  # noqa: E402  likewise
from aboard.kernels.select import measured as figures  # noqa: E402  likewise
from aboard.kernels.select import strategy  # noqa: E402  likewise
from aboard.kernels.select.cost_model import FURTHER_CALL  # noqa: E402  likewise
from aboard.kernels.select.work import TERMS, Work  # noqa: E402  likewise
from aboard.schedule import cost  # noqa: E402  likewise
from aboard.target import Target  # noqa: E402  likewise
from bench import core_data, cycles, histogram, measure  # noqa: E402  likewise
from bench.run import AT_ONCE, compact  # noqa: E402  likewise
from support import models, zoo  # noqa: E402  likewise

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
}
MODELS = (*models.INT8, models.SHIPPED, models.SHIPPED_FLOAT, *models.FLOAT, *models.HYBRID)

#: Cores that have several kernels for an operator, and models that show them all.
CHOOSING = ("m3", "m4", "m55")
SHOWING = ("kws", "vww", "sww", models.SHIPPED, "many_ops_int8", "many_shapes", "deep_shapes")

#: Models of drawn layers, which are measured with all kernels too: most channels by seed; small ones for small boards.
DRAWN = {0: 64, 1: 64, 2: 64, 3: 64, 4: 24, 5: 24, 6: 16}

#: Seeds of models of drawn operators of other kinds.
OTHERS = range(3)

#: Models whose predictions are compared with what was measured, each from the samples of all others.
LEFT_OUT = (*models.INT8, models.SHIPPED, *(f"drawn_{seed}" for seed in DRAWN), *(f"drawn_others_{n}" for n in OTHERS))

#: Which of a layer's kernels are measured: the two that are preferred, and the last, which serves every core.
_RANKS = (0, 1, -1)

#: What the layers of a fit have in common.
GROUP = ("core", "op", "implementation", "function")

#: What is fitted, and what the fields of a row of the table begin with.
MEASURES = {"instructions": "", "cycles": "cycles_"}

#: Kernels whose instructions are fitted as the savings against another kernel, over the layers measured of both: they
#: share most of their code, and separate fits would be off by more than the kernels differ.
RELATIVE = {("conv2d", "dsp_wide_s8"): "dsp_s8"}

Sample = dict[str, Any]
Groups = Mapping[tuple[str, ...], Sequence[Sample]]


def counts_of(node: Mapping[str, Any], *, slow_epilogue: bool) -> dict[str, int]:
    """Returns the work of a layer, from a node of a manifest, as the cost model does.

    Args:
        node: The node.
        slow_epilogue: Whether its kernel uses the slower of its requantisation epilogues.
    """
    shapes = [tuple(operand["shape"]) for operand in node["inputs"]]
    results = [tuple(result["shape"]) for result in node["outputs"]]
    return Work.of(node["macs"], shapes, results, slow_epilogue=slow_epilogue).terms


@contextmanager
def ranked(rank: int) -> Iterator[None]:
    """Lets every node be computed by the kernel of a rank among those that can, or by the last of them."""

    def rule(explained: strategy.Explanation) -> Implementation | None:
        able = [candidate for candidate in explained.candidates if not candidate.refused]
        return able[min(rank, len(able) - 1)].implementation if able else None

    with strategy.forced(rule):
        yield


def samples(model: Path, core: str, opt: str) -> list[Sample]:
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
        manifest = json.loads(next(project.path.glob("models/*/manifest.json")).read_text(encoding="utf-8"))
    if executed is None:
        raise RuntimeError(
            "costs are counted by a plugin of QEMU, which cannot be built here. Install gcc and binutils"
        )
    times = cycles.timing(executed.core)
    steps, assignment = module.schedule().program.steps, module.schedule().program.assignment
    found = [
        {
            "core": CORES[core],
            "model": model.stem,
            "opt": opt,
            "op": manifest["nodes"][number]["op"],
            "implementation": manifest["nodes"][number]["implementation"],
            "function": steps[number].call.function,
            **counts_of(manifest["nodes"][number], slow_epilogue=steps[number].call.slow_epilogue),
            **({} if (growth := cost.growth(steps[number], assignment)) == 1 else {"growth": round(growth, 4)}),
            **({} if (calls := assignment.stripes_of(steps[number].node)) == 1 else {"calls": calls}),
            "instructions": histogram.total(counts),
            "cycles": times.cycles(counts, executed.listing),
        }
        for number, counts in sorted(executed.nodes.items())
    ]
    print(f"{model.name} on {core}, -opt={opt}: {len(found)} layers", file=sys.stderr, flush=True)
    return found


def measured(core: str, files: Sequence[Path]) -> list[Sample]:
    """Returns the samples of all models on a core, each once where several builds gave the same."""
    found: list[Sample] = []
    showing = [path for path in files if path.stem in SHOWING or path.stem.startswith("drawn")]
    showing = showing if core in CHOOSING else []
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        found += [layer for layers in pool.map(lambda path: samples(path, core, "balanced"), files) for layer in layers]
        for rank in _RANKS:
            with ranked(rank):
                rows = pool.map(lambda path: samples(path, core, "speed"), showing)
                found += [layer for layers in rows for layer in layers]
    return list({json.dumps({**layer, "opt": ""}): layer for layer in reversed(found)}.values())[::-1]


def fit(layers: Sequence[Sample], measure: str = "instructions") -> dict[str, float]:
    """Returns the terms of what was measured, none negative; those that are 0 are left out.

    Of all sets of terms that come out positive, the one with the least squared relative error; always fewer terms than
    different layers, and no set-up above half of the smallest layer: larger ones come of layers that are all alike.

    Args:
        layers: Of an implementation on a core.
        measure: Key of `MEASURES`.
    """
    names = TERMS
    done = np.array([_work(layer) for layer in layers])
    took = np.array([max(layer[measure] - _of_further_calls(layer), 1.0) for layer in layers])
    scaled = done / took[:, None]
    different = len({tuple(row) for row in done.tolist()})
    useful = [term for term in range(len(names)) if done[:, term].any()]
    best: tuple[int, ...] = ()
    least = np.inf
    for count in range(1, min(max(different - 1, 1), len(useful)) + 1):
        for chosen, found, error in _solved(scaled, list(combinations(useful, count))):
            if chosen == (0,) and len(useful) > 1:
                continue
            setup = found[0] if chosen[0] == 0 else 0.0
            if (found >= 0).all() and setup <= took.min() / 2 and error < least * 0.99:
                best, least = chosen, error
    if not best:
        return {}
    terms = np.linalg.lstsq(scaled[:, best], np.ones(len(layers)), rcond=None)[0]
    return {names[term]: float(f"{value:.4g}") for term, value in zip(best, terms, strict=True) if value > 0}


def _solved(
    scaled: npt.NDArray[np.float64], sets: Sequence[tuple[int, ...]]
) -> Iterator[tuple[tuple[int, ...], npt.NDArray[np.float64], float]]:
    """Yields each set of columns with the factors that bring their sum nearest to 1 in every row, and what is left.

    Normal equations, all sets of a size at once: a fit tries hundreds of sets, and a table makes thousands of fits.
    """
    size = np.sqrt((scaled**2).sum(0))
    size[size == 0] = 1.0
    unit = scaled / size
    gram, right = unit.T @ unit, unit.sum(0)
    index = np.array(sets)
    squares, sums = gram[index[:, :, None], index[:, None, :]], right[index]
    factors = (np.linalg.pinv(squares, hermitian=True) @ sums[..., None])[..., 0]
    for chosen, factor in zip(sets, factors, strict=True):
        left = unit[:, chosen] @ factor - 1
        yield chosen, factor / size[list(chosen)], float(left @ left)


def _work(layer: Sample) -> list[float]:
    """Returns how often each term of `TERMS` counts in a layer."""
    return [1.0 if term == "setup" else layer.get("growth", 1.0) * layer.get(term, 0) for term in TERMS]


def _of_further_calls(layer: Sample) -> float:
    return float((layer.get("calls", 1) - 1) * FURTHER_CALL)


def predicted(terms: Mapping[str, float], layer: Sample) -> float:
    """Returns what terms give for a layer."""
    found = sum(terms.get(term, 0.0) * n for term, n in zip(TERMS, _work(layer), strict=True))
    return float(found + _of_further_calls(layer))


def fit_row(layers: Sequence[Sample], base: Sequence[Sample], measure: str) -> dict[str, float]:
    """Returns the terms of an implementation on a core, relative to another one where there is one.

    Args:
        layers: Of the implementation.
        base: Of the implementation that it is compared with; empty where there is none (`RELATIVE`).
        measure: Key of `MEASURES`.
    """
    if measure != "instructions" or not (saved := savings(layers, base)):
        return fit(layers, measure)
    terms, less = fit(base, measure), fit(saved, measure)
    found = {term: terms.get(term, 0.0) - less.get(term, 0.0) for term in TERMS}
    return {term: float(f"{value:.4g}") for term, value in found.items() if value}


def savings(layers: Sequence[Sample], base: Sequence[Sample]) -> list[Sample]:
    """Returns, of the layers that were measured of two implementations, by how many instructions the first is less."""

    def key(layer: Sample) -> tuple[Any, ...]:
        return tuple(layer.get(name) for name in ("model", "opt", *TERMS[1:-1], "calls", "growth"))

    others = {key(layer): layer for layer in base}
    pairs = [(layer, others[key(layer)]) for layer in layers if key(layer) in others]
    return [
        {**layer, "calls": 1, "instructions": other["instructions"] - layer["instructions"]}
        for layer, other in pairs
        if other["instructions"] > layer["instructions"]
    ]


def _base(key: tuple[str, ...], groups: Groups) -> Sequence[Sample]:
    """Returns the layers that a group is compared with; none where it is fitted by itself."""
    core, op, implementation, function = key
    other = RELATIVE.get((op, implementation))
    return [] if other is None else groups.get((core, op, other, function), [])


def left_out_error(layers: Sequence[Sample], measure: str, base: Sequence[Sample] = ()) -> float | None:
    """Returns the median relative error of layers that are predicted from those of other models.

    None where all layers are of one model.

    Args:
        layers: Of an implementation on a core.
        measure: Key of `MEASURES`.
        base: As in `fit_row`.
    """
    names = dict.fromkeys(layer["model"] for layer in layers)
    if len(names) < 2:
        return None
    errors = []
    for name in names:
        terms = fit_row(
            [layer for layer in layers if layer["model"] != name],
            [layer for layer in base if layer["model"] != name],
            measure,
        )
        mine = [layer for layer in layers if layer["model"] == name]
        errors += [abs(predicted(terms, layer) / max(layer[measure], 1) - 1) for layer in mine]
    return round(float(np.median(errors)), 3)


def _fit_error(terms: Mapping[str, float], layers: Sequence[Sample], measure: str) -> float:
    """Returns the median relative error of the very layers that terms were fitted to: the noise that is left."""
    errors = [abs(predicted(terms, layer) / max(layer[measure], 1) - 1) for layer in layers]
    return round(float(np.median(errors)), 3)


def _group(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns what the layers of a row of the table have in common."""
    return tuple(row[key] for key in GROUP)


def table(
    layers: Iterable[Sample], *, errors: bool = True, only: Collection[tuple[str, ...]] | None = None
) -> list[dict[str, Any]]:
    """Returns a row for each core, op, implementation and function, sorted.

    Terms that are 0, and unknown errors, are left out.

    Args:
        layers: All samples.
        errors: Whether errors are computed too, which takes seconds.
        only: Groups whose rows are wanted; None for all.
    """
    groups: dict[tuple[str, ...], list[Sample]] = {}
    for layer in layers:
        groups.setdefault(_group(layer), []).append(layer)
    rows = []
    for key in sorted(groups.keys() if only is None else groups.keys() & set(only)):
        group = groups[key]
        row: dict[str, Any] = {**dict(zip(GROUP, key, strict=True)), "layers": len(group)}
        for name, prefix in MEASURES.items():
            if all(name in layer for layer in group):
                base = _base(key, groups)
                terms = fit_row(group, base, name)
                row |= {f"{prefix}{term}": value for term, value in terms.items()}
                row |= {f"{prefix}fit": _fit_error(terms, group, name)} if errors else {}
                error = left_out_error(group, name, base) if errors else None
                row |= {} if error is None else {f"{prefix}error": error}
        rows.append(row)
    return rows


def model_errors(layers: Sequence[Sample], names: Collection[str]) -> dict[str, dict[str, Any]]:
    """Returns, by core, how far off predictions of whole models are that were left out of the fit.

    `instructions`, `cycles` and `rate` (cycles of an instruction): the relative error in the median and at most.

    Args:
        layers: All samples.
        names: The models that are left out, one after the other.
    """
    whole = table(layers, errors=False)
    found: dict[str, dict[str, Any]] = {}
    for core in dict.fromkeys(layer["core"] for layer in layers):
        errors: dict[str, list[float]] = {"instructions": [], "cycles": [], "rate": []}
        for name in names:
            mine = [layer for layer in layers if (layer["core"], layer["model"]) == (core, name)]
            if not mine:
                continue
            rows = [figures.KernelMeasurement.read(row) for row in _without(name, mine, layers, whole)]
            ratios = {
                key: _ratio(rows, [layer for layer in mine if layer["opt"] == "balanced"], key) for key in MEASURES
            }
            ratios["rate"] = ratios["cycles"] / ratios["instructions"]
            for key, ratio in ratios.items():
                errors[key].append(abs(ratio - 1))
        spread = {
            key: {"median": round(float(np.median(each)), 3), "most": round(max(each), 3)}
            for key, each in errors.items()
        }
        found[core] = {"models": len(errors["rate"]), **spread}
    return found


def _without(
    name: str, mine: Sequence[Sample], layers: Sequence[Sample], whole: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Returns the rows of the table as they would be without a model's layers of one core."""
    touched = {_group(layer) for layer in mine}
    left = [layer for layer in layers if layer["model"] != name and layer["core"] == mine[0]["core"]]
    return [row for row in whole if _group(row) not in touched] + table(left, errors=False, only=touched)


def _ratio(rows: Sequence[figures.KernelMeasurement], layers: Sequence[Sample], measure: str) -> float:
    """Returns what rows predict for layers, as a share of what was measured."""
    total = 0.0
    for layer in layers:
        cores = figures.nearest(Target(f"c -mcpu={layer['core']}"), is_float=layer["implementation"].endswith("f32"))
        near = figures.by_likeness(rows, cores, layer["op"], layer["implementation"], layer["function"])
        total += predicted(getattr(near[0], measure), layer) if near else layer[measure]
    return total / sum(layer[measure] for layer in layers)


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
    return table(found)


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and fits; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cores", nargs="+", choices=list(CORES), default=list(CORES))
    parser.add_argument("--models", nargs="+", metavar="MODEL", help="these only; the samples of the others stay")
    parser.add_argument("--fit", action="store_true", help="measure nothing, fit again")
    options = parser.parse_args(arguments)
    layers = json.loads(SAMPLES.read_text(encoding="utf-8")) if SAMPLES.is_file() else []
    if not options.fit:
        chosen = [CORES[core] for core in options.cores]
        layers = [
            layer
            for layer in layers
            if layer["core"] not in chosen or (options.models is not None and layer["model"] not in options.models)
        ]
        with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
            files = [path for name in models.available(MODELS) if (path := models.path(name)) is not None]
            made = {f"many_ops_{dtype.__name__}": zoo.many_ops(dtype) for dtype in (np.int8, np.float32)}
            made |= {"many_shapes": zoo.many_shapes(), "deep_shapes": zoo.many_shapes(zoo.DEEP)}
            made |= {f"drawn_others_{seed}": zoo.drawn_others(seed) for seed in OTHERS}
            made |= {f"drawn_{seed}": zoo.drawn_layers(seed, most=most) for seed, most in DRAWN.items()}
            for name, data in made.items():
                files.append(Path(folder) / f"{name}.tflite")
                files[-1].write_bytes(data)
            files = [path for path in files if options.models is None or path.stem in options.models]
            layers += [layer for core in options.cores for layer in measured(core, files)]
        layers.sort(key=lambda layer: list(CORES.values()).index(layer["core"]))
        SAMPLES.write_text(compact(layers) + "\n", encoding="utf-8")
    rows, errors = table(layers), model_errors(layers, LEFT_OUT)
    for core in CORES.values():
        core_data.write(core, kernels=[row for row in rows if row["core"] == core], errors=errors[core])
    LIBRARY.write_text(compact(library()) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures what kernels cost, layer by layer, and writes the table that estimates are made from.

python tests/bench/costs.py                     all models on all cores
python tests/bench/costs.py --cores m4 m55      these only; the samples of the others stay
python tests/bench/costs.py --fit               measures nothing, fits again to the samples that are there

The library cmsis-nn gets a table of its own, from the layers that the record of the benchmarks has of another system.

The samples are written to tests/bench/layers.json, the table to host/aboard/kernels/instructions.json. `make bench`
measures the same models; here each is profiled operator by operator on every kind of core. A small model of many
operators is added, for kernels that no such model uses.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from bench import measure  # noqa: E402  found through the line above
from bench.run import compact  # noqa: E402  likewise
from support import models, zoo  # noqa: E402  likewise

SAMPLES = ROOT / "tests" / "bench" / "layers.json"
RECORD = ROOT / "docs" / "benchmarks.json"
LIBRARY = ROOT / "host" / "aboard" / "backends" / "cmsis_nn" / "instructions.json"
TABLE = ROOT / "host" / "aboard" / "kernels" / "instructions.json"

#: One core of each kind: those whose kernels and instruction sets are those of another core are estimated by its row.
CORES = {
    "m0": "cortex-m0",
    "m3": "cortex-m3",
    "m4": "cortex-m4",
    "m55": "cortex-m55",
    "rv32": "rv32imac",
}
MODELS = (*models.INT8, models.SHIPPED, models.SHIPPED_FLOAT, *models.FLOAT, *models.HYBRID)

#: What the cost of a layer is made of, in this order; `work` says how they are counted.
TERMS = ("setup", "mac", "element")

Sample = dict[str, Any]


def work(node: Mapping[str, Any]) -> tuple[int, int]:
    """Returns multiply-accumulates and elements of a node of a manifest, as `aboard.kernels.estimate` counts them."""
    read = sum(prod(operand["shape"]) for operand in node["inputs"])
    written = sum(prod(result["shape"]) for result in node["outputs"])
    return node["macs"], written if node["macs"] else max(read, written)


def samples(model: Path, core: str) -> list[Sample]:
    """Returns a record for each layer of a model on a core; empty where the model does not fit or is refused."""
    with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
        project = Path(folder) / "project"
        code, result = measure.command(
            "deploy", str(model), "--board", measure.BOARDS[core], "-o", str(project), "--profile"
        )
        if code != 0:
            print(f"{model.name} on {core}: {result['error']['message'].splitlines()[0]}", file=sys.stderr, flush=True)
            return []
        manifest = json.loads(next(project.glob("models/*/manifest.json")).read_text(encoding="utf-8"))
    found = []
    for row in result["profile"]:
        node = manifest["nodes"][row["node"]]
        macs, elements = work(node)
        found.append(
            {
                "core": CORES[core],
                "model": model.stem,
                "op": node["op"],
                "implementation": node["implementation"],
                "macs": macs,
                "elements": elements,
                "instructions": row["instructions"],
            }
        )
    print(f"{model.name} on {core}: {len(found)} layers", file=sys.stderr, flush=True)
    return found


def fit(layers: Sequence[Sample]) -> dict[str, Any]:
    """Returns instructions = setup + mac * macs + element * elements, no term negative, with its error.

    Of all sets of terms that come out positive, the one with the least squared relative error; never more terms than
    different layers, and no set-up above half of the smallest layer: larger ones come of layers that are all alike.
    """
    work_done = np.array([[1.0, layer["macs"], layer["elements"]] for layer in layers])
    measured = np.array([float(max(layer["instructions"], 1)) for layer in layers])
    scaled = work_done / measured[:, None]
    different = len({(layer["macs"], layer["elements"]) for layer in layers})
    useful = [term for term in range(len(TERMS)) if work_done[:, term].any()]
    best, least = np.zeros(len(TERMS)), np.inf
    for count in range(1, min(different, len(useful)) + 1):
        for chosen in combinations(useful, count):
            if chosen == (0,) and len(useful) > 1:
                continue
            found = np.linalg.lstsq(scaled[:, chosen], np.ones(len(layers)), rcond=None)[0]
            error = float(np.sum((scaled[:, chosen] @ found - 1) ** 2))
            setup = found[0] if chosen[0] == 0 else 0.0
            if (found >= 0).all() and setup <= measured.min() / 2 and error < least * 0.99:
                best, least = np.zeros(len(TERMS)), error
                best[list(chosen)] = found
    errors = np.abs(scaled @ best - 1)
    terms = {name: float(f"{value:.4g}") for name, value in zip(TERMS, best, strict=True)}
    return {**terms, "layers": len(layers), "error": round(float(np.median(errors)), 3)}


def table(layers: Iterable[Sample]) -> list[dict[str, Any]]:
    """Returns a row for each core, op and implementation, sorted."""
    groups: dict[tuple[str, str, str], list[Sample]] = {}
    for layer in layers:
        groups.setdefault((layer["core"], layer["op"], layer["implementation"]), []).append(layer)
    return [
        {"core": core, "op": op, "implementation": implementation, **fit(groups[core, op, implementation])}
        for core, op, implementation in sorted(groups)
    ]


def library() -> list[dict[str, Any]]:
    """Returns the rows of the library, from the layers that the record has of it."""
    found: list[Sample] = []
    for cores in json.loads(RECORD.read_text(encoding="utf-8"))["anchors"]["layers"].values():
        for core, layers in cores.items():
            found += [
                {
                    "core": CORES[core],
                    "op": layer["op"].lower().replace("_2d", "2d"),
                    "implementation": "cmsis-nn",
                    "macs": layer["macs"],
                    "elements": elements(layer["op"], layer["shape"]),
                    "instructions": layer["insns"],
                }
                for layer in layers
                if layer["shape"]
            ]
    return table(found)


def elements(op: str, shape: str) -> int:
    """Returns the elements of a layer as `work` counts them, from the words that the record describes it with.

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
    parser.add_argument("--fit", action="store_true", help="measure nothing, fit again")
    options = parser.parse_args(arguments)
    layers = json.loads(SAMPLES.read_text(encoding="utf-8")) if SAMPLES.is_file() else []
    if not options.fit:
        measured = [CORES[core] for core in options.cores]
        layers = [layer for layer in layers if layer["core"] not in measured]
        with tempfile.TemporaryDirectory(prefix="aboard-bench-") as folder:
            files = [path for name in models.available(MODELS) if (path := models.path(name)) is not None]
            for dtype in (np.int8, np.float32):
                files.append(Path(folder) / f"many_ops_{dtype.__name__}.tflite")
                files[-1].write_bytes(zoo.many_ops(dtype))
            layers += [layer for core in options.cores for path in files for layer in samples(path, core)]
        SAMPLES.write_text(compact(layers) + "\n", encoding="utf-8")
    TABLE.write_text(compact(table(layers)) + "\n", encoding="utf-8")
    LIBRARY.write_text(compact(library()) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

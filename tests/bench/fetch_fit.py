"""Fits the lines of flash that kernels wait for to samples (`fetches.py`), as `cost_fit` does instructions.

Errors are those of models that were left out. They count in cycles of the layer or the model: lines that cost little
beside the instructions may be wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from aboard.boards.board import FlashTiming
from aboard.boards.memory_records import Lines
from aboard.kernels.select import measured as figures
from aboard.kernels.select.work import TERMS
from bench import cost_fit
from bench.cost_fit import GROUP, Sample

#: Key of a group of layers: op, implementation, function.
KERNEL = GROUP[1:]

#: Least number of layers of a fit. Kernels with fewer wait as others of their op: two layers of 50 products tell
#: nothing of one of 80,000.
_LEAST = 4


def of(layers: Iterable[Sample], timing: FlashTiming) -> list[Sample]:
    """Returns the samples of a kind of flash, with `awaited`, `ahead`, and the cycles of both as `waited`."""
    found = []
    for layer in layers:
        if timing.fetch.key in layer["lines"]:
            lines = Lines(*layer["lines"][timing.fetch.key])
            found.append({**layer, **lines._asdict(), "waited": timing.cycles(lines)})
    return found


def row(layers: Sequence[Sample]) -> dict[str, dict[str, float]]:
    """Returns the terms of both kinds of lines of a kernel."""
    return {kind: cost_fit.fit(layers, kind, scale="cycles") for kind in Lines._fields}


def waited(terms: Mapping[str, Mapping[str, float]], layer: Sample, timing: FlashTiming) -> int:
    """Returns the cycles that terms give for a layer."""
    work = dict(zip(TERMS, cost_fit.work_of(layer), strict=True))
    return timing.cycles(Lines(*(sum(n * work[term] for term, n in terms[kind].items()) for kind in Lines._fields)))


def table(layers: Sequence[Sample], timing: FlashTiming) -> list[dict[str, Any]]:
    """Returns a row for each kernel, with the median error of layers of models left out, in cycles of the layer."""
    mine, rows = of(layers, timing), []
    others = {name: _Others(mine, name, timing) for name in {layer["model"] for layer in mine}}
    for kernel, group in sorted(_groups(mine).items()):
        if len(group) < _LEAST:
            continue
        off = [abs(others[layer["model"]].waited(layer) - layer["waited"]) for layer in group]
        errors = [each / (layer["cycles"] + layer["waited"]) for each, layer in zip(off, group, strict=True)]
        head = {"fetch": timing.fetch.key, **dict(zip(KERNEL, kernel, strict=True)), "layers": len(group)}
        rows.append({**head, **row(group), "error": round(float(np.median(errors)), 3)})
    return rows


def typical(layers: Sequence[Sample], timing: FlashTiming) -> dict[str, list[float]]:
    """Returns by op the median lines of a cycle, awaited and read ahead, for kernels that were not measured.

    The key "" is for ops without a measured kernel.
    """
    mine = of(layers, timing)
    by_op = {op: [layer for layer in mine if op in ("", layer["op"])] for op in ["", *sorted({m["op"] for m in mine})]}
    return {
        op: [_median(layer[kind] / layer["cycles"] for layer in each) for kind in Lines._fields]
        for op, each in by_op.items()
    }


def model_errors(
    layers: Sequence[Sample], costs: Sequence[Sample], names: Collection[str], timing: FlashTiming
) -> dict[str, Any]:
    """Returns how far off predictions of whole models are that were left out of both fits.

    Args:
        layers: All samples of lines.
        costs: Samples of the core's cycles, of which those of the model are left out too (`costs.py`).
        names: The models that are left out, one after the other.
        timing: The flash.

    Returns:
        Number of models, wait states, and as median and most: `waited`, the error of the waits as a share of all
        cycles; the error of all cycles; and that of cycles for each instruction.
    """
    mine, whole = of(layers, timing), cost_fit.table(costs, errors=False)
    off: dict[str, list[float]] = {"waited": [], "cycles": [], "rate": []}
    for name in names:
        chosen = [layer for layer in mine if layer["model"] == name and layer["opt"] == "balanced"]
        if not chosen:
            continue
        rows = [figures.KernelMeasurement.read(r) for r in cost_fit.without(name, chosen, costs, whole)]
        guess = sum(map(_Others(mine, name, timing).waited, chosen))
        true = {key: sum(layer[key] for layer in chosen) for key in ("instructions", "cycles", "waited")}
        ratio = {key: cost_fit.ratio(rows, chosen, key) for key in ("instructions", "cycles")}
        cycles = (ratio["cycles"] * true["cycles"] + guess) / (true["cycles"] + true["waited"])
        off["waited"].append(abs(guess - true["waited"]) / (true["cycles"] + true["waited"]))
        off["cycles"].append(abs(cycles - 1))
        off["rate"].append(abs(cycles / ratio["instructions"] - 1))
    spread = {key: {"median": round(float(np.median(e)), 3), "most": round(max(e), 3)} for key, e in off.items()}
    return {"models": len(off["rate"]), "wait_states": timing.wait_states, **spread}


class _Others:
    """Predicts layers of a model from the samples of all other models."""

    def __init__(self, layers: Sequence[Sample], name: str, timing: FlashTiming) -> None:
        left = [layer for layer in layers if layer["model"] != name]
        self._timing, self._groups, self._rates = timing, _groups(left), typical(left, timing)
        self._rows: dict[tuple[str, ...], Mapping[str, Mapping[str, float]]] = {}

    def waited(self, layer: Sample) -> int:
        """Returns the cycles that a layer is predicted to wait."""
        kernel = tuple(layer[key] for key in KERNEL)
        group = self._groups.get(kernel, [])
        if len(group) >= _LEAST:
            if kernel not in self._rows:
                self._rows[kernel] = row(group)
            return waited(self._rows[kernel], layer, self._timing)
        rates = self._rates.get(layer["op"], self._rates[""])
        return self._timing.cycles(Lines(*(layer["cycles"] * rate for rate in rates)))


def _median(values: Iterable[float]) -> float:
    return float(f"{np.median(list(values)):.4g}")


def _groups(layers: Iterable[Sample]) -> dict[tuple[str, ...], list[Sample]]:
    groups: dict[tuple[str, ...], list[Sample]] = {}
    for layer in layers:
        groups.setdefault(tuple(layer[key] for key in KERNEL), []).append(layer)
    return groups

"""Fits the figures of the cost model to samples: layers whose instructions and cycles were counted (`costs.py`).

Errors are those of models that were left out: each model's layers are predicted from the samples of all others. The
errors of whole models, left out one by one, are written beside the figures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from aboard.kernels.select import measured as figures
from aboard.kernels.select.cost_model import FURTHER_CALL
from aboard.kernels.select.work import TERMS
from aboard.target import Target

#: What the layers of a fit have in common.
GROUP = ("core", "op", "implementation", "function")

#: What is fitted, and what the fields of a row of the table begin with.
MEASURES = {"instructions": "", "cycles": "cycles_"}

#: Kernels whose costs are fitted as the savings against another kernel, over the layers measured of both: they
#: share most of their code, and separate fits would be off by more than the kernels differ.
RELATIVE = {("conv2d", "dsp_wide_s8"): "dsp_s8"}

#: Different layers from which on kernels that count their loops have other terms too: fewer fit other terms by chance.
_ENOUGH = 4

#: Terms that the shapes of a layer alone determine.
_OF_SHAPES = [term for term in TERMS if term not in ("setup", "rounded", "loops")]

Sample = dict[str, Any]
Groups = Mapping[tuple[str, ...], Sequence[Sample]]


def fit(layers: Sequence[Sample], measure: str = "instructions", scale: str | None = None) -> dict[str, float]:
    """Returns the terms of what was measured, none negative; those that are 0 are left out.

    Of all sets of terms that come out positive, the one with the least squared relative error; always fewer terms than
    different layers, and no set-up above half of the smallest layer: larger ones come of layers that are all alike.

    Args:
        layers: Of an implementation on a core.
        measure: Key of `MEASURES`, or with a scale of any field.
        scale: Field whose share an error counts, for measures that may be 0; None for the measure itself. Set-up then
            has no limit.
    """
    rows = tuple(tuple(work_of(layer)) for layer in layers)
    if scale is not None:
        found, scales = ([float(layer[key]) for layer in layers] for key in (measure, scale))
        return dict(_fit(rows, tuple(found), tuple(scales)))
    return dict(_fit(rows, tuple(max(layer[measure] - _of_further_calls(layer), 1.0) for layer in layers)))


@cache
def _fit(
    rows: tuple[tuple[float, ...], ...], times: tuple[float, ...], scales: tuple[float, ...] | None = None
) -> Mapping[str, float]:
    """Returns the terms of `fit`. The errors of rows and those of whole models leave the same layers out.

    Args:
        rows: How often each term counts in each layer.
        times: What was measured of each layer.
        scales: What errors are relative to; None for the times.
    """
    names = TERMS
    done, took = np.array(rows), np.array(times)
    scale = took if scales is None else np.array(scales)
    most = took.min() / 2 if scales is None else np.inf
    scaled, target = done / scale[:, None], took / scale
    different = len({tuple(row) for row in done.tolist()})
    useful = [term for term in range(len(names)) if done[:, term].any()]
    if different < _ENOUGH and names.index("loops") in useful:
        useful = [names.index("loops")]
    best: tuple[int, ...] = ()
    least = np.inf
    for count in range(1, min(max(different - 1, 1), len(useful)) + 1):
        sets = list(combinations(useful, count))
        factors, errors = _solved(scaled, target, sets)
        setup = [factor[0] if chosen[0] == 0 else 0.0 for chosen, factor in zip(sets, factors, strict=True)]
        for number in np.flatnonzero((factors >= 0).all(1) & (np.array(setup) <= most)):
            if sets[number] == (0,) and len(useful) > 1:
                continue
            if errors[number] < least * 0.99:
                best, least = sets[number], errors[number]
    if not best:
        return {}
    terms = np.linalg.lstsq(scaled[:, best], target, rcond=None)[0]
    return {names[term]: float(f"{value:.4g}") for term, value in zip(best, terms, strict=True) if value > 0}


def _solved(
    scaled: npt.NDArray[np.float64], target: npt.NDArray[np.float64], sets: Sequence[tuple[int, ...]]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Returns the factors that bring the sum of each set of columns nearest to a target in every row, and the error.

    Normal equations, all sets of a size at once: a fit tries hundreds of sets, and a table makes thousands of fits.

    Args:
        scaled: Terms of each layer, divided by the scale of the layer: layers x terms.
        target: What was measured, divided likewise.
        sets: Columns, the same number in each set.

    Returns:
        Factors, sets x columns of a set, and squared errors, one of each set.
    """
    size = np.sqrt((scaled**2).sum(0))
    size[size == 0] = 1.0
    unit = scaled / size
    gram, right = unit.T @ unit, (unit * target[:, None]).sum(0)
    index = np.array(sets)
    squares, sums = gram[index[:, :, None], index[:, None, :]], right[index]
    factors = (np.linalg.pinv(squares, hermitian=True) @ sums[..., None])[..., 0]
    left = (unit[:, index] * factors).sum(2) - target[:, None]
    return factors / size[index], (left**2).sum(0)


def work_of(layer: Sample) -> list[float]:
    """Returns how often each term of `TERMS` counts in a layer."""
    return [1.0 if term == "setup" else layer.get("growth", 1.0) * layer.get(term, 0) for term in TERMS]


def _of_further_calls(layer: Sample) -> float:
    return float((layer.get("calls", 1) - 1) * FURTHER_CALL)


def predicted(terms: Mapping[str, float], layer: Sample) -> float:
    """Returns what terms give for a layer."""
    found = sum(terms.get(term, 0.0) * n for term, n in zip(TERMS, work_of(layer), strict=True))
    return float(found + _of_further_calls(layer))


def fit_row(layers: Sequence[Sample], base: Sequence[Sample], measure: str) -> dict[str, float]:
    """Returns the terms of an implementation on a core, relative to another one where there is one.

    Args:
        layers: Of the implementation.
        base: Of the implementation that it is compared with; empty where there is none (`RELATIVE`).
        measure: Key of `MEASURES`.
    """
    saved = savings(layers, base, measure)
    if not saved:
        return fit(layers, measure)
    terms, less = fit(base, measure), fit(saved, measure)
    found = {term: terms.get(term, 0.0) - less.get(term, 0.0) for term in TERMS}
    return {term: float(f"{value:.4g}") for term, value in found.items() if value}


def savings(layers: Sequence[Sample], base: Sequence[Sample], measure: str = "instructions") -> list[Sample]:
    """Returns, of the layers that were measured of two implementations, by how much the first is less."""

    def key(layer: Sample) -> tuple[Any, ...]:
        return tuple(layer.get(name) for name in ("model", "opt", *_OF_SHAPES, "calls", "growth"))

    others = {key(layer): layer for layer in base}
    pairs = [(layer, others[key(layer)]) for layer in layers if key(layer) in others]
    return [
        {**layer, "calls": 1, measure: other[measure] - layer[measure]}
        for layer, other in pairs
        if other[measure] > layer[measure]
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
    layers: Iterable[Sample],
    *,
    errors: bool = True,
    only: Collection[tuple[str, ...]] | None = None,
    cores: Collection[str] | None = None,
) -> list[dict[str, Any]]:
    """Returns a row for each core, op, implementation and function, sorted.

    Terms that are 0, and unknown errors, are left out.

    Args:
        layers: All samples.
        errors: Whether errors are computed too, which takes seconds.
        only: Groups whose rows are wanted; None for all.
        cores: Cores whose rows are wanted; None for all.
    """
    groups: dict[tuple[str, ...], list[Sample]] = {}
    for layer in layers:
        if cores is None or layer["core"] in cores:
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


def model_errors(
    layers: Sequence[Sample], names: Collection[str], *, cores: Collection[str] | None = None
) -> dict[str, dict[str, Any]]:
    """Returns, by core, how far off predictions of whole models are that were left out of the fit.

    `instructions`, `cycles` and `rate` (cycles of an instruction): the relative error in the median and at most.

    Args:
        layers: All samples.
        names: The models that are left out, one after the other.
        cores: Cores whose errors are wanted; None for all. The layers of other cores stand in for kernels that were
            not measured on these.
    """
    whole = table(layers, errors=False)
    found: dict[str, dict[str, Any]] = {}
    for core in dict.fromkeys(layer["core"] for layer in layers if cores is None or layer["core"] in cores):
        errors: dict[str, list[float]] = {"instructions": [], "cycles": [], "rate": []}
        for name in names:
            mine = [layer for layer in layers if (layer["core"], layer["model"]) == (core, name)]
            if not mine:
                continue
            rows = [figures.KernelMeasurement.read(row) for row in without(name, mine, layers, whole)]
            ratios = {
                key: ratio(rows, [layer for layer in mine if layer["opt"] == "balanced"], key) for key in MEASURES
            }
            ratios["rate"] = ratios["cycles"] / ratios["instructions"]
            for key, found_ratio in ratios.items():
                errors[key].append(abs(found_ratio - 1))
        spread = {
            key: {"median": round(float(np.median(each)), 3), "most": round(max(each), 3)}
            for key, each in errors.items()
        }
        found[core] = {"models": len(errors["rate"]), **spread}
    return found


def without(
    name: str, mine: Sequence[Sample], layers: Sequence[Sample], whole: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Returns the rows of the table as they would be without a model's layers of one core."""
    touched = {_group(layer) for layer in mine}
    left = [layer for layer in layers if layer["model"] != name and layer["core"] == mine[0]["core"]]
    return [row for row in whole if _group(row) not in touched] + table(left, errors=False, only=touched)


def ratio(rows: Sequence[figures.KernelMeasurement], layers: Sequence[Sample], measure: str) -> float:
    """Returns what rows predict for layers, as a share of what was measured."""
    total = 0.0
    for layer in layers:
        cores = figures.nearest(Target(f"c -mcpu={layer['core']}"), is_float=layer["implementation"].endswith("f32"))
        near = figures.by_likeness(rows, cores, layer["op"], layer["implementation"], layer["function"])
        total += predicted(getattr(near[0], measure), layer) if near else layer[measure]
    return total / float(sum(layer[measure] for layer in layers))

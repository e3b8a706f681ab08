"""Measurements of kernels: one file per core in `data/`, written by `make bench-costs`.

A file contains

- `kernels`: by op, implementation and C function, instructions and cycles of each term of the work (`work.TERMS`), with
  the error of the fit. `tests/bench/costs.py` profiles models layer by layer in QEMU; cycles are estimates: the
  executed instructions times the cycles of each on the core;
- `code`: by `-opt` and C function, bytes of an instance of the function and of the functions that its instances share.
  `tests/bench/code_sizes.py` builds the benchmark models and reads their images;
- `cycles`: where the cycles of the core's instructions are from, `table` (its manual) or `approximation`;
- `errors`: relative errors of predictions of whole models, each left out of the fit in turn;
- `fetches`, of Cortex-M4: by sizes of line and caches (`Fetch.key`) and kernel, lines of flash for each term of work,
  `awaited` and read `ahead`, by `tests/bench/fetches.py`; `fetch_errors`: by sizes the errors with wait states, and the
  `typical` lines of a cycle by op.

A core without a file uses the figures of the core most like it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from aboard.boards import cpu as cpus
from aboard.kernels.select.work import TERMS
from aboard.target import Target

#: Folder of the files, one for each measured core.
FOLDER = Path(__file__).with_name("data")

_CYCLES = "cycles_"


@dataclass(frozen=True)
class KernelMeasurement:
    """Measured instructions and cycles of an implementation on a core.

    Attributes:
        core: The core.
        op: Name of the op.
        implementation: Name of the implementation.
        function: C function that it calls: an implementation may have several, for different shapes.
        layers: Number of layers that the terms were fitted to.
        instructions: Instructions of each term.
        error: Median relative error of layers of models left out of the fit; None if one model has all layers.
        cycles: Cycles of each term; empty if unknown.
        cycles_error: Median relative error of the cycles, as for `error`.
        cycles_fit: Median relative error of the cycles of the fitted layers: the noise of the fit.
    """

    core: str
    op: str
    implementation: str
    function: str
    layers: int
    instructions: Mapping[str, float]
    error: float | None
    cycles: Mapping[str, float]
    cycles_error: float | None
    cycles_fit: float

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> KernelMeasurement:
        """Returns a measurement from a row of a core's file, which leaves out terms of 0."""
        return cls(
            row["core"],
            row["op"],
            row["implementation"],
            row.get("function", ""),
            row["layers"],
            {term: float(row[term]) for term in TERMS if term in row},
            row.get("error"),
            {term: float(row[f"{_CYCLES}{term}"]) for term in TERMS if f"{_CYCLES}{term}" in row},
            row.get(f"{_CYCLES}error"),
            row.get(f"{_CYCLES}fit", 0.0),
        )


@dataclass(frozen=True)
class CodeMeasurement:
    """Measured bytes of a C function on a core.

    Attributes:
        core: The core.
        opt: Value of `-opt`.
        function: The C function; "" for the rest of a model: run function, tables, descriptor.
        variant: The variant of the instance (`KernelCall.code_variant`, `code_size.SHARED`).
        instance: Bytes of an instance.
        shared: Bytes of the functions that all instances share, by name; for the rest of a model, bytes per model, per
            step and per step of a cascade.
    """

    core: str
    opt: str
    function: str
    variant: str
    instance: int
    shared: Mapping[str, float]


@dataclass(frozen=True)
class FetchMeasurements:
    """Measured lines of flash for some sizes of line and caches on a core.

    Attributes:
        kernels: By op, implementation and C function, the lines of each term of the work: awaited, and read ahead.
        typical: By op, and for other ops by "", the median lines of a cycle: awaited, and read ahead.
        errors: Relative errors of predictions of whole models with wait states, as in `model_errors`.
    """

    kernels: Mapping[tuple[str, str, str], tuple[Mapping[str, float], Mapping[str, float]]]
    typical: Mapping[str, tuple[float, float]]
    errors: Mapping[str, Mapping[str, float]]


@cache
def _files() -> Mapping[str, Mapping[str, Any]]:
    """Returns the files by core, in alphabetical order."""
    read = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    return {content["core"]: content for content in read}


@cache
def kernels() -> tuple[KernelMeasurement, ...]:
    """Returns the measured instructions and cycles of the host's own kernels, on all cores."""
    return tuple(
        KernelMeasurement.read({"core": core, **row})
        for core, content in _files().items()
        for row in content["kernels"]
    )


@cache
def kernels_of(path: Path) -> tuple[KernelMeasurement, ...]:
    """Returns measurements of kernels that are not the host's own.

    Args:
        path: A file with rows like those of `kernels`, each with its `core`.
    """
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return tuple(KernelMeasurement.read(row) for row in rows)


@cache
def code() -> tuple[CodeMeasurement, ...]:
    """Returns the measurements of code, on all cores."""
    return tuple(CodeMeasurement(core, **row) for core, content in _files().items() for row in content["code"])


@cache
def fetches(core: str, key: str) -> FetchMeasurements | None:
    """Returns the measured lines of a core's kernels; None if the sizes were not measured on the core.

    Args:
        core: The core.
        key: The sizes, `Fetch.key`.
    """
    content = _files().get(core, {})
    found = content.get("fetch_errors", {}).get(key)
    if found is None:
        return None
    rows = (row for row in content["fetches"] if row["fetch"] == key)
    by_kernel = {(row["op"], row["implementation"], row["function"]): (row["awaited"], row["ahead"]) for row in rows}
    return FetchMeasurements(by_kernel, found["typical"], {name: found[name] for name in ("cycles", "rate")})


def read_again() -> None:
    """Reads the files again after a change."""
    for reader in (_files, kernels, code, fetches):
        reader.cache_clear()


def model_errors() -> Mapping[str, Mapping[str, Any]]:
    """Returns, by measured core, the errors of whole models that were left out of the fit.

    Keys: `models` (their number), `instructions`, `cycles` and `rate` (cycles per instruction), each with the relative
    errors `median` and `most`.
    """
    return {core: content["errors"] for core, content in _files().items()}


def has_cycles(target: Target) -> bool:
    """True if the cycles of a target's core are known: its manual lists those of each instruction.

    Approximations (`host/aboard/cycles/core_times.toml`) and cycles of a similar core do not count.
    """
    cpu = target.host.cpu
    return any(_files().get(name, {}).get("cycles") == "table" for name in (cpu.base, cpu.known_base))


def by_likeness(
    rows: Sequence[KernelMeasurement], cores: Sequence[str], op: str, implementation: str, function: str = ""
) -> list[KernelMeasurement]:
    """Returns the rows of an op, the nearest first: by implementation, C function, core, and number of layers.

    A core of a package counts as the core that it is like.
    """
    found = [row for row in rows if row.op == op]

    def unlike(row: KernelMeasurement) -> tuple[bool, bool, int, int]:
        return (
            row.implementation != implementation,
            row.function != function,
            cores.index(_known(row.core, cores)),
            -row.layers,
        )

    return sorted(found, key=unlike)


def _known(core: str, cores: Sequence[str]) -> str:
    return core if core in cores else cpus.find(core).known_base


def nearest(target: Target, *, is_float: bool) -> tuple[str, ...]:
    """Returns the measured cores, the one most like the target's first.

    Args:
        target: The target.
        is_float: True for float computations: then cores are first compared by their FPU.
    """
    return _nearest(target.host, is_float)


@cache
def _nearest(host: Target, is_float: bool) -> tuple[str, ...]:
    def unlike(name: str) -> tuple[bool, bool, bool, int, str]:
        other = Target(f"c -mcpu={name}")
        fpu = is_float and ("fpu" in other.cpu.features) != ("fpu" in host.cpu.features)
        different = len(other.cpu.features ^ host.cpu.features)
        return fpu, other.keys != host.keys - host.cpu.keys, other.cpu.base != host.cpu.known_base, different, name

    return tuple(sorted({row.core for row in kernels()}, key=unlike))

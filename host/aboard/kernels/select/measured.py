"""What was measured of kernels: one file per core in `data/`, written by `make bench-costs`.

Such a file has

- `kernels`: by op, implementation and C function, instructions and cycles of each term of the work (`work.TERMS`), with
  the error of the fit. `tests/bench/costs.py` profiles models layer by layer in QEMU; cycles are estimates themselves,
  the executed instructions times what each costs on the core;
- `code`: by `-opt` and C function, bytes of an instance of the function and of the functions that its instances share.
  `tests/bench/code_sizes.py` builds the benchmarks' models and reads their images;
- `errors`: relative errors of predictions of whole models that were left out of the fit one by one.

A core that has no file takes the figures of the core most like it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from aboard.kernels.select.work import TERMS
from aboard.target import Target

#: Folder of the files, one for each measured core.
FOLDER = Path(__file__).with_name("data")

_CYCLES = "cycles_"


@dataclass(frozen=True)
class KernelMeasurement:
    """Instructions and cycles that were measured of an implementation on a core.

    Attributes:
        core: The core.
        op: Name of the op.
        implementation: Name of the implementation.
        function: C function that it calls: an implementation may have several, for different shapes.
        layers: Number of layers that the terms were fitted to.
        instructions: Instructions of each term.
        error: Median relative error of layers of models that were left out of the fit; None where one model has all.
        cycles: Cycles of each term; empty where they are not known.
        cycles_error: The same error of the cycles.
        cycles_fit: Median relative error of the cycles of the layers of the fit itself: the noise that is left in it.
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
        """Returns a row of a file and its core, in which terms that are 0 are left out."""
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
    """Bytes that were measured of a C function on a core.

    Attributes:
        core: The core.
        opt: Value of `-opt`.
        function: The C function; "" for the rest of a model: run function, tables, descriptor.
        variant: The variant that an instance is (`code_size.variant`).
        instance: Bytes of an instance.
        shared: Bytes of the functions that all instances share, by name; of the rest of a model, bytes of a model, a
            step and a step of a cascade.
    """

    core: str
    opt: str
    function: str
    variant: str
    instance: int
    shared: Mapping[str, float]


@cache
def _files() -> Mapping[str, Mapping[str, Any]]:
    """Returns the files by core, in alphabetical order."""
    read = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    return {content["core"]: content for content in read}


@cache
def kernels() -> tuple[KernelMeasurement, ...]:
    """Returns what was measured of instructions and cycles of the host's own kernels, on all cores."""
    return tuple(
        KernelMeasurement.read({"core": core, **row})
        for core, content in _files().items()
        for row in content["kernels"]
    )


@cache
def kernels_of(path: Path) -> tuple[KernelMeasurement, ...]:
    """Returns what was measured of other kernels than the host's own.

    Args:
        path: A file that lists rows as those of `kernels`, each with its `core`.
    """
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return tuple(KernelMeasurement.read(row) for row in rows)


@cache
def code() -> tuple[CodeMeasurement, ...]:
    """Returns what was measured of code, on all cores."""
    return tuple(CodeMeasurement(core, **row) for core, content in _files().items() for row in content["code"])


def read_again() -> None:
    """Reads the files again, one of which was written since."""
    for reader in (_files, kernels, code):
        reader.cache_clear()


def model_errors() -> Mapping[str, Mapping[str, Any]]:
    """Returns, by measured core, the errors of whole models that were left out of the fit.

    Keys: `models` (how many), `instructions`, `cycles` and `rate` (cycles for each instruction), each with the relative
    error in the `median` and at `most`.
    """
    return {core: content["errors"] for core, content in _files().items()}


def by_likeness(
    rows: Sequence[KernelMeasurement], cores: Sequence[str], op: str, implementation: str, function: str = ""
) -> list[KernelMeasurement]:
    """Returns the rows of an op, the nearest first: by implementation, C function, core, and number of layers."""
    found = [row for row in rows if row.op == op]

    def unlike(row: KernelMeasurement) -> tuple[bool, bool, int, int]:
        return row.implementation != implementation, row.function != function, cores.index(row.core), -row.layers

    return sorted(found, key=unlike)


def nearest(target: Target, *, is_float: bool) -> tuple[str, ...]:
    """Returns the measured cores, the one most like the target's first.

    Args:
        target: The target.
        is_float: True where floats are computed: then it matters first whether there is an FPU.
    """
    return _nearest(target.host, is_float)


@cache
def _nearest(host: Target, is_float: bool) -> tuple[str, ...]:
    def unlike(name: str) -> tuple[bool, bool, bool, int, str]:
        other = Target(f"c -mcpu={name}")
        fpu = is_float and ("fpu" in other.cpu.features) != ("fpu" in host.cpu.features)
        different = len(other.cpu.features ^ host.cpu.features)
        return fpu, other.keys != host.keys, other.cpu.base != host.cpu.base, different, name

    return tuple(sorted({row.core for row in kernels()}, key=unlike))

"""Predicts the flash of kernels' code from measurements of each kernel's C function (`measured`).

The measured data of a core (`data/<core>.json`) contains, for each `-opt`, the bytes of an instance of a function and
of the functions that its instances share, including functions of the compiler's library. Each variant of a function
(`KernelCall.code_variant`) has figures of its own. `tests/bench/code_sizes.py` links the benchmark models with every
comparable kernel and reads their images. A variant without measurements uses the figures of the nearest variant: the
one that differs in the fewest words, on the core most like the target. A function without measurements uses the median.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from statistics import median

from aboard.kernels.contract import KernelCall
from aboard.kernels.select.measured import CodeMeasurement, nearest
from aboard.kernels.select.measured import code as table
from aboard.kernels.view import Literal
from aboard.target import Target

#: Variant of an instance that reads its parameters at run time.
SHARED = "shared"

_WORD = 4

#: Result of `shares` if it is free to choose; None if measurements decide. Set by `forced_sharing`.
_forced: bool | None = None


@dataclass(frozen=True)
class FunctionCode:
    """Code of a kernel's function.

    Attributes:
        instance: Bytes of an instance.
        shared: Bytes of the functions that its instances share, by name.
    """

    instance: int
    shared: Mapping[str, int]


def read_again() -> None:
    """Discards cached measurements after `measured.read_again`."""
    _rows.cache_clear()


@cache
def _rows(target: Target, function: str) -> tuple[CodeMeasurement, ...]:
    """Returns the rows of a function, the nearest first."""
    cores = nearest(target, is_float=False)
    known = [row for row in table() if row.function == function and row.core in cores]
    return tuple(sorted(known, key=lambda row: (cores.index(row.core), row.opt != target.opt, row.variant)))


def _unlike(row: CodeMeasurement, wanted: str) -> int:
    """Returns the number of words in which a row's variant differs from the wanted variant."""
    return len({*row.variant.split()} ^ {*wanted.split()})


def code(call: KernelCall, target: Target, *, shared: bool = False) -> FunctionCode:
    """Returns the code of a call's function.

    Args:
        call: The call.
        target: The target of the code.
        shared: True if instances read their parameters at run time.
    """
    wanted = SHARED if shared else call.code_variant
    rows = [row for row in _rows(target.host, call.function) if shared or row.variant != SHARED]
    if not rows:
        others = [row for row in table() if row.function]
        alike = [row for row in others if row.opt == target.opt] or others
        return FunctionCode(round(median(row.instance for row in alike)), {})
    row = min(rows, key=lambda row: _unlike(row, wanted))
    return FunctionCode(row.instance, {name: round(size) for name, size in row.shared.items()})


@contextmanager
def forced_sharing(always: bool) -> Iterator[None]:
    """Makes functions with several sets of parameters share one instance, always or never; for benchmarks."""
    global _forced
    before, _forced = _forced, always
    try:
        yield
    finally:
        _forced = before


def shares(calls: Sequence[KernelCall], target: Target) -> bool:
    """True if calls of one function with several sets of parameters take less flash with one shared instance.

    This is only possible with `-opt=size`, if the shared instance was measured to be smaller or was not measured. An
    instance with literal parameters is often smaller than these parameters.

    Args:
        calls: One for each set of parameters.
        target: The target of the code.
    """
    if target.opt != "size" or len(calls) < 2:
        return False
    if _forced is not None:
        return _forced
    measured = any(row.variant == SHARED for row in _rows(target.host, calls[0].function))
    if not measured or target.host.cpu.is_host_class:
        return True
    apart = [code(call, target) for call in calls]
    together = code(calls[0], target, shared=True)
    functions = {name: size for each in apart for name, size in each.shared.items()}
    alone = sum(each.instance for each in apart) + sum(functions.values())
    parameters = sum(parameters_bytes(call.params) for call in calls)
    return together.instance + sum(together.shared.values()) + parameters < alone


def frame(target: Target, steps: int, cascaded: int) -> int:
    """Returns the bytes of the code of a model outside its kernels: run function, tables, descriptor.

    Args:
        target: The target of the code.
        steps: Steps of the model.
        cascaded: Steps that are part of cascades.
    """
    rows = [row.shared for row in _rows(target.host, "")]
    figures = rows[0]
    # The figure may be from another `-opt` or core, if only they were measured with cascades; 0 if none was.
    of_cascades = next((row["cascaded"] for row in rows if row["cascaded"]), 0.0)
    return round(figures["model"] + figures["step"] * steps + of_cascades * cascaded)


def doubt(target: Target) -> int:
    """Returns a limit in bytes: how much less `-opt=size` may save than half of the predicted saving.

    It is the largest such difference among the benchmark models when the table was made.
    """
    figures = [row.shared for row in _rows(target.host, "") if "doubt" in row.shared]
    return round(figures[0]["doubt"])


def parameters_bytes(params: Literal) -> int:
    """Returns the bytes of a parameter struct that is read at run time."""
    if isinstance(params, Mapping):
        return sum(parameters_bytes(value) for value in params.values())
    if isinstance(params, list | tuple):
        return sum(parameters_bytes(value) for value in params)
    return _WORD

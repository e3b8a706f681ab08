"""Predicts how much flash kernels take: constants exactly, code from what was measured of each kernel's function.

`code_bytes.json` has, for each kind of core and `-opt`, the bytes of an instance of a function and of what all its
instances share. It is made by `tests/bench/code_sizes.py`, which builds the benchmarks' models and looks at their
images. What was not measured is taken from what is nearest: another variant of the function, the core most like the
target's, else the median function.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from aboard.kernels.contract import KernelCall, Literal
from aboard.kernels.select.estimate import nearest
from aboard.target import Target

#: Parameters by which a function calls other shared code.
DISCRIMINATING = ("line", "wide", "narrow", "stride", "count")

#: Variant of an instance that reads its parameters at run time.
SHARED = "shared"

_FILE = Path(__file__).with_name("code_bytes.json")
_WORD = 4


@dataclass(frozen=True)
class Code:
    """Code of a kernel's function.

    Attributes:
        instance: Bytes of an instance.
        shared: Bytes of the functions that its instances share, by name.
    """

    instance: int
    shared: Mapping[str, int]


@dataclass(frozen=True)
class _Row:
    core: str
    opt: str
    function: str
    variant: str
    instance: int
    shared: Mapping[str, float]


@cache
def _table() -> tuple[_Row, ...]:
    rows: list[dict[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))
    return tuple(_Row(**row) for row in rows)


@cache
def _rows(target: Target, function: str) -> tuple[_Row, ...]:
    """Returns the rows of a function, nearest first."""
    cores = nearest(target, is_float=False)
    known = [row for row in _table() if row.function == function and row.core in cores]
    return tuple(sorted(known, key=lambda row: (cores.index(row.core), row.opt != target.opt, row.variant)))


def variant(call: KernelCall) -> str:
    """Returns which variant of its function a call instantiates."""
    return " ".join(f"{name}={call.params[name]}" for name in DISCRIMINATING if name in call.params)


def code(call: KernelCall, target: Target, *, shared: bool = False) -> Code:
    """Returns the code of a call's function.

    Args:
        call: The call.
        target: Where it will run.
        shared: Whether instances read their parameters at run time.
    """
    wanted = SHARED if shared else variant(call)
    rows = _rows(target.host, call.function)
    if not rows:
        others = [row for row in _table() if row.function]
        alike = [row for row in others if row.opt == target.opt] or others
        return Code(round(median(row.instance for row in alike)), {})
    exact = [row for row in rows if row.core == rows[0].core and row.variant == wanted]
    row = (exact or [row for row in rows if row.variant == wanted] or rows)[0]
    return Code(row.instance, {name: round(size) for name, size in row.shared.items()})


def shares(calls: Sequence[KernelCall], target: Target) -> bool:
    """Returns whether calls of one function, of several parameters, take less flash when an instance serves them all.

    So it is with `-opt=size` alone, where it was measured to be less (an instance with its parameters as literals is
    often smaller than these parameters) or nothing was measured.

    Args:
        calls: One for each set of parameters.
        target: Where they will run.
    """
    if target.opt != "size" or len(calls) < 2:
        return False
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
    """Returns the bytes of the code of a model that is no kernel's: run function, tables, descriptor.

    Args:
        target: Where it will run.
        steps: Steps of the model.
        cascaded: Those that take turns with others.
    """
    rows = [row.shared for row in _rows(target.host, "")]
    figures = rows[0]
    # 0 where no model that was measured has cascades: they were with another `-opt`, or on another core.
    turns = next((row["cascaded"] for row in rows if row["cascaded"]), 0.0)
    return round(figures["model"] + figures["step"] * steps + turns * cascaded)


def parameters_bytes(params: Literal) -> int:
    """Returns the bytes of a parameter struct that is read at run time."""
    if isinstance(params, Mapping):
        return sum(parameters_bytes(value) for value in params.values())
    if isinstance(params, list | tuple):
        return sum(parameters_bytes(value) for value in params)
    return _WORD

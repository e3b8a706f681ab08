"""Predicts how many instructions and cycles of the host a node takes, from what was measured of its kernel.

`instructions.json` has, for each kind of core, op and implementation, instructions and cycles of a layer, of a
multiply-accumulate, of an element and so on (`TERMS`). `tests/bench/costs.py` makes it: it profiles models layer by
layer in QEMU. Cycles are estimates themselves: the executed instructions times what each costs on the core. What was
not measured is taken from what is nearest: the same implementation on the core most like the target's, else another
implementation of the op, else the average element. So a figure always comes with its basis.

Errors are those of layers that the figures were not fitted to: each model is left out of the fit once, and its layers
are predicted from the others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from statistics import median
from typing import Any

from aboard import ops
from aboard.ir import Node
from aboard.kernels.contract import Call
from aboard.ops import rows_of
from aboard.target import Target

_FILE = Path(__file__).with_name("instructions.json")
_ERRORS = Path(__file__).with_name("prediction_errors.json")

#: Instructions of a further turn of a cascade: table, switch, row counter, and what a kernel does once in a call. On
#: Cortex-M4 a convolution of `kws` takes 120 more for each turn.
TURN = 120


#: What the cost of a layer is made of: calls, and the fields of `Work`.
TERMS = ("setup", "mac", "element", "read", "window", "spread", "line", "pixel", "rounded")

_CYCLES = "cycles_"


@dataclass(frozen=True)
class Work:
    """What a node's cost is reckoned by.

    Attributes:
        mac: Multiply-accumulates.
        element: Elements of the result where there are multiply-accumulates, else of the operands or of the results,
            whichever has more.
        read: Elements of the operands.
        window: Elements of all windows that a layer with multiply-accumulates looks at: they may have to be copied.
        spread: Multiply-accumulates of windows that are more than a pixel each, whose elements lie apart.
        line: Rows of the result times its channels.
        pixel: Pixels of the result.
        rounded: Elements of the result that a slow requantisation epilogue makes (`KernelCall.slow_epilogue`), else 0.
    """

    mac: int
    element: int
    read: int
    window: int
    spread: int
    line: int
    pixel: int
    rounded: int

    @classmethod
    def of(
        cls,
        macs: int,
        operands: Sequence[Sequence[int]],
        results: Sequence[Sequence[int]],
        *,
        slow_epilogue: bool = False,
    ) -> Work:
        """Returns it for a node.

        Args:
            macs: Its multiply-accumulates.
            operands: Shapes of its operands, constants left out.
            results: Shapes of its results.
            slow_epilogue: Whether the kernel has to use the slower of its requantisation epilogues.
        """
        read, written = sum(prod(shape) for shape in operands), sum(prod(shape) for shape in results)
        channels = results[0][-1] if results[0] else 1
        element = written if macs else max(read, written)
        window = macs // max(channels, 1)
        spread, line = macs if window != read else 0, rows_of(results[0]) * channels
        rounded = written if slow_epilogue else 0
        return cls(macs, element, read, window, spread, line, prod(results[0]) // max(channels, 1), rounded)

    @property
    def terms(self) -> dict[str, int]:
        """The fields by name."""
        return {term: getattr(self, term) for term in TERMS[1:]}


@dataclass(frozen=True)
class Row:
    """What was measured of an implementation on a core.

    Attributes:
        core: The core.
        op: Name of the op.
        implementation: Name of the implementation.
        function: C function that it calls: an implementation may have several, for different shapes.
        layers: Layers it was fitted to.
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
    def read(cls, row: Mapping[str, Any]) -> Row:
        """Returns a row of the file, in which terms that are 0 are left out."""
        instructions = {term: float(row[term]) for term in TERMS if term in row}
        cycles = {term: float(row[f"{_CYCLES}{term}"]) for term in TERMS if f"{_CYCLES}{term}" in row}
        error, cycles_error = row.get("error"), row.get(f"{_CYCLES}error")
        name, function = row["implementation"], row.get("function", "")
        fit = row.get(f"{_CYCLES}fit", 0.0)
        return cls(
            row["core"], row["op"], name, function, row["layers"], instructions, error, cycles, cycles_error, fit
        )


@dataclass(frozen=True)
class Estimate:
    """What a node takes, estimated.

    Attributes:
        instructions: How many.
        cycles: How many; the instructions where no cycles are known.
        basis: What was measured, in words.
        error: Median relative error of layers that the measurement was not fitted to; None where that is not known, or
            another kernel's figures had to do.
        cycles_fit: Median relative error of the cycles of the layers that were fitted, which choices between kernels go
            by; None where these are not known of this very core and kernel.
        is_borrowed: True where another kernel's figures had to do.
    """

    instructions: int
    cycles: int
    basis: str
    error: float | None
    cycles_fit: float | None = None
    is_borrowed: bool = False


@cache
def table(path: Path = _FILE) -> tuple[Row, ...]:
    """Returns what was measured.

    Args:
        path: The file; that of the host's own kernels by default.
    """
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return tuple(Row.read(row) for row in rows)


@cache
def model_errors() -> Mapping[str, Mapping[str, Any]]:
    """Returns, by measured core, the errors of whole models that were left out of the fit.

    Keys: `models` (how many), `instructions`, `cycles` and `rate` (cycles for each instruction), each with the relative
    error in the `median` and at `most`.
    """
    found: dict[str, dict[str, Any]] = json.loads(_ERRORS.read_text(encoding="utf-8"))
    return found


def work(node: Node, *, slow_epilogue: bool = False) -> Work:
    """Returns what a node's cost is reckoned by."""
    operands = [tensor.type.shape for tensor in node.operands if not tensor.is_constant]
    results = [tensor.type.shape for tensor in node.outputs]
    return Work.of(ops.get(node.op).macs(node), operands, results, slow_epilogue=slow_epilogue)


def estimate(
    node: Node,
    implementation: str,
    target: Target,
    rows: Sequence[Row] | None = None,
    turns: int = 1,
    growth: float = 1.0,
    *,
    call: Call | None = None,
) -> Estimate:
    """Returns what a node takes on the host of a target.

    Args:
        node: The node; as the host's kernels compute it.
        implementation: Name of the implementation; "" where none is chosen.
        target: The target; its host counts.
        rows: What was measured, where it is not of the host's own kernels; on cores of which `table` has some.
        turns: In how many calls it is computed.
        growth: How much more the kernel has to do beside that than in one call (`Implementation.growth`).
        call: The call that computes it, which tells the function and the requantisation epilogue; None where it is not
            known.
    """
    done = work(node, slow_epilogue=call is not None and call.slow_epilogue)
    function = "" if call is None else call.function
    cores = nearest(target, is_float=node.output.dtype.is_float)
    found = measured(table() if rows is None else rows, cores, node.op, implementation, function)
    if found:
        row = found[0]
        own = row.implementation == implementation
        instructions = _sum(row.instructions, done, turns, growth)
        return Estimate(
            instructions,
            _sum(row.cycles, done, turns, growth) if row.cycles else instructions,
            f"{row.implementation} on {row.core}",
            row.error if own else None,
            row.cycles_fit if own and row.cycles and row.core == target.host.cpu.base else None,
            is_borrowed=not own,
        )
    average = median(
        row.instructions["element"] for row in table() if row.core == cores[0] and "element" in row.instructions
    )
    guess = round(average * done.element)
    return Estimate(guess, guess, f"average element on {cores[0]}", None, is_borrowed=True)


def _sum(terms: Mapping[str, float], done: Work, turns: int, growth: float) -> int:
    """Returns the sum of the terms of a node that is computed in a number of calls."""
    calls = terms.get("setup", 0.0) + (turns - 1) * TURN
    return round(calls + growth * sum(terms.get(term, 0.0) * count for term, count in done.terms.items()))


def measured(rows: Sequence[Row], cores: Sequence[str], op: str, implementation: str, function: str = "") -> list[Row]:
    """Returns the rows of an op, the nearest first: by implementation, C function, core, and number of layers."""
    found = [row for row in rows if row.op == op]

    def unlike(row: Row) -> tuple[bool, bool, int, int]:
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

    return tuple(sorted({row.core for row in table()}, key=unlike))

"""Estimates how many instructions of the host a node takes, from what was measured of its kernel.

`instructions.json` has, for each kind of core, op and implementation, instructions of set-up, of a multiply-accumulate
and of an element. It is made by `tests/bench/costs.py`, which profiles the benchmarks' models layer by layer in QEMU.
What was not measured is taken from what is nearest: the same implementation on the core most like the target's, else
another implementation of the op, else the average element. So a figure always comes with its basis.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from aboard import ops
from aboard.ir import Node
from aboard.target import Target

_FILE = Path(__file__).with_name("instructions.json")

#: Instructions of a turn of a cascade beside its kernel: table, switch, row counter, call.
_TURN = 30


@dataclass(frozen=True)
class Row:
    """What was measured of an implementation on a core.

    Attributes:
        core: The core.
        op: Name of the op.
        implementation: Name of the implementation.
        setup: Instructions of a call.
        mac: Instructions of a multiply-accumulate.
        element: Instructions of an element: of the result where there are multiply-accumulates, else of the operands
            or of the result, whichever has more.
        layers: Layers it was fitted to.
        error: Median of their relative errors.
    """

    core: str
    op: str
    implementation: str
    setup: float
    mac: float
    element: float
    layers: int
    error: float

    def instructions(self, macs: int, elements: int) -> float:
        """Returns the instructions of a layer of that size."""
        return self.setup + self.mac * macs + self.element * elements


@dataclass(frozen=True)
class Estimate:
    """Instructions of a node, estimated.

    Attributes:
        instructions: How many.
        basis: What was measured, in words.
        error: Median relative error of that measurement's fit; None where another kernel's figures had to do.
    """

    instructions: int
    basis: str
    error: float | None


@cache
def table(path: Path = _FILE) -> tuple[Row, ...]:
    """Returns what was measured.

    Args:
        path: The file; that of the host's own kernels by default.
    """
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return tuple(Row(**row) for row in rows)


def work(node: Node) -> tuple[int, int]:
    """Returns the multiply-accumulates and the elements that a node's cost is reckoned by."""
    macs = ops.get(node.op).macs(node)
    written = sum(tensor.type.elements for tensor in node.outputs)
    read = sum(tensor.type.elements for tensor in node.operands if not tensor.is_constant)
    return macs, written if macs else max(read, written)


def estimate(
    node: Node, implementation: str, target: Target, rows: Sequence[Row] | None = None, turns: int = 1
) -> Estimate:
    """Returns what a node takes on the host of a target.

    Args:
        node: The node; as the host's kernels compute it.
        implementation: Name of the implementation; "" where none is chosen.
        target: The target; its host counts.
        rows: What was measured, where it is not of the host's own kernels; on cores of which `table` has some.
        turns: In how many calls it is computed: each is set up.
    """
    macs, elements = work(node)
    cores = nearest(target, is_float=node.output.dtype.is_float)
    measured = _measured(table() if rows is None else rows, cores, node.op, implementation)
    if measured:
        row = measured[0]
        error = row.error if row.implementation == implementation else None
        again = (turns - 1) * (row.setup + _TURN)
        return Estimate(round(row.instructions(macs, elements) + again), f"{row.implementation} on {row.core}", error)
    average = median(row.element for row in table() if row.core == cores[0] and row.element)
    return Estimate(round(average * elements), f"average element on {cores[0]}", None)


def _measured(rows: Sequence[Row], cores: Sequence[str], op: str, implementation: str) -> list[Row]:
    """Returns the rows of an op: the implementation's first, then by nearness of the core, then by their layers."""
    found = [row for row in rows if row.op == op]
    return sorted(found, key=lambda row: (row.implementation != implementation, cores.index(row.core), -row.layers))


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

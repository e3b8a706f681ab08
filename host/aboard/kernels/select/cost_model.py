"""The cost model: instructions, cycles, flash and RAM of a node that a kernel computes. Every choice goes by it.

Instructions and cycles come from the first of these sources that there is:

1. figures measured of the kernel (`measured`), on the core most like the target's;
2. the kernel's own formula (`Implementation.formula`), for a kernel that was not measured on any core yet;
3. figures measured of another kernel of the op;
4. the average element on the core most like the target's.

Only the first is `is_measured`, and a prediction names its source. Flash is that of the packed constants, exactly, and
of code as measured of the kernel's C function (`code_size`). RAM is the scratch.

Measured figures say little where kernels of different instruction sets differ by much more than flash is worth, and
nothing of a kernel that was just added. So one input of the model is declared instead of measured: the *priority* of
a kernel, which is that of its instruction set (`INSTRUCTION_SETS`), and `SPECIALISED` more for a kernel of a special
case. Costs are compared between the kernels of the highest priority that accept a node; with `-opt=speed` the cycles
of all kernels that accept it are compared, where they were measured on the target's core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from aboard.ir import Node
from aboard.kernels.contract import Call, Implementation, View
from aboard.kernels.select import measured
from aboard.kernels.select.flash import pieces
from aboard.kernels.select.work import Work, work
from aboard.target import Target

#: Priority of the kernels of an instruction set, by its key. A key that is not listed is taken for an extension that
#: its kernels make use of.
INSTRUCTION_SETS = {"arm_mve": 100, "arm_dsp": 10, "arm_smlal": 10, "riscv": 10, "portable": 0}
_EXTENSION = 10

#: What a kernel of a special case has more: a table instead of a computation, a clamp instead of a rescaling.
SPECIALISED = 10

#: Instructions of a further call in a cascade: table, switch, row counter, and what a kernel does once per call. On
#: Cortex-M4 a convolution of `kws` takes 120 more for each call.
FURTHER_CALL = 120


@dataclass(frozen=True)
class Prediction:
    """Predicted instructions and cycles of a node.

    Attributes:
        instructions: Instructions of an inference.
        cycles: Cycles of an inference; the instructions where no cycles are known.
        basis: The source, in words.
        error: Median relative error of layers that the measurement was not fitted to; None where that is not known, or
            where the source is none that was measured of the kernel.
        cycles_fit: Median relative error of the cycles of the layers that were fitted, which choices between kernels go
            by; None where these are not known of this very core and kernel.
        is_measured: False for a formula, and for figures of another kernel.
    """

    instructions: int
    cycles: int
    basis: str
    error: float | None
    cycles_fit: float | None = None
    is_measured: bool = True


@dataclass(frozen=True)
class KernelCost:
    """The cost of a node that a kernel computes by itself, its operands and results stored whole.

    Attributes:
        instructions: Instructions of an inference, predicted.
        cycles: Cycles of an inference, predicted.
        flash: Bytes of each piece of flash by its key; a piece counts once for a model (`flash`).
        weights_bytes: Bytes of the packed constants.
        ram_bytes: Bytes of scratch.
        prediction: Source and error of instructions and cycles.
    """

    instructions: float
    cycles: float
    flash: Mapping[str, int]
    weights_bytes: int
    ram_bytes: int
    prediction: Prediction

    @property
    def flash_bytes(self) -> int:
        """Bytes of flash of a model that has only this node, without the rest of its code."""
        return sum(self.flash.values())


def priority(implementation: Implementation) -> int:
    """Returns the priority of a kernel: kernels of a lower one serve where none of a higher one accepts a node."""
    sets = max(INSTRUCTION_SETS.get(key, _EXTENSION) for key in implementation.keys)
    return sets + (SPECIALISED if implementation.specialised else 0)


def whole_call(node: Node, implementation: Implementation, target: Target) -> Call:
    """Returns the call of a node whose operands and results are stored whole."""
    inputs = tuple(None if t is None else View.whole(t.shape, t.dtype.bytes) for t in node.inputs)
    outputs = tuple(View.whole(t.shape, t.dtype.bytes) for t in node.outputs)
    return implementation.lower(node, inputs, outputs, target)


def cost(node: Node, implementation: Implementation, target: Target) -> KernelCost:
    """Returns the cost of a node with an implementation that accepts it."""
    call = whole_call(node, implementation, target)
    predicted = predict(node, implementation.name, target, call=call, formula=implementation.formula(node))
    return KernelCost(
        predicted.instructions,
        predicted.cycles,
        pieces(node, call, target),
        sum(constant.values.nbytes for constant in call.constants),
        sum(scratch.bytes for scratch in call.scratch),
        predicted,
    )


def predict(
    node: Node,
    implementation: str,
    target: Target,
    rows: Sequence[measured.KernelMeasurement] | None = None,
    calls: int = 1,
    growth: float = 1.0,
    *,
    call: Call | None = None,
    formula: float | None = None,
) -> Prediction:
    """Returns the predicted instructions and cycles of a node on the host of a target.

    Args:
        node: The node; as the host's kernels compute it.
        implementation: Name of the implementation; "" where none is chosen.
        target: The target; its host counts.
        rows: Measurements, where they are not of the host's own kernels; on cores that `measured.kernels` has.
        calls: In how many calls the node is computed.
        growth: Work of the node in these calls, as a factor of the work in one call (`Implementation.growth`).
        call: The call that computes the node, which determines function and requantisation epilogue; None where it is
            not known.
        formula: Instructions by the kernel's formula; None where it has none.
    """
    done = work(node, slow_epilogue=call is not None and call.slow_epilogue)
    function = "" if call is None else call.function
    cores = measured.nearest(target, is_float=node.output.dtype.is_float)
    known = measured.kernels() if rows is None else rows
    found = measured.by_likeness(known, cores, node.op, implementation, function)
    if formula is not None and not any(row.implementation == implementation for row in found):
        guess = round(growth * formula) + (calls - 1) * FURTHER_CALL
        return Prediction(guess, guess, f"formula of {implementation}", None, is_measured=False)
    if found:
        row = found[0]
        own = row.implementation == implementation
        instructions = _sum(row.instructions, done, calls, growth)
        return Prediction(
            instructions,
            _sum(row.cycles, done, calls, growth) if row.cycles else instructions,
            f"{row.implementation} on {row.core}",
            row.error if own else None,
            row.cycles_fit if own and row.cycles and row.core == target.host.cpu.base else None,
            is_measured=own,
        )
    average = median(
        row.instructions["element"]
        for row in measured.kernels()
        if row.core == cores[0] and "element" in row.instructions
    )
    guess = round(average * done.element)
    return Prediction(guess, guess, f"average element on {cores[0]}", None, is_measured=False)


def _sum(terms: Mapping[str, float], done: Work, calls: int, growth: float) -> int:
    """Returns the sum of the terms of a node that is computed in a number of calls."""
    once = terms.get("setup", 0.0) + (calls - 1) * FURTHER_CALL
    return round(once + growth * sum(terms.get(term, 0.0) * count for term, count in done.terms.items()))

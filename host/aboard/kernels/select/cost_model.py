"""The cost model: instructions, cycles, flash and RAM of a node with a kernel. Every choice uses it.

Instructions and cycles come from the first available of these sources:

1. measurements of the kernel (`measured`), on the core most like the target's;
2. the kernel's own formula (`Implementation.formula`), for a kernel without measurements on any core;
3. measurements of another kernel of the op;
4. the average element on the core most like the target's.

Only the first is `is_measured`, and a prediction names its source. Flash is the exact size of the packed constants,
plus the measured code of the kernel's C function (`code_size`). RAM is the scratch.

Measurements do not decide between kernels of different instruction sets, which differ by more than the price of
flash, and are missing for a new kernel. So one input of the model is declared instead of measured: the *priority* of
a kernel, which is the priority of its instruction set (`INSTRUCTION_SETS`), plus `SPECIALISED` for a kernel of a
special case. The kernels of the highest priority that accept a node are compared by cost, with those of lower priority
that they name for it (`Implementation.rivals`); `-opt=speed` compares the cycles of all kernels that accept it, if they
were measured on the target's core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from aboard.ir import Node
from aboard.kernels import registry
from aboard.kernels.contract import Call, Implementation, View
from aboard.kernels.select import measured
from aboard.kernels.select.flash import pieces
from aboard.kernels.select.work import Work, work
from aboard.target import Target

#: Priority of the kernels of an instruction set, by its key. A package may give a key of its own a priority; any other
#: key counts as an extension that its kernels use.
INSTRUCTION_SETS = {"arm_mve": 100, "arm_dsp": 10, "arm_smlal": 10, "riscv": 10, "portable": 0}
_EXTENSION = 10

#: Additional priority of a kernel for a special case: a table instead of a computation, a clamp instead of rescaling.
SPECIALISED = 10

#: Instructions of a further call in a cascade: table, switch, row counter, and the kernel's work once per call. On
#: Cortex-M4 a convolution of `kws` takes 120 more for each call.
FURTHER_CALL = 120


@dataclass(frozen=True)
class Prediction:
    """Predicted instructions and cycles of a node.

    Attributes:
        instructions: Instructions of an inference.
        cycles: Cycles of an inference; equal to the instructions if no cycles are known.
        basis: The source, in words.
        error: Median relative error of layers that the measurement was not fitted to; None if unknown, or if the source
            is not a measurement of the kernel.
        cycles_fit: Median relative error of the cycles of the fitted layers, which decides between kernels; None if
            unknown for this core and kernel.
        is_measured: False for a formula, and for measurements of another kernel.
        is_timed: True if the cycles are those of a board's clock.
    """

    instructions: int
    cycles: int
    basis: str
    error: float | None
    cycles_fit: float | None = None
    is_measured: bool = True
    is_timed: bool = False

    @property
    def time(self) -> int:
        """Cycles as far as they are known: those of a board, else one for each instruction."""
        return self.cycles if self.is_timed else self.instructions


@dataclass(frozen=True)
class KernelCost:
    """The cost of a node computed by a kernel in one call, with operands and results stored whole.

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
        """Returns the bytes of flash of a model with only this node, without the code outside of kernels."""
        return sum(self.flash.values())


def priority(implementation: Implementation) -> int:
    """Returns the priority of a kernel: a kernel is used only if none of higher priority accepts the node."""
    added = registry.key_priorities()
    sets = max(INSTRUCTION_SETS.get(key, added.get(key, _EXTENSION)) for key in implementation.keys)
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
        node: The node, after all passes.
        implementation: Name of the implementation; "" for none.
        target: The target; the prediction is for its host.
        rows: Measurements for kernels that are not the host's own, on cores in `measured.kernels`.
        calls: Number of calls that compute the node.
        growth: Work of the node in these calls, as a factor of the work in one call (`Implementation.growth`).
        call: The call that computes the node, which determines function and requantisation epilogue; None if unknown.
        formula: Instructions by the kernel's formula; None without a formula.
    """
    done = work(node, slow_epilogue=call is not None and call.slow_epilogue)
    function = "" if call is None else call.function
    cores = measured.nearest(target, is_float=node.output.dtype.is_float)
    known = registry.measurements() if rows is None else rows
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
            row.cycles_fit
            if own and row.cycles and row.core in (target.host.cpu.base, target.host.cpu.known_base)
            else None,
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
    """Returns the sum of a node's terms over a number of calls."""
    once = terms.get("setup", 0.0) + (calls - 1) * FURTHER_CALL
    return round(once + growth * sum(terms.get(term, 0.0) * count for term, count in done.terms.items()))

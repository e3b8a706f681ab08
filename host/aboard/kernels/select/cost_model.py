"""The cost model: instructions, cycles, flash and RAM of a node with a kernel. Every choice uses it.

Instructions and cycles come from the first available of these sources:

1. measurements of the kernel (`measured`), on the core most like the target's;
2. the kernel's own formula (`Implementation.formula`), for a kernel without measurements on any core;
3. measurements of another kernel of the op;
4. the average element on the core most like the target's.

Cycles include those that the core waits for its flash, on boards whose file states wait states and caches (`stalls`).

Only the first is `is_measured`, and a prediction names its source. Flash is the exact size of the packed constants,
plus the measured code of the kernel's C function (`code_size`). RAM is the scratch.

Choices compare the `time` of kernels: cycles if the cycles of the target's core are known from its manual
(`measured.has_cycles`), else instructions. A kernel is *priced* if its time is known: it is measured, on any core, with
an error of at most `_LARGEST_ERROR` for layers that it was not fitted to, or has a formula. Of kernels that are not
priced, the more specific one is assumed to be the faster (`specific`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import median

from aboard.ir import Node
from aboard.kernels import registry
from aboard.kernels.contract import Call, Implementation
from aboard.kernels.loops import RESULT
from aboard.kernels.select import measured, stalls
from aboard.kernels.select.flash import pieces
from aboard.kernels.select.work import Work, work
from aboard.kernels.view import View
from aboard.target import Target

#: Largest error of layers left out of a fit with which a kernel's predicted time is compared with that of others. Fits
#: of a few unlike layers have errors of up to 3.8 and would win by chance.
_LARGEST_ERROR = 0.5

#: Work of a kernel that does not count its loops for each element of windows that are no pixels, which it may copy.
_COPY = 4

#: Instructions of a further call in a cascade: table, switch, row counter, and the kernel's work once per call. On
#: Cortex-M4 a convolution of `kws` takes 86 more for each call.
FURTHER_CALL = 86


@dataclass(frozen=True)
class Prediction:
    """Predicted instructions and cycles of a node.

    Attributes:
        instructions: Instructions of an inference.
        cycles: Cycles of an inference; equal to the instructions if no cycles are known.
        basis: The source, in words.
        error: Median relative error of layers that the measurement was not fitted to; None if unknown, or if the source
            is not a measurement of the kernel.
        is_measured: False for a formula, and for measurements of another kernel.
        is_timed: True if the cycles are those of a board's clock.
        in_cycles: True if cycles decide, False if instructions do: no cycles of the target's core are known.
        is_priced: True if the prediction is compared with those of more specific kernels.
    """

    instructions: int
    cycles: int
    basis: str
    error: float | None
    is_measured: bool = True
    is_timed: bool = False
    in_cycles: bool = False
    is_priced: bool = False

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
    def time(self) -> float:
        """Cycles if those of the target's core are known, else instructions: what choices compare."""
        return self.cycles if self.prediction.in_cycles else self.instructions

    @property
    def unit(self) -> str:
        """Unit of `time`, in words."""
        return "cycles" if self.prediction.in_cycles else "instructions"

    @property
    def flash_bytes(self) -> int:
        """Returns the bytes of flash of a model with only this node, without the code outside of kernels."""
        return sum(self.flash.values())


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


def may_be_priced(node: Node, implementation: Implementation) -> bool:
    """Returns False if a kernel certainly has no price, which is known without its call."""
    has_rows = (implementation.op, implementation.name) in registry.measured_kernels()
    return has_rows or implementation.formula(node) is not None


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
    done = work(node) if call is None else work(node, slow_epilogue=call.slow_epilogue, loops=call.loops)
    if not done.loops:
        # For the row of another kernel, which may count its loops.
        copied = _COPY * done.window if done.spread else 0
        done = replace(done, loops=done.mac + RESULT * done.element + copied)
    function = "" if call is None else call.function
    found = _without_waits(node, (implementation, function), target, rows, calls, growth, done, formula)
    terms = {"setup": 1.0, **{term: growth * count for term, count in done.terms.items()}}
    waited = stalls.cycles(target, (node.op, implementation, function), terms, found.cycles)
    return replace(found, cycles=found.cycles + waited) if waited else found


def _without_waits(
    node: Node,
    kernel: tuple[str, str],
    target: Target,
    rows: Sequence[measured.KernelMeasurement] | None,
    calls: int,
    growth: float,
    done: Work,
    formula: float | None,
) -> Prediction:
    """Returns the prediction for memory without wait states; `kernel` is implementation and C function."""
    implementation, function = kernel
    cores = measured.nearest(target, is_float=node.output.dtype.is_float)
    in_cycles = measured.has_cycles(target)
    if rows is None:
        row = _nearest_row(cores, node.op, implementation, function)
    else:
        row = next(iter(measured.by_likeness(rows, cores, node.op, implementation, function)), None)
    own = row is not None and row.implementation == implementation
    if formula is not None and not own:
        guess = round(growth * formula) + (calls - 1) * FURTHER_CALL
        basis = f"formula of {implementation}"
        return Prediction(guess, guess, basis, None, is_measured=False, in_cycles=in_cycles, is_priced=True)
    if row is not None:
        instructions = _sum(row.instructions, done, calls, growth)
        error = row.cycles_error if in_cycles else row.error
        return Prediction(
            instructions,
            _sum(row.cycles, done, calls, growth) if row.cycles else instructions,
            f"{row.implementation} on {row.core}",
            row.error if own else None,
            is_measured=own,
            in_cycles=in_cycles,
            is_priced=own and (error is None or error <= _LARGEST_ERROR),
        )
    average = median(
        row.instructions["element"]
        for row in measured.kernels()
        if row.core == cores[0] and "element" in row.instructions
    )
    guess = round(average * done.element)
    return Prediction(guess, guess, f"average element on {cores[0]}", None, is_measured=False, in_cycles=in_cycles)


@cache
def _nearest_row(
    cores: Sequence[str], op: str, implementation: str, function: str
) -> measured.KernelMeasurement | None:
    """Returns the first row of the host's kernels `by_likeness`; a row of the implementation, if there is one."""
    return next(iter(measured.by_likeness(registry.measurements(), cores, op, implementation, function)), None)


def _sum(terms: Mapping[str, float], done: Work, calls: int, growth: float) -> int:
    """Returns the sum of a node's terms over a number of calls."""
    once = terms.get("setup", 0.0) + (calls - 1) * FURTHER_CALL
    return round(once + growth * sum(terms.get(term, 0.0) * count for term, count in done.terms.items()))

"""Moments: the calls of a schedule one by one, and the rows of each tensor that a moment writes and reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from aboard.ir import Node, Tensor
from aboard.ops import rows_of
from aboard.schedule.buffers import AFTER_LAST
from aboard.schedule.cascade import Cascade
from aboard.schedule.lowering import Program, Step
from aboard.schedule.receptive_field import Progress, ReceptiveFields


@dataclass(frozen=True)
class Written:
    """Rows [first, last) of a tensor that a moment writes."""

    moment: int
    first: int
    last: int


@dataclass
class Moments:
    """The moments of a schedule.

    Attributes:
        of_step: For each step, its first and its last moment; then the moment after the last step, in which outputs are
            read. Steps of a cascade are computed between each other.
        of_node: For each node of a cascade, its moments.
        written: For each tensor that a cascade writes, or that its caller pushes, the rows of each moment.
        last_read: For each tensor that a cascade reads, the last moment that reads each row; -1 for a row that none
            reads.
    """

    of_step: list[tuple[int, int]] = field(default_factory=list)
    of_node: dict[Node, list[int]] = field(default_factory=dict)
    written: dict[Tensor, list[Written]] = field(default_factory=dict)
    last_read: dict[Tensor, list[int]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The moment after the last step."""
        return self.of_step[-1][1]


def moments(program: Program) -> Moments:
    """Returns the moments of a schedule."""
    found, now = Moments(), 0
    cascades = {cascade.nodes[0]: cascade for cascade in program.assignment.cascades}
    step = 0
    while step < len(program.steps):
        cascade = cascades.get(program.steps[step].node)
        count = 1 if cascade is None else len(cascade.nodes)
        if cascade is not None:
            _add_cascade(found, cascade, program.steps[step : step + count], now)
        last = now if cascade is None else now + len(cascade.stripes) - 1
        found.of_step += [(now, last)] * count
        now, step = last + 1, step + count
    found.of_step += [(now, now)] * AFTER_LAST
    return found


def _add_cascade(found: Moments, cascade: Cascade, steps: tuple[Step, ...], start: int) -> None:
    fields: ReceptiveFields = {}
    nodes = [_progress(step, fields) for step in steps]
    for moment, stripe in enumerate(cascade.stripes, start):
        if stripe.position == len(nodes):
            if cascade.streamed_input is not None:
                found.written.setdefault(cascade.streamed_input, []).append(Written(moment, stripe.first, stripe.last))
            continue
        progress = nodes[stripe.position]
        node = progress.node
        found.of_node.setdefault(node, []).append(moment)
        if not progress.accumulates:
            found.written.setdefault(node.output, []).append(Written(moment, stripe.first, stripe.last))
        elif stripe.last == progress.rows:
            found.written[node.output] = [Written(moment, 0, rows_of(node.output.shape))]
        for index, tensor in enumerate(node.inputs):
            if tensor is not None and not tensor.is_constant:
                first, last = _reads(progress, index, stripe.first, stripe.last)
                known = found.last_read.setdefault(tensor, [-1] * rows_of(tensor.shape))
                known[first:last] = [moment] * (last - first)


def _progress(step: Step, fields: ReceptiveFields) -> Progress:
    row_wise = step.implementation.row_wise(step.node)
    if row_wise is None:
        raise ValueError(f"{step.node.name} is in a cascade, and computes all rows at once")
    return Progress.of(step.node, row_wise, fields)


def _reads(progress: Progress, index: int, first: int, last: int) -> tuple[int, int]:
    """Returns the rows of an operand that a stripe reads; a kernel that keeps rows of operand 0 reads them once."""
    begin, end = progress.reads(index, first, last)
    if progress.keeps and index == 0 and first > 0:
        begin = max(begin, progress.reads(0, 0, first)[1])
    return begin, max(begin, end)

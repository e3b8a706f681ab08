"""Instructions of the host for each step of a schedule.

Those of a branch are those of the longer way, those of a loop are those of one iteration.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from aboard.ir import Node
from aboard.kernels.contract import ExternalCall
from aboard.kernels.control import ControlCall
from aboard.kernels.select.cost_model import Prediction, predict
from aboard.ops import get
from aboard.schedule.buffers import BufferAssignment
from aboard.schedule.control import CompiledBody, roles
from aboard.schedule.lowering import Step
from aboard.target import Target
from aboard.tuning.choice import RecordedCost

#: Basis of a prediction that is a tuning record.
_TUNED = "measured by aboard tune"


def cost(step: Step, assignment: BufferAssignment, target: Target) -> Prediction:
    """Returns the prediction for all stripes of a step that the host computes."""
    if isinstance(step.call, ControlCall):
        return _of_control(step, step.call, target)
    calls = assignment.stripes_of(step.node)
    predicted = predict(
        step.node,
        step.implementation.name,
        target,
        calls=calls,
        growth=growth(step, assignment),
        call=step.call,
        formula=step.implementation.formula(step.node),
    )
    return _recorded(predicted, step.implementation.tuned.cost, calls)


def instructions(steps: Iterable[Step], assignment: BufferAssignment, target: Target) -> int:
    """Returns the predicted instructions of the steps that the host computes."""
    hosted = (step for step in steps if not isinstance(step.call, ExternalCall))
    return sum(cost(step, assignment, target).instructions for step in hosted)


def cycles(steps: Iterable[Step], assignment: BufferAssignment, target: Target) -> int:
    """Returns the predicted cycles of the steps that the host computes, or `instructions` if no cycles are known."""
    hosted = (step for step in steps if not isinstance(step.call, ExternalCall))
    return sum(cost(step, assignment, target).cycles for step in hosted)


def _recorded(predicted: Prediction, cost: RecordedCost | None, calls: int) -> Prediction:
    """Returns a prediction with the figures of a tuning record, if the node had as many calls then."""
    if cost is None or cost.calls != calls:
        return predicted
    if cost.instructions is not None:
        rate = predicted.cycles / max(predicted.instructions, 1)
        return replace(
            predicted, instructions=cost.instructions, cycles=round(cost.instructions * rate), basis=_TUNED, error=0.0
        )
    cycles = predicted.cycles if cost.cycles is None else cost.cycles
    return replace(predicted, cycles=cycles, basis=_TUNED, is_timed=True)


def _of_control(step: Step, call: ControlCall, target: Target) -> Prediction:
    if not call.bodies:
        return Prediction(0, 0, "not compiled yet", None, is_measured=False)
    bodies = [_of_body(body, target) for body in roles(step.node, call).values()]
    combined, basis = (max, "the longer branch") if step.node.op == "if" else (sum, "one iteration")
    instructions = combined([each.instructions for each in bodies])
    return Prediction(instructions, combined([each.cycles for each in bodies]), basis, None)


def _of_body(body: CompiledBody, target: Target) -> Prediction:
    costs = [cost(step, body.program.assignment, target) for step in body.program.steps]
    return Prediction(sum(each.instructions for each in costs), sum(each.cycles for each in costs), "", None)


def macs(node: Node, assignment: BufferAssignment) -> int:
    """Returns the multiply-accumulates of a node, with those that its stripes compute again."""
    cascade = next((each for each in assignment.cascades if node in each.nodes), None)
    op = get(node.op)
    return op.macs(node) if cascade is None else op.macs_in_stripes(node, cascade.rows_of_stripes(node))


def growth(step: Step, assignment: BufferAssignment) -> float:
    """Returns the work of a step's kernel in stripes, as a factor of its work for all rows at once."""
    rows = assignment.stripe_height(step.node)
    return 1.0 if rows is None else step.implementation.growth(step.node, rows)

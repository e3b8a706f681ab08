"""Instructions of the host for each step of a schedule."""

from __future__ import annotations

from aboard.kernels.select.cost_model import Prediction, predict
from aboard.schedule.buffers import BufferAssignment
from aboard.schedule.lowering import Step
from aboard.target import Target


def cost(step: Step, assignment: BufferAssignment, target: Target) -> Prediction:
    """Returns the prediction for all stripes of a step that a kernel computes."""
    return predict(
        step.node,
        step.implementation.name,
        target,
        calls=assignment.stripes_of(step.node),
        growth=growth(step, assignment),
        call=step.call,
    )


def growth(step: Step, assignment: BufferAssignment) -> float:
    """Returns the work of a step's kernel in stripes, as a factor of its work for all rows at once."""
    rows = assignment.stripe_height(step.node)
    return 1.0 if rows is None else step.implementation.growth(step.node, rows)

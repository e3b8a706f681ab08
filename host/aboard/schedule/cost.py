"""What steps take on the host as their schedule computes them."""

from __future__ import annotations

from aboard.kernels.select.cost_model import Prediction, predict
from aboard.schedule.lowering import Step
from aboard.schedule.storage import Storage
from aboard.target import Target


def cost(step: Step, storage: Storage, target: Target) -> Prediction:
    """Returns what a step that a kernel computes takes on the host, all its turns together."""
    turns = storage.turns_of(step.node)
    return predict(
        step.node,
        step.implementation.name,
        target,
        calls=turns,
        growth=growth(step, storage),
        call=step.call,
    )


def growth(step: Step, storage: Storage) -> float:
    """Returns how much more work a step's kernel does in its turns than all at once, as a factor."""
    rows = storage.rows_of_turn(step.node)
    return 1.0 if rows is None else step.implementation.growth(step.node, rows)

"""Draws an edit of a model and keeps it if the damaged layer's output shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from support.damage.records import CAUSES, Damaged, Edit, NoFaultError, Values

#: Least change of the damaged layer's output, of the root mean square of that output.
LEAST_CHANGE = 0.05

# A draw that does not show is repeated with other numbers or another layer.
_ATTEMPTS = 16


@dataclass(frozen=True)
class Measured:
    """A tensor of a run.

    Attributes:
        values: Real numbers.
        step: The difference of neighbouring numbers that the tensor can hold; 0 if it is not quantised.
    """

    values: np.ndarray
    step: float


class Editable(Protocol):
    """A model file whose layers can be damaged."""

    def edits(self, cause: str) -> Sequence[Edit]:
        """Returns the edits of a cause, one for each layer and form."""

    def tensor(self, layer: int) -> str:
        """Returns the name of the first output of an operator."""

    def carriers(self, layer: int) -> tuple[str, ...]:
        """Returns `Damaged.carriers` for an operator."""

    def evaluate(self, data: bytes, feed: Values, layer: int) -> Sequence[Measured]:
        """Returns the operator's first output and, where a compiler merges operators, the last tensor that it may keep.

        Args:
            data: This file or an edited form of it; empty for this file.
            feed: Values of the inputs, of the shapes that the file states.
            layer: Index of the operator.

        Raises:
            RuntimeError: The oracle refuses the file.
            ValueError: The oracle refuses the file.
        """


def damaged(model: Editable, rng: np.random.Generator, feeds: Sequence[Values], cause: str | None) -> Damaged:
    """Returns the model with a drawn fault; the same seed gives the same fault.

    Args:
        model: The file.
        rng: Draws the cause, the layer and the numbers.
        feeds: Samples on which the fault shows: together they change the output of the damaged layer by at least
            `LEAST_CHANGE` of its root mean square and by one quantisation step.
        cause: The cause; None to draw one that the model can have.

    Raises:
        NoFaultError: No draw of the cause shows on the samples.
    """
    wanted = [str(each) for each in rng.permutation(CAUSES)] if cause is None else [cause]
    for each in wanted:
        edits = model.edits(each)
        for edit in _order(edits, rng):
            made = edit.make(rng)
            if made is not None and _shows(model, made[2], edit.layer, feeds):
                form, description, data = made
                name = model.tensor(edit.layer)
                return Damaged(data, each, edit.layer, name, form, description, model.carriers(edit.layer))
    raise NoFaultError(
        f"model: no fault by {' or '.join(wanted)} shows on {len(feeds)} samples. Draw another cause or model"
    )


def _order(edits: Sequence[Edit], rng: np.random.Generator) -> list[Edit]:
    """Returns the edits to try, none a second time before all have been tried once."""
    rounds = -(-_ATTEMPTS // len(edits)) if edits else 0
    places = [int(place) for _ in range(rounds) for place in rng.permutation(len(edits))]
    return [edits[place] for place in places[:_ATTEMPTS]]


def _shows(model: Editable, data: bytes, layer: int, feeds: Sequence[Values]) -> bool:
    before = [model.evaluate(b"", feed, layer) for feed in feeds]
    try:
        after = [model.evaluate(data, feed, layer) for feed in feeds]
    except (RuntimeError, ValueError):
        return False
    return all(_differs(*tensors) for tensors in zip(zip(*before, strict=True), zip(*after, strict=True), strict=True))


def _differs(before: Sequence[Measured], after: Sequence[Measured]) -> bool:
    """Returns whether one tensor differs enough, by its values in all samples."""
    if before[0].values.shape != after[0].values.shape:
        return True
    old, new = (np.stack([each.values for each in side]) for side in (before, after))
    change, whole = (float(np.sqrt(np.square(each).mean())) for each in (new - old, old))
    return bool(np.isfinite(change) and change > 0 and change >= max(LEAST_CHANGE * whole, before[0].step))

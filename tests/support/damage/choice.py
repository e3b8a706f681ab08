"""Draws an edit of a model and keeps it if the damaged layer's output shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from support.damage.records import CAUSES, Damaged, Edit, NoFaultError, Values

#: Least change of the damaged layer's output, of the root mean square of that output.
LEAST_CHANGE = 0.05

# A draw that does not show is repeated with other numbers or another layer.
_ATTEMPTS = 16

Outputs = Mapping[str, np.ndarray]


class Editable(Protocol):
    """A model file whose layers can be damaged."""

    def edits(self, cause: str) -> Sequence[Edit]:
        """Returns the edits of a cause, one for each layer and form."""

    def tensor(self, layer: int) -> str:
        """Returns the name of the first output of an operator."""

    def carriers(self, layer: int) -> tuple[str, ...]:
        """Returns `Damaged.carriers` for an operator."""

    def evaluate(self, data: bytes, feed: Values, layer: int) -> np.ndarray:
        """Returns the first output of an operator as real numbers, by the oracle.

        Args:
            data: This file or an edited form of it.
            feed: Values of the inputs, of the shape that the file states.
            layer: Index of the operator.

        Raises:
            RuntimeError: The oracle refuses the file.
        """

    def step(self, layer: int) -> float:
        """Returns the quantisation step of an operator's output; 0 for real numbers."""


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
        for place in rng.permutation(np.resize(np.arange(len(edits)), _ATTEMPTS)) if edits else ():
            edit = edits[int(place)]
            made = edit.make(rng)
            if made is not None and _shows(model, made[2], edit.layer, feeds):
                form, description, data = made
                name = model.tensor(edit.layer)
                return Damaged(data, each, edit.layer, name, form, description, model.carriers(edit.layer))
    raise NoFaultError(f"no fault by {' or '.join(wanted)} shows on the samples")


def _shows(model: Editable, data: bytes, layer: int, feeds: Sequence[Values]) -> bool:
    change, whole, count = 0.0, 0.0, 0
    for feed in feeds:
        try:
            after = model.evaluate(data, feed, layer)
        except (RuntimeError, ValueError):
            return False
        before = model.evaluate(b"", feed, layer)
        if before.shape != after.shape:
            return True
        change += float(np.square(after - before).sum())
        whole += float(np.square(before).sum())
        count += before.size
    least = max(LEAST_CHANGE**2 * whole, count * model.step(layer) ** 2)
    return bool(np.isfinite(change) and change > 0 and change >= least)

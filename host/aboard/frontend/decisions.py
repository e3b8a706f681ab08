"""From scores to decisions, as `firmware/frontend/decisions.h` computes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aboard.errors import InputError

Scores = npt.NDArray[np.int8]


def averages(scores: Scores, length: int) -> Scores:
    """Returns for each run the average score of the last runs, rounded half up; at the beginning, of those there are.

    Args:
        scores: int8 [..., runs, classes]; each leading index is a stream of its own.
        length: Runs that are averaged, from 1.

    Raises:
        InputError: The length is below 1.
    """
    if length < 1:
        raise InputError(f"length of a moving average, got {length}, expected 1 at least. Change it")
    raised = scores.astype(np.int64) + 128
    sums = np.cumsum(raised, axis=-2)
    sums[..., length:, :] -= sums[..., :-length, :].copy()
    count = np.minimum(np.arange(scores.shape[-2]) + 1, length)[:, None]
    found: Scores = ((2 * sums + count) // (2 * count) - 128).astype(np.int8)
    return found


@dataclass(frozen=True)
class Decider:
    """Decides for a class when its score stays high, and once for each time that it does.

    Attributes:
        threshold: Score from which on the highest class counts, as the model's integer.
        release: Score below which a decided class may be decided again; at most the threshold.
        needed: Runs in sequence in which one class must count, from 1.
        pause: Runs after a decision without another.
        background: The class that stands for nothing and is never decided; None if every class may be.
    """

    threshold: int
    release: int
    needed: int = 1
    pause: int = 0
    background: int | None = None

    def __post_init__(self) -> None:
        """Checks the numbers.

        Raises:
            InputError: One of them is out of range.
        """
        if not (-128 <= self.release <= self.threshold <= 127 and self.needed >= 1 and self.pause >= 0):
            raise InputError(
                f"decisions, got threshold {self.threshold}, release {self.release}, needed {self.needed}, pause "
                f"{self.pause}, expected -128 <= release <= threshold <= 127, needed >= 1, pause >= 0. Change them"
            )

    def fields(self, classes: int) -> dict[str, int]:
        """Returns the fields of `aboard_decision_t`."""
        background = -1 if self.background is None else self.background
        return {"classes": classes, "background": background, "threshold": self.threshold, "release": self.release,
                "needed": self.needed, "pause": self.pause}  # fmt: skip

    def __call__(self, scores: Scores) -> list[tuple[int, int]]:
        """Returns the decisions for one stream of scores or averages [runs, classes]: run and class."""
        found = []
        held, leading, runs, waiting = -1, -1, 0, 0
        for run, (best, row) in enumerate(zip(scores.argmax(axis=1).tolist(), scores.tolist(), strict=True)):
            if held >= 0 and row[held] < self.release:
                held = -1
            counts = row[best] >= self.threshold and best != self.background
            runs = (runs + 1 if best == leading else 1) if counts else 0
            leading = best if counts else -1
            if waiting > 0:
                waiting -= 1
            elif counts and best != held and runs >= self.needed:
                held, waiting = best, self.pause
                found.append((run, best))
        return found

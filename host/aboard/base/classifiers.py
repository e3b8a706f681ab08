"""Which output of a model has the scores of classes."""

from __future__ import annotations

from collections.abc import Sequence


def scores_at(sizes: Sequence[int]) -> int | None:
    """Returns the number of the output with a score for each class; None for a model that is no classifier.

    A classifier has that output alone, or beside the label of the class, as the models of scikit-learn have it.

    Args:
        sizes: Number of elements of each output.
    """
    several = [number for number, size in enumerate(sizes) if size > 1]
    return several[0] if len(several) == 1 and len(sizes) <= 2 else None

"""Which output of a model has the scores of classes."""

from __future__ import annotations

import pytest

from aboard.base.classifiers import scores_at


@pytest.mark.parametrize(
    ("sizes", "expected"), [([10], 0), ([1, 3], 1), ([3, 1], 0), ([1], None), ([1, 1], None), ([3, 2], None)]
)
def test_scores_are_the_only_output_of_several_elements(sizes: list[int], expected: int | None) -> None:
    assert scores_at(sizes) == expected


def test_a_third_output_is_not_that_of_a_classifier() -> None:
    assert scores_at([1, 3, 1]) is None

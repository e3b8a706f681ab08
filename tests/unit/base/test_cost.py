"""Costs of regions: what several runs show, and when one cost is less than another."""

from __future__ import annotations

import pytest

from aboard.base.cost import Cost, total


def test_several_runs_have_a_median_and_a_spread() -> None:
    assert Cost.of([7], "instructions") == Cost(7, "instructions", 0)
    assert Cost.of([130, 100, 104, 102, 900], "ticks") == Cost(104, "ticks", 28)
    assert Cost.of([10, 20], "ticks") == Cost(15, "ticks", 5)


@pytest.mark.parametrize(
    ("mine", "other", "less"),
    [
        (Cost(99, "instructions"), Cost(100, "instructions"), True),
        (Cost(100, "instructions"), Cost(100, "instructions"), False),
        (Cost(90, "ticks", 9), Cost(100, "ticks", 2), True),
        (Cost(90, "ticks", 10), Cost(100, "ticks", 2), False),
        (Cost(90, "ticks", 2), Cost(100, "ticks", 10), False),
    ],
)
def test_a_cost_is_less_by_more_than_the_spread(mine: Cost, other: Cost, less: bool) -> None:
    assert mine.beats(other) is less


def test_costs_add_up() -> None:
    assert total([Cost(3, "ticks", 1), Cost(5, "ticks", 2)]) == Cost(8, "ticks", 3)

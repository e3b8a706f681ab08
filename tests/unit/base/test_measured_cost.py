"""Costs of regions: what several runs show, and when one cost is less than another."""

from __future__ import annotations

import pytest

from aboard.base.measured_cost import MeasuredCost, total


def test_several_runs_have_a_median_and_a_spread() -> None:
    assert MeasuredCost.of([7], "instructions") == MeasuredCost(7, "instructions", 0)
    assert MeasuredCost.of([130, 100, 104, 102, 900], "ticks") == MeasuredCost(104, "ticks", 28)
    assert MeasuredCost.of([10, 20], "ticks") == MeasuredCost(15, "ticks", 5)


@pytest.mark.parametrize(
    ("mine", "other", "less"),
    [
        (MeasuredCost(99, "instructions"), MeasuredCost(100, "instructions"), True),
        (MeasuredCost(100, "instructions"), MeasuredCost(100, "instructions"), False),
        (MeasuredCost(90, "ticks", 9), MeasuredCost(100, "ticks", 2), True),
        (MeasuredCost(90, "ticks", 10), MeasuredCost(100, "ticks", 2), False),
        (MeasuredCost(90, "ticks", 2), MeasuredCost(100, "ticks", 10), False),
    ],
)
def test_a_cost_is_less_by_more_than_the_spread(mine: MeasuredCost, other: MeasuredCost, less: bool) -> None:
    assert mine.beats(other) is less


def test_costs_add_up() -> None:
    assert total([MeasuredCost(3, "ticks", 1), MeasuredCost(5, "ticks", 2)]) == MeasuredCost(8, "ticks", 3)

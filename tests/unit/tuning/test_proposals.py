"""The order in which points are tried."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.tuner.proposals import Proposer
from aboard.tuning.space import Point


def product(*sizes: int) -> list[Point]:
    return [dict(zip("abcdef", values, strict=False)) for values in itertools.product(*map(range, sizes))]


def proposed(proposer: Proposer, cost: Callable[[Point], float | None]) -> list[Point]:
    found = []
    while (point := proposer.next()) is not None:
        found.append(point)
        proposer.told(point, cost(point))
    return found


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
@settings(deadline=None, max_examples=30)
def test_a_small_space_is_tried_whole_in_its_order(sizes: Sequence[int]) -> None:
    points = product(*sizes)
    assert proposed(Proposer(points), lambda point: 1.0) == points


def test_recorded_points_are_tried_right_after_the_defaults() -> None:
    points = product(2, 3)
    known = [{"a": 1, "b": 2}, {"a": 9, "b": 0}, {"a": 0, "b": 0}]
    assert proposed(Proposer(points, known), lambda point: 1.0)[:3] == [points[0], known[0], points[1]]


@given(st.lists(st.integers(2, 4), min_size=2, max_size=4), st.integers(1, 40))
@settings(deadline=None, max_examples=60)
def test_a_limit_keeps_to_its_number_and_never_repeats(sizes: Sequence[int], limit: int) -> None:
    points = product(*sizes)
    found = proposed(Proposer(points, limit=limit), lambda point: 1.0 + sum(map(int, point.values())))
    assert len(found) == min(limit, len(points)) == Proposer(points, limit=limit).count
    assert found[0] == points[0]
    assert all(found.count(point) == 1 and point in points for point in found)


def test_of_a_large_space_every_value_of_every_knob_is_tried_first() -> None:
    found = proposed(Proposer(product(4, 4, 4, 4), limit=20), lambda point: 1.0)
    assert all(sum(value != 0 for value in point.values()) <= 1 for point in found[:13])
    assert {(name, value) for point in found[:13] for name, value in point.items()} == {
        (name, value) for name in "abcd" for value in range(4)
    }


@pytest.mark.parametrize("best", [(3, 1, 2, 3), (0, 0, 0, 1), (2, 2, 2, 2)])
def test_the_model_finds_a_best_point_whose_knobs_multiply(best: tuple[int, ...]) -> None:
    points = product(4, 4, 4, 4)
    wanted = dict(zip("abcd", best, strict=True))

    def cost(point: Point) -> float:
        factor = 1000.0
        for name, value in point.items():
            factor *= 0.8 if value == wanted[name] else 1.1
        return factor

    found = proposed(Proposer(points, limit=16), cost)
    assert wanted in found
    assert min(found, key=cost) == wanted


def test_points_that_are_refused_teach_nothing() -> None:
    found = proposed(Proposer(product(4, 4, 4), limit=30), lambda point: None)
    assert len(found) == 30

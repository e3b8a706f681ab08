"""The space of a device: its points, and what is refused of the column `tuning`."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import TargetError
from aboard.target import Knob, Target
from aboard.tuning import space
from aboard.tuning.choice import DEFAULTS, ChosenPoint, Given, GivenEach, TunedPart, choose, region
from support.device import device

ROWS, ORDER = Knob("rows", (4, 1, 8), "Rows of a tile"), Knob("order", ("by_row", "by_channel"), "Order of the loops")
ALONE = "fake"


def place(text: str = "w") -> TunedPart:
    return region(Target(f"c -runtime=host + {ALONE}"), Target(ALONE, as_device=True), ALONE, text)


def knobs(*found: Any) -> Any:
    return device((), tuning=lambda target: found)


def test_points_begin_with_the_defaults_and_are_all_there() -> None:
    with knobs(ROWS, ORDER):
        found = space.of_device(Target(ALONE, as_device=True))
        points = list(found.points())
        assert found.defaults == points[0] == {"rows": 4, "order": "by_row"}
        assert points[1:3] == [{"rows": 4, "order": "by_channel"}, {"rows": 1, "order": "by_row"}]
        assert found.size == len(points) == 6
        assert space.shown(points[1]) == "rows=4, order=by_channel"


@given(st.lists(st.lists(st.integers(), min_size=1, max_size=4, unique=True), max_size=4))
@settings(deadline=None, max_examples=30)
def test_every_point_is_there_once_and_fits(values: list[list[int]]) -> None:
    with knobs(*(Knob(f"k{number}", tuple(one), "A knob") for number, one in enumerate(values))):
        found = space.of_device(Target(ALONE, as_device=True))
        points = list(found.points())
        assert len({tuple(point.items()) for point in points}) == len(points) == math.prod(map(len, values))
        assert all(found.problem(point) == "" for point in points)


def test_a_device_without_knobs_needs_no_choice() -> None:
    with device(()):
        assert choose(DEFAULTS, place()) == ChosenPoint({}, "")
        assert list(space.of_device(Target(ALONE, as_device=True)).points()) == [{}]
        assert space.shown({}) == "defaults"


def test_a_given_point_keeps_the_other_defaults() -> None:
    with knobs(ROWS, ORDER):
        assert choose(Given({ALONE: {"rows": 8}}), place()) == ChosenPoint({"rows": 8, "order": "by_row"}, "given")
        assert choose(Given({"other": {"rows": 8}}), place()) == ChosenPoint({"rows": 4, "order": "by_row"}, "default")


def test_a_point_may_be_given_for_one_workload() -> None:
    with knobs(ROWS):
        tuning = GivenEach({(ALONE, "w"): {"rows": 8}})
        assert choose(tuning, place()).values == {"rows": 8}
        assert choose(tuning, place("other")) == ChosenPoint({"rows": 4}, "default")


KERNELS = space.Space(
    (
        (Knob("kernel", ("quick",), "The kernel"), ROWS),
        (Knob("kernel", ("small",), "The kernel"), ORDER),
    )
)


def test_a_space_may_have_alternatives_with_knobs_of_their_own() -> None:
    points = list(KERNELS.points())
    assert KERNELS.size == len(points) == 5
    assert KERNELS.defaults == points[0] == {"kernel": "quick", "rows": 4}
    assert points[3] == {"kernel": "small", "order": "by_row"}
    assert all(KERNELS.problem(point) == "" for point in points)
    assert KERNELS.completed({"kernel": "small"}) == points[3]
    assert KERNELS.completed({"rows": 8}) == {"kernel": "quick", "rows": 8}


@pytest.mark.parametrize(
    ("point", "text"),
    [
        ({"kernel": "other"}, "value of kernel, got other, expected one of: quick, small"),
        ({"kernel": "small", "rows": 4}, "no such knob, got rows, expected one of: kernel, order"),
        ({"kernel": "small", "order": "no"}, "value of order, got no, expected one of: by_row, by_channel"),
    ],
)
def test_a_point_outside_all_alternatives_is_refused(point: dict[str, Any], text: str) -> None:
    assert KERNELS.problem(point) == text


@pytest.mark.parametrize(
    ("point", "text"),
    [
        ({"row": 8}, r"tuning of fake: no such knob, got row, expected one of: .*rows.*\. Correct the given point$"),
        ({"rows": 5}, r"tuning of fake: value of rows, got 5, expected one of: 4, 1, 8\. Correct the given point$"),
    ],
)
def test_a_point_outside_the_space_is_refused(point: dict[str, Any], text: str) -> None:
    with knobs(ROWS, ORDER), pytest.raises(TargetError, match=text):
        choose(Given({ALONE: point}), place())


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (("rows",), r"kind fake, column tuning: got str, expected Knob\. Return a tuple of them"),
        ((Knob("rows", (), "Rows"),), r"values of knob rows, got none, expected one or more, each once"),
        ((Knob("rows", (1, 2, 1), "Rows"),), r"values of knob rows, got 1, 2, 1, expected one or more, each once"),
        ((ROWS, ROWS), r"column tuning: got knob rows twice, expected names of their own\. Rename one of them"),
    ],
)
def test_a_wrong_column_is_refused(found: Any, text: str) -> None:
    with knobs(*found), pytest.raises(TargetError, match=text):
        space.knobs(Target(ALONE, as_device=True))

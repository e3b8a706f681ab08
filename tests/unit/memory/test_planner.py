from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import VerifyError
from aboard.memory.planner import plan
from aboard.memory.problem import Plan, Request, lower_bound, round_up
from aboard.memory.validate import validate


@st.composite
def problems(draw: st.DrawFn, largest: int = 12) -> list[Request]:
    count = draw(st.integers(1, largest))
    requests = []
    for number in range(count):
        first = draw(st.integers(0, 8))
        last = draw(st.integers(first, min(first + 4, 9)))
        size, align = draw(st.integers(1, 64)), draw(st.sampled_from([1, 4, 8]))
        requests.append(Request(f"r{number}", size, first, last, align))
    return requests


def best_by_brute_force(requests: list[Request]) -> int:
    """First fit over every order reaches every gravity-stable plan, so its best is the optimum."""
    best = 1 << 30
    for order in permutations(range(len(requests))):
        placed: dict[int, int] = {}
        for index in order:
            request, at = requests[index], 0
            for begin, end in sorted(
                (placed[j], placed[j] + requests[j].bytes) for j in placed if requests[j].overlaps(request)
            ):
                if at + request.bytes <= begin:
                    break
                at = max(at, round_up(end, request.align))
            placed[index] = at
        best = min(best, max(placed[i] + requests[i].bytes for i in placed))
    return best


@given(problems())
@settings(max_examples=100, deadline=None)
def test_a_plan_is_valid_and_never_below_its_bound(requests: list[Request]) -> None:
    result = plan(requests)
    validate(requests, result)
    assert lower_bound(requests) <= result.bound <= result.peak


@given(problems(largest=5))
@settings(max_examples=40, deadline=None)
def test_small_problems_are_solved_to_the_optimum(requests: list[Request]) -> None:
    assert plan(requests).peak == best_by_brute_force(requests)


def test_the_search_beats_greedy_orders_where_they_fragment() -> None:
    # Two long-lived buffers that a size order would put on either side of a hole too small for the third.
    sizes_and_lives = [(4, 0, 1), (8, 1, 2), (8, 2, 3), (12, 3, 4), (4, 0, 4)]
    requests = [Request(f"r{i}", *fields) for i, fields in enumerate(sizes_and_lives)]
    result = plan(requests)
    assert result.optimal
    assert result.peak == best_by_brute_force(requests) == 24


def test_nothing_to_place_needs_nothing() -> None:
    assert plan([]) == Plan((), 0, 0)


def test_the_same_problem_gives_the_same_plan() -> None:
    requests = [Request(f"r{i}", 7 * (i % 5) + 1, i % 4, i % 4 + i % 3) for i in range(20)]
    assert plan(requests) == plan(list(requests))


@pytest.mark.parametrize(
    ("requests", "offsets", "peak", "message"),
    [
        ([Request("a", 4, 0, 0)], (), 4, "memory plan: 0 offsets, expected 1"),
        ([Request("a", 8, 0, 0)], (0,), 4, "memory plan: a at 0..8, expected within 0..4"),
        ([Request("a", 4, 0, 0)], (-4,), 4, "memory plan: a at -4..0, expected within 0..4"),
        ([Request("a", 2, 0, 0)], (2,), 4, "memory plan: a at 2, expected a multiple of 4"),
        (
            [Request("a", 4, 0, 1), Request("b", 8, 1, 2)],
            (4, 0),
            8,
            "memory plan: a and b are alive together and share bytes",
        ),
    ],
)
def test_the_validator_names_what_is_wrong(
    requests: list[Request], offsets: tuple[int, ...], peak: int, message: str
) -> None:
    with pytest.raises(VerifyError) as error:
        validate(requests, Plan(offsets, peak, peak))
    assert str(error.value) == message

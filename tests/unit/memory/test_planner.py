from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import VerifyError
from aboard.memory.planner import plan
from aboard.memory.problem import WORD, LiveRange, MemoryPlan, Overlap, lower_bound, round_up
from aboard.memory.validate import validate


@st.composite
def problems(draw: st.DrawFn, largest: int = 12) -> tuple[list[LiveRange], list[Overlap]]:
    count = draw(st.integers(1, largest))
    live_ranges = []
    for number in range(count):
        first = draw(st.integers(0, 8))
        last = draw(st.integers(first, min(first + 4, 9)))
        size, align = draw(st.integers(1, 64)), draw(st.sampled_from([1, 4, 8]))
        live_ranges.append(LiveRange(f"r{number}", size, first, last, align))
    return live_ranges, draw_overlaps(draw, live_ranges)


def draw_overlaps(draw: st.DrawFn, live_ranges: list[LiveRange]) -> list[Overlap]:
    """Lets some buffers share bytes with another that is live with them, of which they need not know the start."""
    overlaps: list[Overlap] = []
    for j, result in enumerate(live_ranges):
        others = [i for i, r in enumerate(live_ranges) if i < j and r.overlaps(result)]
        if others and draw(st.booleans()):
            overlaps.append(Overlap(draw(st.sampled_from(others)), j, draw(st.integers(-40, 70))))
    return overlaps


def fits(live_ranges: list[LiveRange], overlaps: list[Overlap], placed: dict[int, int], index: int, at: int) -> bool:
    """True when a buffer may begin at an offset beside those placed."""
    for other, there in placed.items():
        if not live_ranges[other].overlaps(live_ranges[index]):
            continue
        apart = at >= there + live_ranges[other].bytes or there >= at + live_ranges[index].bytes
        starts = {other: there, index: at}
        allowed = any(
            {o.operand, o.result} == {other, index} and starts[o.operand] >= starts[o.result] + o.min_offset
            for o in overlaps
        )
        if not apart and not allowed:
            return False
    return True


def best_by_brute_force(live_ranges: list[LiveRange], overlaps: list[Overlap]) -> int:
    """Tries every offset for every buffer, in every order of placement, and keeps the lowest that fits."""
    best = 1 << 30
    for order in permutations(range(len(live_ranges))):
        placed: dict[int, int] = {}
        for index in order:
            step = live_ranges[index].align
            placed[index] = next(at for at in range(0, 1 << 20, step) if fits(live_ranges, overlaps, placed, index, at))
        best = min(best, max(placed[i] + live_ranges[i].bytes for i in placed))
    return best


@given(problems())
@settings(max_examples=60, deadline=None)
def test_a_plan_is_valid_and_never_below_its_bound(problem: tuple[list[LiveRange], list[Overlap]]) -> None:
    live_ranges, overlaps = problem
    result = plan(live_ranges, overlaps)
    validate(live_ranges, result, overlaps)
    assert lower_bound(live_ranges, overlaps) <= result.bound <= result.peak


@given(problems(largest=4))
@settings(max_examples=60, deadline=None)
def test_small_problems_are_solved_to_the_optimum(problem: tuple[list[LiveRange], list[Overlap]]) -> None:
    assert plan(*problem).peak == round_up(best_by_brute_force(*problem), WORD)


def test_a_result_grows_over_its_operand_from_below() -> None:
    live_ranges = [LiveRange("x", 100, 0, 1), LiveRange("y", 100, 1, 2)]
    assert plan(live_ranges).peak == 200
    result = plan(live_ranges, [Overlap(0, 1, 12)])
    assert (result.peak, result.bound, result.offsets) == (112, 112, (12, 0))
    assert plan(live_ranges, [Overlap(0, 1, 500)]).peak == 200


def test_what_is_born_when_a_part_was_read_lies_where_that_part_was() -> None:
    live_ranges = [LiveRange("x", 100, 0, 4), LiveRange("late", 60, 0, 4), LiveRange("later", 20, 2, 2)]
    assert plan(live_ranges).peak == 180
    # Of x 40 bytes have been read when `late` is first written, and 70 when `later` is.
    result = plan(live_ranges, [Overlap(0, 1, 60 - 40), Overlap(0, 2, 20 - 70)])
    assert result.offsets[1] + 60 <= result.offsets[0] + 40
    assert result.offsets[2] + 20 <= result.offsets[0] + 70
    assert result.peak == result.bound == 120
    with pytest.raises(VerifyError, match="memory plan: x and later are live together and share bytes"):
        validate(live_ranges, MemoryPlan((20, 0, 80), 120, 120), [Overlap(0, 1, 20), Overlap(0, 2, -50)])


def test_the_validator_sees_an_overlap_that_is_too_close() -> None:
    live_ranges = [LiveRange("x", 100, 0, 1), LiveRange("y", 100, 1, 2)]
    validate(live_ranges, MemoryPlan((12, 0), 112, 112), [Overlap(0, 1, 12)])
    for offsets in ((8, 0), (0, 12)):
        with pytest.raises(VerifyError, match="memory plan: x and y are live together and share bytes"):
            validate(live_ranges, MemoryPlan(offsets, 112, 112), [Overlap(0, 1, 12)])


def test_the_search_beats_greedy_orders_where_they_fragment() -> None:
    # Two long-lived buffers that a size order would put on either side of a hole too small for the third.
    sizes_and_lives = [(4, 0, 1), (8, 1, 2), (8, 2, 3), (12, 3, 4), (4, 0, 4)]
    live_ranges = [LiveRange(f"r{i}", *fields) for i, fields in enumerate(sizes_and_lives)]
    result = plan(live_ranges)
    assert result.optimal
    assert result.peak == best_by_brute_force(live_ranges, []) == 24


def test_nothing_to_place_needs_nothing() -> None:
    assert plan([]) == MemoryPlan((), 0, 0)


def test_the_same_problem_gives_the_same_plan() -> None:
    live_ranges = [LiveRange(f"r{i}", 7 * (i % 5) + 1, i % 4, i % 4 + i % 3) for i in range(20)]
    assert plan(live_ranges) == plan(list(live_ranges))


@pytest.mark.parametrize(
    ("live_ranges", "offsets", "peak", "message"),
    [
        ([LiveRange("a", 4, 0, 0)], (), 4, "memory plan: 0 offsets, expected 1"),
        ([LiveRange("a", 8, 0, 0)], (0,), 4, "memory plan: a at 0..8, expected within 0..4"),
        ([LiveRange("a", 4, 0, 0)], (-4,), 4, "memory plan: a at -4..0, expected within 0..4"),
        ([LiveRange("a", 2, 0, 0)], (2,), 4, "memory plan: a at 2, expected a multiple of 4"),
        (
            [LiveRange("a", 4, 0, 1), LiveRange("b", 8, 1, 2)],
            (4, 0),
            8,
            "memory plan: a and b are live together and share bytes",
        ),
    ],
)
def test_the_validator_names_what_is_wrong(
    live_ranges: list[LiveRange], offsets: tuple[int, ...], peak: int, message: str
) -> None:
    with pytest.raises(VerifyError) as error:
        validate(live_ranges, MemoryPlan(offsets, peak, peak))
    assert str(error.value) == message

"""The exact search finds a plan where there is one, and proves that there is none where there is none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.memory import exact, greedy, planner
from aboard.memory.greedy import Greedy
from aboard.memory.interference import MOST_BUFFERS, InterferenceGraph
from aboard.memory.problem import LiveRange, MemoryPlan, Overlap, lower_bound
from aboard.memory.validate import validate
from bench import minimalloc
from support.packings import tiling

ENOUGH = 1_000_000


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[LiveRange], list[Overlap]]:
    """Draws problems in which results may lie over operands by what was read of these."""
    aligns = draw(st.sampled_from([(1,), (4,), (1, 4, 8), (8, 16)]))
    largest = draw(st.sampled_from([4, 64]))
    live_ranges = []
    for number in range(draw(st.integers(1, 6))):
        first = draw(st.integers(0, 5))
        last = first + draw(st.sampled_from([0, 0, 1, 1, 2, 4]))
        live_ranges.append(
            LiveRange(f"r{number}", draw(st.integers(1, largest)), first, last, draw(st.sampled_from(aligns)))
        )
    overlaps = []
    for j, result in enumerate(live_ranges):
        others = [i for i, r in enumerate(live_ranges) if i < j and r.overlaps(result)]
        if others and draw(st.booleans()):
            operand = draw(st.sampled_from(others))
            read = draw(st.integers(0, live_ranges[operand].bytes))
            overlaps.append(Overlap(operand, j, result.bytes - read))
    return live_ranges, overlaps


def best_by_brute_force(live_ranges: list[LiveRange], overlaps: list[Overlap]) -> int:
    """Places in every order by first fit; one of the orders is that of what rests on what in a best plan."""
    first_fit = Greedy(live_ranges, overlaps).first_fit
    best = sum(r.bytes + r.align for r in live_ranges)

    def branch(offsets: list[int | None], peak: int) -> None:
        nonlocal best
        left = [i for i, at in enumerate(offsets) if at is None]
        if peak >= best:
            return
        if not left:
            best = peak
        for i in left:
            at = first_fit(i, offsets)
            branch([*offsets[:i], at, *offsets[i + 1 :]], max(peak, at + live_ranges[i].bytes))

    branch([None] * len(live_ranges), 0)
    return best


def ask(
    live_ranges: list[LiveRange], capacity: int, overlaps: list[Overlap] | None = None, budget: int = ENOUGH
) -> bool:
    """Returns whether a plan was found, validated, or else proven not to be."""
    graph = InterferenceGraph.of(live_ranges, overlaps or [])
    assert graph is not None
    answer = exact.fit(graph, capacity, budget)
    assert answer.closed
    if answer.offsets is not None:
        validate(live_ranges, MemoryPlan(answer.offsets, capacity, 0), overlaps or [])
    return answer.offsets is not None


@given(problems())
@settings(max_examples=150, deadline=None)
def test_it_finds_the_optimum_and_closes_what_is_below(problem: tuple[list[LiveRange], list[Overlap]]) -> None:
    live_ranges, overlaps = problem
    best = best_by_brute_force(live_ranges, overlaps)
    assert ask(live_ranges, best, overlaps)
    assert not ask(live_ranges, best - 1, overlaps)


def test_the_example_of_minimalloc() -> None:
    lives = [(0, 3), (3, 9), (0, 9), (9, 21), (0, 21)]
    live_ranges = [LiveRange(f"b{n}", 4, lower, upper - 1) for n, (lower, upper) in enumerate(lives, 1)]
    assert ask(live_ranges, 12)
    assert not ask(live_ranges, 11)


def test_what_fits_by_its_sums_and_not_by_its_shapes_is_refuted() -> None:
    sizes_and_lives = [(1, 2, 3), (3, 0, 1), (4, 3, 4), (1, 1, 3), (2, 1, 2), (3, 0, 0), (2, 2, 2), (2, 4, 4)]
    live_ranges = [LiveRange(f"r{n}", *fields, 1) for n, fields in enumerate(sizes_and_lives)]
    assert max(sum(r.bytes for r in live_ranges if r.first <= step <= r.last) for step in range(5)) == 6
    assert not ask(live_ranges, 6)
    assert ask(live_ranges, 7)


def test_a_result_within_its_operand_may_be_placed_before_it() -> None:
    # The operand rests on a result that begins above it: the search that places by ascending starts alone misses it.
    live_ranges = [LiveRange(f"r{n}", *f) for n, f in enumerate([(64, 1, 2), (48, 2, 3), (28, 2, 3), (36, 2, 3)])]
    overlaps = [Overlap(0, 1, 32), Overlap(0, 2, -4), Overlap(1, 3, 24)]
    assert best_by_brute_force(live_ranges, overlaps) == 132
    assert ask(live_ranges, 132, overlaps)
    assert not ask(live_ranges, 128, overlaps)


@pytest.mark.parametrize(("seed", "count"), [(0, 40), (1, 40), (2, 40), (3, 40), (0, 80), (2, 80), (3, 80)])
def test_tilings_without_a_gap_are_put_together(seed: int, count: int) -> None:
    live_ranges = tiling(seed, count, count // 2, 1 << 16)
    assert sum(r.bytes * (r.last - r.first + 1) for r in live_ranges) == (count // 2) << 16
    assert ask(live_ranges, 1 << 16)
    assert not ask(live_ranges, (1 << 16) - 1)


def test_instances_of_minimalloc_fit_their_capacity() -> None:
    """Those that take a second, where the files are; the tilings above are like them and need none."""
    for path in minimalloc.instances("AEGJK"):
        assert ask(minimalloc.read(path), minimalloc.CAPACITY, budget=5_000), path.name


def test_a_budget_ends_the_search_without_an_answer_and_at_the_same_state() -> None:
    graph = InterferenceGraph.of(tiling(1, 80, 40, 1 << 16), [])
    assert graph is not None
    answers = [exact.fit(graph, 1 << 16, 1_000) for _ in range(2)]
    assert answers[0] == answers[1] == exact.Answer(None, 1_000, closed=False)


def test_without_a_budget_the_plan_states_its_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "EXACT_BUDGET", 0)
    monkeypatch.setattr(greedy, "OUTWARDS_BUDGET", 0)
    monkeypatch.setattr(greedy, "LOCAL_BUDGET", 100)
    live_ranges = tiling(3, 80, 40, 1 << 16)
    result = planner.plan(live_ranges)
    assert result.bound == lower_bound(live_ranges) == 1 << 16
    assert result.peak > result.bound
    assert not result.optimal


def test_circles_of_distances_and_very_many_requests_are_left_to_greedy_orders() -> None:
    live_ranges = [LiveRange("a", 8, 0, 2), LiveRange("b", 40, 0, 2), LiveRange("c", 40, 0, 2)]
    overlaps = [Overlap(0, 1, -4), Overlap(1, 2, -20)]
    assert InterferenceGraph.of(live_ranges, overlaps) is None
    assert planner.plan(live_ranges, overlaps).peak == best_by_brute_force(live_ranges, overlaps) == 48
    assert InterferenceGraph.of([LiveRange("a", 4, 0, 0)] * (MOST_BUFFERS + 1), []) is None

"""Several arenas: nothing exceeds a limit, no two live buffers share a byte, the most used lies in the fastest."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.errors import CapacityError
from aboard.memory import arenas, planner
from aboard.memory.arenas import Layout
from aboard.memory.problem import LiveRange, MemoryPlan, Overlap, lower_bound
from aboard.memory.validate import validate
from aboard.target.regions import ArenaRegion

FAST, LARGE = ArenaRegion("fast", 100), ArenaRegion("large")


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[LiveRange], list[Overlap], list[int]]:
    live_ranges = []
    for number in range(draw(st.integers(1, 8))):
        first = draw(st.integers(0, 8))
        last = draw(st.integers(first, min(first + 4, 9)))
        live_ranges.append(
            LiveRange(f"r{number}", draw(st.integers(1, 64)), first, last, draw(st.sampled_from([1, 4, 16])))
        )
    overlaps: list[Overlap] = []
    for j, result in enumerate(live_ranges):
        dying = [i for i, r in enumerate(live_ranges) if i != j and r.last == result.first and r.first < result.first]
        free = [i for i in dying if all(o.operand != i for o in overlaps)]
        if free and draw(st.booleans()):
            overlaps.append(Overlap(draw(st.sampled_from(free)), j, draw(st.integers(0, 70))))
    return live_ranges, overlaps, [draw(st.integers(0, 500)) for _ in live_ranges]


def validate_layout(live_ranges: list[LiveRange], overlaps: list[Overlap], layout: Layout) -> None:
    """Holds each arena against the validator that knows no planner."""
    for arena, (peak, bound) in enumerate(zip(layout.peaks, layout.bounds, strict=True)):
        members = [index for index, home in enumerate(layout.homes) if home == arena]
        within = [
            Overlap(members.index(o.operand), members.index(o.result), o.min_offset)
            for o in overlaps
            if o.operand in members and o.result in members
        ]
        placed = [live_ranges[index] for index in members]
        validate(placed, MemoryPlan(tuple(layout.offsets[index] for index in members), peak, bound), within)
        assert lower_bound(placed, within) <= bound <= peak


@given(problems(), st.integers(1, 200), st.integers(1, 200))
@settings(max_examples=30, deadline=None)
def test_each_arena_has_a_valid_plan_within_its_limit(
    problem: tuple[list[LiveRange], list[Overlap], list[int]], first: int, second: int
) -> None:
    live_ranges, overlaps, accesses = problem
    regions = [ArenaRegion("a", first), ArenaRegion("b", second), ArenaRegion("c")]
    layout = arenas.plan(live_ranges, overlaps, accesses, regions, "model")
    validate_layout(live_ranges, overlaps, layout)
    limits = {region.name: region.limit for region in regions}
    assert list(layout.regions) == [r.name for r in regions if r.name in layout.regions]
    assert set(layout.homes) == set(range(len(layout.peaks)))
    for region, peak in zip(layout.regions, layout.peaks, strict=True):
        assert limits[region] is None or peak <= limits[region]


@given(problems(), st.integers(1, 120), st.integers(1, 120))
@settings(max_examples=30, deadline=None)
def test_what_has_limits_fits_or_is_refused(
    problem: tuple[list[LiveRange], list[Overlap], list[int]], first: int, second: int
) -> None:
    live_ranges, overlaps, accesses = problem
    regions = [ArenaRegion("a", first), ArenaRegion("b", second)]
    try:
        layout = arenas.plan(live_ranges, overlaps, accesses, regions, "model")
    except CapacityError:
        assert sum(live_range.bytes + live_range.align for live_range in live_ranges) > first
        return
    validate_layout(live_ranges, overlaps, layout)
    assert all(peak <= {"a": first, "b": second}[r] for r, peak in zip(layout.regions, layout.peaks, strict=True))


@given(problems())
@settings(max_examples=25, deadline=None)
def test_one_arena_is_planned_as_ever(problem: tuple[list[LiveRange], list[Overlap], list[int]]) -> None:
    live_ranges, overlaps, accesses = problem
    plan = planner.plan(live_ranges, overlaps)
    default = arenas.plan(live_ranges, overlaps, accesses, [], "model")
    assert (default.offsets, default.peaks, default.bounds, default.regions) == (
        plan.offsets,
        (plan.peak,),
        (plan.bound,),
        (),
    )
    enough = arenas.plan(live_ranges, overlaps, accesses, [ArenaRegion("fast", plan.peak), LARGE], "model")
    assert (enough.offsets, enough.peaks, enough.regions) == (plan.offsets, (plan.peak,), ("fast",))


def test_the_most_used_per_byte_lies_in_the_fastest_arena() -> None:
    live_ranges = [LiveRange("cold", 80, 0, 2), LiveRange("hot", 60, 0, 2), LiveRange("small", 20, 0, 2)]
    layout = arenas.plan(live_ranges, [], [80, 6000, 100], [FAST, LARGE], "model")
    assert layout.regions == ("fast", "large")
    assert layout.homes == (1, 0, 0)
    assert layout.peaks == (80, 80)
    cold = arenas.plan(live_ranges, [], [8000, 60, 100], [FAST, LARGE], "model")
    assert cold.homes == (0, 1, 0)


def test_buffers_of_other_times_use_fast_memory_one_after_another() -> None:
    live_ranges = [LiveRange(f"r{i}", 100, i, i) for i in range(5)] + [LiveRange("always", 60, 0, 4)]
    layout = arenas.plan(live_ranges, [], [200] * 5 + [60], [FAST, LARGE], "model")
    assert layout.homes == (0, 0, 0, 0, 0, 1)
    assert layout.peaks == (100, 60)


def test_results_grow_over_operands_within_an_arena() -> None:
    live_ranges = [LiveRange("x", 90, 0, 1), LiveRange("y", 90, 1, 2), LiveRange("z", 50, 0, 2)]
    layout = arenas.plan(live_ranges, [Overlap(0, 1, 8)], [900, 900, 50], [FAST, LARGE], "model")
    assert layout.homes == (0, 0, 1)
    assert layout.peaks == (100, 52)


def test_a_division_that_use_does_not_give_is_found_by_size() -> None:
    # By use, the small ones fill the second arena's rest and the large one finds no place.
    live_ranges = [LiveRange("large", 100, 0, 1), LiveRange("one", 60, 0, 1), LiveRange("two", 40, 0, 1)]
    layout = arenas.plan(live_ranges, [], [100, 6000, 4000], [ArenaRegion("a", 100), ArenaRegion("b", 100)], "model")
    assert sorted(layout.peaks) == [100, 100]


def test_what_does_not_fit_is_refused_with_numbers() -> None:
    live_ranges = [LiveRange("large", 100, 0, 1), LiveRange("small", 40, 0, 1)]
    with pytest.raises(CapacityError) as error:
        arenas.plan(live_ranges, [], [1, 1], [ArenaRegion("dtcm", 64), ArenaRegion("sram", 64)], "kws")
    assert str(error.value) == (
        "kws: tensors do not fit the arenas, got 64 bytes in dtcm, 64 bytes in sram, expected at least 140 bytes "
        "together, 100 of them in one piece (large). Raise a limit of -arena, add a region to it, or take a smaller "
        "model"
    )
    with pytest.raises(CapacityError, match="they are enough by their sum, and no way was found to divide them"):
        arenas.plan(
            [*live_ranges, LiveRange("x", 40, 0, 1)],
            [],
            [1] * 3,
            [ArenaRegion("a", 100), ArenaRegion("b", 79), ArenaRegion("c", 1)],
            "kws",
        )

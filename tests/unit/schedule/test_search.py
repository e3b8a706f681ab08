"""The search of cascades: bounds are bounds, peaks equal those of whole schedules, and work grows with layers."""

from __future__ import annotations

import itertools

import pytest

from aboard.importers import load
from aboard.kernels import tunable
from aboard.kernels.select import strategy
from aboard.partition import pipeline
from aboard.schedule import aims, search
from aboard.schedule.lowering import Calls
from aboard.schedule.segment_bounds import CascadeBound
from aboard.schedule.shortest_path import SegmentTable
from aboard.target import Target
from aboard.tuning.choice import DEFAULTS
from support.chain_models import chain
from support.models import available, read

M4 = "c -mcpu=cortex-m4"
#: A search may trace so many times as many cascades for twice the layers.
LINEAR = 2.5


def searched(model: bytes, target: str) -> search._CascadeSearch:
    """Returns a search that tries both heights of stripes."""
    graph, chosen = load(model, name="model"), Target(target)
    pipeline.run(graph, chosen)
    best = {node: choice.implementation for node, choice in strategy.choose_all(graph, chosen, None).items()}
    calls = Calls(tunable.tuned(best, chosen, DEFAULTS), chosen)
    return search._CascadeSearch(graph, calls, minimise_ram=True)


def whole_peak(found: search._CascadeSearch, segment: search.Segment) -> int:
    """Returns the peak of a cascade from the buffers of the whole schedule."""
    assert segment.cascade is not None
    return max(found._peaks(found._assign([segment.cascade]))[segment.first : segment.end])


@pytest.mark.parametrize("target", [M4, f"{M4} -input=rows", f"{M4} -input=kept"])
@pytest.mark.parametrize("model", ["chain", *available(["kws", "ic"])])
def test_cascades_need_what_the_whole_schedule_says_and_no_less_than_their_bound(model: str, target: str) -> None:
    found = searched(chain(14, 16, 4) if model == "chain" else read(model), target)
    candidates = list(found._candidates())
    assert len(candidates) > 10
    for candidate in candidates[:: max(1, len(candidates) // 40)]:
        segment = found._trace(candidate)
        assert segment is not None
        assert segment.peak_bytes == whole_peak(found, segment)
        assert candidate.least_bytes <= segment.peak_bytes
        assert candidate.extra_stripes == segment.extra_stripes


def test_no_cascade_is_left_out() -> None:
    found = searched(chain(10, 16, 4), M4)
    most = int(aims.SLACK * max(single.peak_bytes for single in found.singles))
    known = {(each.first, each.end, each.minimise_ram) for each in found._candidates()}
    assert len(known) > 10
    for first, end in itertools.combinations(range(len(found.plain.steps) + 1), 2):
        if end - first > 1 and (first, end, False) not in known:
            segment = found._trace(CascadeBound(first, end, False, 0, 0))
            assert segment is None or segment.peak_bytes > most


@pytest.mark.parametrize("slack", [1.0, aims.SLACK])
def test_the_least_path_is_that_of_all_cascades(slack: float) -> None:
    found = searched(chain(12, 16, 4), M4)
    traced = [(each, segment) for each in found._candidates() if (segment := found._trace(each)) is not None]
    best: dict[int, int] = {0: 0}
    for end in range(1, len(found.singles) + 1):
        ways = [(end - 1, found.singles[end - 1].peak_bytes)]
        ways += [(each.first, segment.peak_bytes) for each, segment in traced if each.end == end]
        best[end] = min(max(best[first], peak) for first, peak in ways)
    least = best[len(found.singles)]
    taken = found.partition(0, slack)
    assert least < max(single.peak_bytes for single in found.singles)
    assert max(segment.peak_bytes for segment in taken) <= int(least * slack)


def test_twice_the_layers_are_at_most_so_many_more_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = list[CascadeBound]()
    trace = search._CascadeSearch._trace

    def counted(self: search._CascadeSearch, candidate: CascadeBound) -> search.Segment | None:
        traced.append(candidate)
        return trace(self, candidate)

    monkeypatch.setattr(search._CascadeSearch, "_trace", counted)
    counts = []
    for layers in (28, 56):
        traced.clear()
        searched(chain(layers, 32, 4), M4).partition(0, 1.0)
        assert len(traced) == len(set(traced))
        counts.append(len(traced))
    assert 0 < counts[1] <= LINEAR * counts[0]


def test_only_cascades_of_a_best_path_are_traced() -> None:
    candidates = [CascadeBound(0, 2, False, 5, 3), CascadeBound(1, 3, False, 9, 1), CascadeBound(0, 3, False, 5, 9)]
    peaks, asked = {candidates[0]: 6, candidates[1]: 9, candidates[2]: 7}, list[CascadeBound]()

    def trace(candidate: CascadeBound) -> int:
        asked.append(candidate)
        return peaks[candidate]

    table = SegmentTable([10, 10, 4], candidates)
    assert table.least_peak(0, trace) == 6
    assert asked == [candidates[0], candidates[2]] or asked == [candidates[2], candidates[0]]
    assert table.fewest_stripes(6, trace) == [(0, candidates[0]), (2, None)]
    assert table.fewest_stripes(10, trace) == [(0, None), (1, None), (2, None)]
    assert table.least_peak(8, trace) == 8
    assert len(asked) == 2


def test_steps_that_cannot_be_a_cascade_are_computed_one_by_one() -> None:
    table = SegmentTable([7, 7], [CascadeBound(0, 2, False, 1, 0)])
    assert table.least_peak(0, lambda _: None) == 7
    assert table.fewest_stripes(7, lambda _: None) == [(0, None), (1, None)]

"""Chooses ranges, weights and biases with samples: each step is kept where it lowers the error at the outputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeVar

import numpy as np

from aboard.ir import Array, DType, Graph, Tensor
from aboard.ops.interpreter import run_all
from aboard.ops.weighted import INPUT
from aboard.quantization import equalisation, ranges, refinement, weights
from aboard.quantization.groups import Groups
from aboard.quantization.plan import Plan
from aboard.quantization.samples import Inputs
from aboard.quantization.simulation import Simulation, measured
from aboard.quantization.types import integer_types

_Item = TypeVar("_Item")

#: Samples at most whose values are kept, and those with which one tensor after another is tried.
MOST_SAMPLES, _MOST_TRIED = 128, 24

#: Samples at most whose scores count.
_MOST_SCORED = 512

#: Values of a sample that headroom is measured with.
_MOST_VALUES = 2048

#: Fewer samples than these are not divided.
_FEW = 16

#: Bytes at most of the values that are kept.
_MOST_BYTES = 1 << 29


@dataclass(frozen=True)
class Calibrated:
    """A plan and what it was chosen with.

    Attributes:
        graph: The prepared graph, its channels equalised.
        plan: The plan, with 8 bits for all nodes that have such a form.
        inputs: The samples.
        exact: The values of all tensors without quantisation, for each sample.
        error: The error of the plan at the outputs, over these samples.
    """

    graph: Graph
    plan: Plan
    inputs: list[Inputs]
    exact: list[dict[str, Array]]
    error: float


def calibrate(
    graph: Graph,
    inputs: Sequence[Inputs],
    on_step: Callable[[str], None] = lambda _: None,
    reals: Collection[str] = (),
) -> Calibrated:
    """Returns the plan for a prepared graph, in which channels are equalised.

    Args:
        graph: The prepared graph; weights and biases may change.
        inputs: Samples; of many, some that are spread evenly are used.
        on_step: Called with the name of each step.
        reals: Names of nodes that compute real numbers whether they have a form in integers or not.
    """
    on_step("running samples")
    groups = Groups(graph)
    scores = _scores(graph, groups, inputs)
    inputs = _spread(inputs, _count(graph))
    exact = [run_all(graph, values) for values in inputs]
    spare = {group: ranges.headroom([_values(run, each) for run in exact]) for group, each in groups.members.items()}
    seen, tried, others = _parts(len(inputs))
    known = [exact[number] for number in seen]
    right = [dict(exact[number]) for number in tried]
    plan, kinds = _first(graph, groups, [inputs[number] for number in tried], right, known, scores, spare, reals)
    simulation = Simulation(graph, plan, [inputs[number] for number in tried], right)
    on_step("searching ranges")
    check = Simulation(graph, plan, [inputs[number] for number in others], [exact[number] for number in others])
    plan, kinds = ranges.search(graph, simulation, check, plan, ranges.observed(groups, known), kinds, spare)
    on_step("equalising channels")
    equal = equalisation.equalise(graph, simulation, plan, kinds, known, right)
    if equal is not plan:
        exact = [run_all(graph, values) for values in inputs]
        check = Simulation(graph, equal, [inputs[number] for number in others], [exact[number] for number in others])
        plan, kinds = ranges.search(graph, simulation, check, equal, ranges.observed(groups, known), kinds, spare)
    values = ranges.observed(groups, exact)
    found = {group: kinds[group](each) for group, each in values.items()}
    whole = {group: ranges.whole(each) for group, each in values.items()}
    on_step("rounding weights")
    # Few samples tried the ranges; all of them decide between these and the whole ones.
    plain = _kinds(ranges.WHOLE, spare, scores)
    uncut = {group: plain[group](each) for group, each in values.items()}
    plans = [with_weights(graph, Plan(groups, plan.types, each, whole, {})) for each in (found, uncut)]
    before, plan = min(((Simulation(graph, each, inputs, exact).error(), each) for each in plans), key=itemgetter(0))
    refined = refinement.refine(graph, plan, inputs, exact)
    after = Simulation(graph, refined, inputs, exact).error()
    plan, error = (refined, after) if after < before else (plan, before)
    return Calibrated(graph, plan, list(inputs), exact, error)


def _values(run: Mapping[str, Array], tensors: Sequence[Tensor]) -> Array:
    """Returns values of some tensors in a run, of large ones some that are spread over them."""
    values = np.concatenate([run[tensor.name].reshape(-1) for tensor in tensors])
    return values[:: max(1, len(values) // _MOST_VALUES)]


def _kinds(kind: ranges.Kind, spare: Mapping[str, float], scores: Mapping[str, ranges.Kind]) -> dict[str, ranges.Kind]:
    """Returns the same kind of range for all groups, with their headroom; scores have their own."""
    return {**{group: ranges.wider(kind, factor) for group, factor in spare.items()}, **scores}


def _scores(graph: Graph, groups: Groups, inputs: Sequence[Inputs]) -> dict[str, ranges.Kind]:
    """Returns the kinds of the ranges of scores, by their groups.

    More samples count here than elsewhere: of each only the scores are kept, and their extremes are rare.
    """
    tensors = measured(graph)
    bytes_each = sum(tensor.type.bytes for tensor in tensors)
    inputs = _spread(inputs, max(4, min(_MOST_SCORED, _MOST_BYTES // max(bytes_each, 1))))
    found = list[dict[str, Array]]()
    for values in inputs:
        run = run_all(graph, values)
        found.append({each.name: run[each.name].copy() for each in tensors})
    return {groups.of(each): ranges.of_scores([run[each.name] for run in found]) for each in tensors}


def _parts(count: int) -> tuple[list[int], list[int], list[int]]:
    """Returns the samples that ranges are formed from, those with which they are tried, and those that confirm them.

    Few samples are all of these.
    """
    if count < _FEW:
        return list(range(count)), list(range(count)), list(range(count))
    unseen = range(1, count, 2)
    tried = _spread(unseen, min(_MOST_TRIED, len(unseen) // 2))
    return list(range(0, count, 2)), tried, [number for number in unseen if number not in tried]


def _first(
    graph: Graph,
    groups: Groups,
    inputs: Sequence[Inputs],
    exact: Sequence[dict[str, Array]],
    known: Sequence[dict[str, Array]],
    scores: Mapping[str, ranges.Kind],
    spare: Mapping[str, float],
    reals: Collection[str],
) -> tuple[Plan, dict[str, ranges.Kind]]:
    """Returns a plan with the whole range of each tensor, or that of the least squared error, whichever is better.

    Args:
        graph: The prepared graph.
        groups: Its groups.
        inputs: Samples with which plans are tried.
        exact: Their values.
        known: Values that ranges are formed from.
        scores: The kinds of the ranges of scores, by their groups.
        spare: The headroom of each group.
        reals: Names of nodes that compute real numbers.
    """
    values = ranges.observed(groups, known)
    whole = {group: ranges.whole(each) for group, each in values.items()}
    plan = with_weights(graph, Plan(groups, {}, whole, whole, {}))
    types = integer_types(graph, plan, DType.INT8) | dict.fromkeys(reals, DType.FLOAT32)
    plans = []
    for kind in (ranges.WHOLE, ranges.LEAST_ERROR):
        kinds = _kinds(kind, spare, scores)
        chosen = {group: kinds[group](each) for group, each in values.items()}
        plan = with_weights(graph, Plan(groups, types, chosen, whole, {}))
        plans.append((Simulation(graph, plan, inputs, exact).error(), plan, kinds))
    _, plan, kinds = min(plans, key=lambda each: each[0])
    return plan, kinds


def with_weights(graph: Graph, plan: Plan) -> Plan:
    """Returns a plan with all weights rounded to the nearest."""
    for node in weights.layers(graph):
        scale = plan.quantization(node.input(INPUT), DType.INT8).scale
        plan = plan.with_layer(node.name, weights.nearest(node, scale), None)
    return plan


def _count(graph: Graph) -> int:
    """Returns how many samples are used: as many as memory allows, and no more than are needed."""
    bytes_each = sum(tensor.type.bytes for tensor in graph.tensors() if not tensor.is_constant)
    return max(4, min(MOST_SAMPLES, _MOST_BYTES // max(bytes_each, 1)))


def _spread(items: Sequence[_Item], most: int) -> list[_Item]:
    """Returns some of the items, from the whole sequence."""
    count = min(len(items), most)
    return [items[number * len(items) // count] for number in range(count)]

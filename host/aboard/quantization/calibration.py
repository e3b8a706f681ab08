"""Chooses ranges, weights and biases with samples: each step is kept where it lowers the error at the outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from aboard.ir import Array, DType, Graph
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


def calibrate(graph: Graph, inputs: Sequence[Inputs], on_step: Callable[[str], None] = lambda _: None) -> Calibrated:
    """Returns the plan for a prepared graph, in which channels are equalised.

    Args:
        graph: The prepared graph; weights and biases may change.
        inputs: Samples; of many, some that are spread evenly are used.
        on_step: Called with the name of each step.
    """
    on_step("running samples")
    inputs = _spread(inputs, _count(graph))
    exact = [run_all(graph, values) for values in inputs]
    groups = Groups(graph)
    plan = _first(graph, groups, inputs, exact)
    tried = _spread(range(len(inputs)), _MOST_TRIED)
    few, right = [inputs[number] for number in tried], [dict(exact[number]) for number in tried]
    simulation = Simulation(graph, plan, few, right)
    on_step("equalising channels")
    plan = equalisation.equalise(graph, simulation, plan, right)
    exact = [run_all(graph, values) for values in inputs]
    on_step("searching ranges")
    plan = ranges.search(graph, simulation, plan, ranges.observed(groups, exact))
    on_step("rounding weights")
    before = Simulation(graph, plan, inputs, exact).error()
    refined = refinement.refine(graph, plan, inputs, exact)
    after = Simulation(graph, refined, inputs, exact).error()
    plan, error = (refined, after) if after < before else (plan, before)
    return Calibrated(graph, plan, list(inputs), exact, error)


def _first(graph: Graph, groups: Groups, inputs: Sequence[Inputs], exact: Sequence[dict[str, Array]]) -> Plan:
    """Returns a plan with the whole range of each tensor, or that of the least squared error, whichever is better."""
    values = ranges.observed(groups, exact)
    whole = {group: ranges.whole(each) for group, each in values.items()}
    for tensor in measured(graph):
        whole[groups.of(tensor)] = ranges.with_headroom([run[tensor.name] for run in exact])
    scores = {groups.of(tensor) for tensor in measured(graph)}
    least = {group: whole[group] if group in scores else ranges.least_error(each) for group, each in values.items()}
    tried = _spread(range(len(inputs)), _MOST_TRIED)
    few, right = [inputs[number] for number in tried], [exact[number] for number in tried]
    types = None
    plans = []
    for chosen in (whole, least):
        plan = with_weights(graph, Plan(groups, {}, chosen, whole, {}))
        types = integer_types(graph, plan, DType.INT8) if types is None else types
        plan = plan.with_types(types)
        plans.append((Simulation(graph, plan, few, right).error(), plan))
    return min(plans, key=lambda each: each[0])[1]


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

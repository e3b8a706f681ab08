"""What each layer costs in accuracy: the error at the outputs that its integers cause."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aboard.ir import Array, DType, Graph
from aboard.quantization.groups import keeps_scale
from aboard.quantization.plan import Plan, nodes_of_reals
from aboard.quantization.samples import Inputs
from aboard.quantization.simulation import Simulation, behind_scores, measured


@dataclass(frozen=True)
class Sensitivity:
    """What the integers of one node do to the outputs.

    Errors are powers relative to that of the outputs; `decibels` makes signal-to-noise ratios of them.

    Attributes:
        alone: The error with this node quantised and all others in real numbers.
        wide: The error with this node at 16 bits, or in real numbers where it has no such form, and all others as
            planned.
        wider: The type of each node that is changed for `wide`: this one, and a softmax behind the scores.
    """

    alone: float
    wide: float
    wider: Mapping[str, DType]


def sensitivities(
    graph: Graph,
    plan: Plan,
    wider: Mapping[str, DType],
    inputs: Sequence[Inputs],
    exact: Sequence[dict[str, Array]],
) -> dict[str, Sensitivity]:
    """Returns the sensitivity of each node that is quantised to 8 bits and changes the scores, by its name.

    Args:
        graph: The prepared graph.
        plan: The plan.
        wider: For each node, the type that it has when it is not to have 8 bits.
        inputs: Samples.
        exact: The values of all tensors without quantisation, for each sample.
    """
    last = behind_scores(graph)
    nodes = [node for node in nodes_of_reals(graph) if plan.dtype(node) is DType.INT8 and not keeps_scale(node)]
    reals = plan.with_types({node.name: DType.FLOAT32 for node in graph.nodes})
    of_reals, planned = Simulation(graph, reals, inputs, exact), Simulation(graph, plan, inputs, exact)
    scores = {tensor.name for tensor in measured(graph)}
    found = {}
    for node in nodes:
        if node.name in last:
            continue
        changed = [node.name, *(last if node.output.name in scores else ())]
        types = {name: wider[name] for name in changed if name in wider}
        alone = of_reals.error_with(reals.with_types({node.name: DType.INT8}), nodes=[node.name])
        wide = planned.error_with(plan.with_types(types), nodes=[node.name])
        found[node.name] = Sensitivity(alone, wide, types)
    return found


def decibels(error: float) -> float:
    """Returns a signal-to-noise ratio in dB; infinite without error."""
    return math.inf if error <= 0 else -10 * math.log10(error)

"""The range of each tensor: of candidates from samples, the one that causes the least error at the outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from aboard.ir import Array, DType, Graph
from aboard.quantization.groups import Groups
from aboard.quantization.plan import Plan, Range, quantised_values
from aboard.quantization.simulation import Simulation, measured

Float32 = npt.NDArray[np.float32]

#: Forms a range from values of a tensor.
Kind: TypeAlias = Callable[[Float32], Range]

#: Values of a tensor that candidates are formed from.
_MOST_VALUES = 1 << 17

#: Parts of the whole range among which that with the least squared error is searched.
_PARTS = np.linspace(0.3, 1.0, 36)

#: By what part another range must lower the error to be taken.
_GAIN = 0.005


def observed(groups: Groups, runs: Sequence[Mapping[str, Array]]) -> dict[str, Float32]:
    """Returns values of each group in samples, with the least and the largest."""
    return {group: observed_group(groups, group, runs) for group in groups.members}


def observed_group(groups: Groups, group: str, runs: Sequence[Mapping[str, Array]]) -> Float32:
    """Returns values of one group in samples, with the least and the largest."""
    parts = [run[tensor.name].reshape(-1) for run in runs for tensor in groups.members[group]]
    values = np.concatenate(parts).astype(np.float32)
    step = max(1, len(values) // _MOST_VALUES)
    return np.concatenate([values[::step], [values.min(), values.max()]]).astype(np.float32)


def whole(values: Float32) -> Range:
    """Returns the range from the least to the largest value."""
    return Range(float(values.min()), float(values.max()))


def least_error(values: Float32, dtype: DType = DType.INT8) -> Range:
    """Returns the part of the whole range that has the least squared error."""
    full = whole(values)
    candidates = [Range(full.low * part, full.high * part) for part in _PARTS]
    if full.low < 0 < full.high:
        candidates += [Range(full.low * part, full.high) for part in _PARTS[:-1]]
        candidates += [Range(full.low, full.high * part) for part in _PARTS[:-1]]
    return min(candidates, key=lambda each: _squared_error(values, each, dtype))


def _beyond(share: float) -> Kind:
    def percentile(values: Float32) -> Range:
        low, high = np.quantile(values, [share, 1 - share])
        return Range(min(float(low), 0.0), max(float(high), 0.0))

    return percentile


def wider(kind: Kind, factor: float) -> Kind:
    """Returns a kind of range that goes further by a factor."""
    return lambda values: _scaled(kind(values), factor)


def _scaled(found: Range, factor: float) -> Range:
    return Range(found.low * factor, found.high * factor)


#: How much further than the values of samples ranges may go.
_HEADROOM = (1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5)

#: How ranges are formed from values. Some go further than the values of samples, as those of others will.
WHOLE = whole
LEAST_ERROR = least_error
_KINDS: tuple[Kind, ...] = (
    WHOLE,
    wider(whole, 1.1),
    wider(whole, 1.25),
    wider(whole, 1.5),
    LEAST_ERROR,
    wider(least_error, 1.1),
    *map(_beyond, (1e-3, 1e-4, 1e-5)),
)


def _squared_error(values: Float32, given: Range, dtype: DType) -> float:
    quant = given.quantization(dtype)
    steps = quantised_values(values, quant, dtype) - quant.zero_point
    return float(np.sum((steps * quant.scale - values.astype(np.float64)) ** 2))


def headroom(runs: Sequence[Array]) -> float:
    """Returns how much further than the values of samples a tensor's range should go.

    A value that is clipped is a large error, and few samples do not hold the largest ones. The factor is the one that
    suits each half of the samples best when the other half gives the range.

    Args:
        runs: The values of each sample.
    """
    given = [np.asarray(run, np.float32).reshape(-1) for run in runs]
    if len(given) < 2:
        return 1.0
    halves = [np.concatenate(given[first::2]) for first in (0, 1)]
    pairs = (halves, halves[::-1])
    errors = {
        factor: sum(_squared_error(other, _scaled(whole(half), factor), DType.INT8) for half, other in pairs)
        for factor in _HEADROOM
    }
    return min(_HEADROOM, key=lambda factor: errors[factor])


def of_scores(runs: Sequence[Array]) -> Kind:
    """Returns the range of scores, whatever values it is formed from: the whole one, with headroom.

    Args:
        runs: The scores of each sample.
    """
    found = _scaled(whole(np.concatenate([np.asarray(run, np.float32).reshape(-1) for run in runs])), headroom(runs))
    return lambda _: found


def search(
    graph: Graph,
    simulation: Simulation,
    others: Simulation,
    plan: Plan,
    values: Mapping[str, Float32],
    kinds: Mapping[str, Kind],
    spare: Mapping[str, float],
) -> tuple[Plan, dict[str, Kind]]:
    """Returns the plan with the kind of range for each group that causes the least error, one group at a time.

    The kinds of scores stay.

    Args:
        graph: The prepared graph.
        simulation: The plan on samples; others than those of the values, so that a range that is too narrow for what
            it has not seen causes an error here.
        others: The same on further samples, on which a range must be better too.
        plan: The plan.
        values: Values of each group.
        kinds: The kind of each group in the plan.
        spare: The headroom of each group.
    """
    least, found = simulation.error(), dict(kinds)
    scores = {plan.groups.of(tensor) for tensor in measured(graph)}
    for group in _in_order(graph, plan.groups):
        if group in scores or plan.groups.fixed(plan.groups.members[group][0]) is not None:
            continue
        chosen = [wider(kind, spare[group]) for kind in _KINDS]
        tried = {kind(values[group]): kind for kind in chosen}
        tried.pop(plan.ranges[group], None)
        errors = {each: simulation.error_with(plan.with_range(group, each), [group]) for each in tried}
        best = min(errors, key=lambda each: errors[each], default=None)
        if best is None or errors[best] >= least * (1 - _GAIN):
            continue
        made = plan.with_range(group, best)
        if others.error_with(made, [group]) < others.error() * (1 - _GAIN):
            least, found[group], plan = errors[best], tried[best], made
            simulation.take(plan, [group])
            others.take(plan, [group])
    return plan, found


def _in_order(graph: Graph, groups: Groups) -> list[str]:
    """Returns the groups in the order in which nodes compute them."""
    known = {tensor.name: group for group, tensors in groups.members.items() for tensor in tensors}
    return list(dict.fromkeys(known[tensor.name] for tensor in graph.tensors() if tensor.name in known))

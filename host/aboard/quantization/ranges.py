"""The range of each tensor: of candidates from samples, the one that causes the least error at the outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from aboard.ir import Array, DType, Graph
from aboard.quantization.groups import Groups
from aboard.quantization.plan import Plan, Range, quantised_values
from aboard.quantization.simulation import Simulation, measured

Float32 = npt.NDArray[np.float32]

#: Values of a tensor that candidates are formed from.
_MOST_VALUES = 1 << 17

#: Shares of the values that may lie beyond a range, at each end.
_BEYOND = (1e-3, 1e-4, 1e-5)

#: Parts of the whole range among which that with the least squared error is searched.
_PARTS = np.linspace(0.3, 1.0, 36)

#: How much further than the values of samples ranges of scores may go.
_HEADROOM = (1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5)

#: By what part another range must lower the error to be taken.
_GAIN = 0.002


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


def candidates(values: Float32) -> Iterator[Range]:
    """Yields ranges that differ: the whole one, percentiles, that of the least squared error."""
    full = whole(values)
    found = [full, least_error(values)]
    for share in _BEYOND:
        low, high = np.quantile(values, [share, 1 - share])
        found.append(Range(min(float(low), 0.0), max(float(high), 0.0)))
    yield from dict.fromkeys(found)


def _squared_error(values: Float32, given: Range, dtype: DType) -> float:
    quant = given.quantization(dtype)
    steps = quantised_values(values, quant, dtype) - quant.zero_point
    return float(np.sum((steps * quant.scale - values.astype(np.float64)) ** 2))


def with_headroom(values: Sequence[Array]) -> Range:
    """Returns the range of scores: the whole one of the samples, and what samples that are not seen may need beyond.

    A score that is clipped is a large error, and few samples do not hold the largest ones. How much further the range
    goes is what suits each half of the samples best when the other half gives the range.

    Args:
        values: Of each sample.
    """
    given = [np.asarray(each, np.float32).reshape(-1) for each in values]
    halves = [np.concatenate(given[first::2]) for first in (0, 1) if given[first::2]]
    full = whole(np.concatenate(given))
    if len(halves) < 2:
        return full
    errors = []
    for factor in _HEADROOM:
        pairs = ((halves[0], halves[1]), (halves[1], halves[0]))
        errors.append(sum(_squared_error(other, _wider(whole(half), factor), DType.INT8) for half, other in pairs))
    return _wider(full, _HEADROOM[int(np.argmin(errors))])


def _wider(given: Range, factor: float) -> Range:
    return Range(given.low * factor, given.high * factor)


def search(graph: Graph, simulation: Simulation, plan: Plan, values: Mapping[str, Float32]) -> Plan:
    """Returns the plan with the range of each group that causes the least error at the outputs, one group at a time.

    The ranges of scores stay: the samples that are at hand do not say what clips those of others.
    """
    least = simulation.error()
    scores = {plan.groups.of(tensor) for tensor in measured(graph)}
    for group in _in_order(graph, plan.groups):
        if group in scores or plan.groups.fixed(plan.groups.members[group][0]) is not None:
            continue
        tried = [each for each in candidates(values[group]) if each != plan.ranges[group]]
        errors = [simulation.error_with(plan.with_range(group, each), [group]) for each in tried]
        if errors and min(errors) < least * (1 - _GAIN):
            least = min(errors)
            plan = plan.with_range(group, tried[int(np.argmin(errors))])
            simulation.take(plan, [group])
    return plan


def _in_order(graph: Graph, groups: Groups) -> list[str]:
    """Returns the groups in the order in which nodes compute them."""
    known = {tensor.name: group for group, tensors in groups.members.items() for tensor in tensors}
    return list(dict.fromkeys(known[tensor.name] for tensor in graph.tensors() if tensor.name in known))

"""Scales the channels between two layers so that they use the integers of their tensor alike.

A factor of a channel moves from the weights of the layer behind to those of the layer before, which a linear layer, or
one with a ReLU, passes on (Nagel and others, "Data-free quantization through weight equalization and bias correction",
arXiv:1906.04721, section 4.1). Each pair is changed only where that lowers the error at the outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aboard.importers.onnx.layers import FloatLayer
from aboard.ir import Array, DType, Graph, Node, Tensor, TensorType
from aboard.ir.rewriting import free_name, only_reader
from aboard.ops.activation import Activation
from aboard.ops.weighted import BIAS, INPUT, WEIGHTS
from aboard.quantization import ranges, weights
from aboard.quantization.plan import Float64, Plan
from aboard.quantization.ranges import Kind
from aboard.quantization.simulation import Simulation

#: Nodes that keep channels apart and their factors.
_PASSES_ON = ("max_pool2d", "average_pool2d")

_LINEAR = (Activation.NONE, Activation.RELU)

#: Largest factor of a channel, and its reciprocal the least.
_MOST = 32.0

#: Channels whose factors are below this are alike.
_LIKE = 1.05

#: By what part the change of a pair must lower the error to stay, and by what part all changes: other multipliers may
#: cost instructions.
_GAIN, _WORTH = 0.02, 0.25


@dataclass(frozen=True)
class _Pair:
    """Two layers, and the tensors between them in execution order."""

    first: Node
    second: Node
    between: tuple[Tensor, ...]

    def groups(self, plan: Plan) -> set[str]:
        """Returns the groups of the tensors between."""
        return {plan.groups.of(tensor) for tensor in self.between}


def equalise(
    graph: Graph,
    simulation: Simulation,
    plan: Plan,
    kinds: Mapping[str, Kind],
    known: Sequence[dict[str, Array]],
    exact: Sequence[dict[str, Array]],
) -> Plan:
    """Changes weights and biases in the graph, and the values of tensors between; returns the plan for them.

    Args:
        graph: The prepared graph.
        simulation: The plan on samples.
        plan: The plan.
        kinds: How the range of each group is formed.
        known: Values of all tensors, of the samples that ranges are formed from.
        exact: Values of all tensors, of the samples of the simulation.
    """
    values = [*known, *exact]
    first, least = plan, simulation.error()
    whole, changed = least, list[_Change]()
    for pair in _pairs(graph):
        if any(plan.dtype(node) is not DType.INT8 for node in (pair.first, pair.second)):
            continue
        change = _scaled(graph, pair, values, known)
        if change is None:
            continue
        made = _planned(pair, plan, kinds, known)
        groups, names = pair.groups(plan), [pair.first.name, pair.second.name]
        error = simulation.error_with(made, groups, names)
        if error < least * (1 - _GAIN):
            least, plan = error, made
            simulation.take(made, groups, names)
            changed.append(change)
        else:
            change.undo(values)
    if not changed or least < whole * (1 - _WORTH):
        return plan
    for change in reversed(changed):
        change.undo(values)
    pairs = [change.pair for change in changed]
    names = [node.name for pair in pairs for node in (pair.first, pair.second)]
    simulation.take(first, {group for pair in pairs for group in pair.groups(first)}, names)
    return first


@dataclass(frozen=True)
class _Change:
    """What a pair was before its channels were scaled."""

    pair: _Pair
    factors: Float64
    inputs: tuple[list[Tensor | None], list[Tensor | None]]

    def undo(self, values: Sequence[dict[str, Array]]) -> None:
        """Gives layers and values between them what they had."""
        self.pair.first.inputs, self.pair.second.inputs = self.inputs
        _scale_values(self.pair, values, 1 / self.factors)


def _scaled(
    graph: Graph, pair: _Pair, values: Sequence[dict[str, Array]], known: Sequence[dict[str, Array]]
) -> _Change | None:
    """Scales the channels of a pair; returns None where they are alike already, or cannot be scaled."""
    factors = _factors(pair, known)
    if factors is None or float(factors.max()) < _LIKE:
        return None
    change = _Change(pair, factors, (list(pair.first.inputs), list(pair.second.inputs)))
    if not _scale(graph, pair, factors):
        return None
    _scale_values(pair, values, factors)
    return change


def _pairs(graph: Graph) -> list[_Pair]:
    layers = {id(node) for node in weights.layers(graph)}
    found = []
    for node in graph.nodes:
        if id(node) not in layers or getattr(node.attrs, "activation", None) not in _LINEAR:
            continue
        between, reader = [node.output], only_reader(graph, node.output)
        while reader is not None and reader.op in _PASSES_ON and _linear(reader):
            between.append(reader.output)
            reader = only_reader(graph, reader.output)
        if reader is None or id(reader) not in layers or reader.input(INPUT) is not between[-1]:
            continue
        if between[-1].shape[-1] == FloatLayer(reader).columns:
            found.append(_Pair(node, reader, tuple(between)))
    return found


def _linear(node: Node) -> bool:
    return getattr(node.attrs, "activation", Activation.NONE) in _LINEAR


def _factors(pair: _Pair, exact: Sequence[Mapping[str, Array]]) -> Float64 | None:
    """Returns the factor of each channel between two layers; None where the channels are 0 throughout."""
    name = pair.first.output.name
    reach = np.max([np.abs(run[name]).reshape(-1, run[name].shape[-1]).max(axis=0) for run in exact], axis=0)
    reach = reach.astype(np.float64)
    if not reach.max() > 0:
        return None
    factors = reach.max() / np.maximum(reach, reach.max() / _MOST)
    if pair.second.op != "depthwise_conv2d":
        columns = _columns(pair.second)
        share = np.maximum(columns, columns.max() / _MOST) / max(float(columns.max()), 1e-30)
        factors = np.sqrt(factors * share)
    factors /= (factors * reach).max() / reach.max()
    found: Float64 = np.clip(factors, 1 / _MOST, _MOST)
    return found


def _columns(node: Node) -> Float64:
    """Returns the largest absolute weight of each channel that a layer reads."""
    values = np.abs(np.asarray(node.input(WEIGHTS).data, np.float64))
    return np.asarray(values.reshape(-1, values.shape[-1]).max(axis=0))


def _scale(graph: Graph, pair: _Pair, factors: Float64) -> bool:
    """Multiplies the results of the first layer, and divides in the second; False where that overflows."""
    before = FloatLayer(pair.first).rescaled(factors, np.zeros(len(factors)))
    if pair.second.op == "conv2d" and len(_columns(pair.second)) != len(factors):
        return False
    behind = FloatLayer(pair.second).for_operand_without(1 / factors)
    if before is None or behind is None or before.weights is None or behind.weights is None:
        return False
    _replace(graph, pair.first, WEIGHTS, before.weights)
    if before.bias is not None:
        _replace(graph, pair.first, BIAS, before.bias)
    _replace(graph, pair.second, WEIGHTS, behind.weights)
    return True


def _replace(graph: Graph, node: Node, place: int, values: Array) -> None:
    old = node.optional_input(place)
    name = free_name(graph, f"{node.name}/bias" if old is None else f"{old.name}/equalised")
    node.inputs = list(node.inputs)
    node.inputs[place:] = [Tensor(name, TensorType(values.shape, DType.FLOAT32), values), *node.inputs[place + 1 :]]


def _scale_values(pair: _Pair, exact: Sequence[dict[str, Array]], factors: Float64) -> None:
    for run in exact:
        for tensor in pair.between:
            run[tensor.name] = (run[tensor.name].astype(np.float64) * factors).astype(np.float32)


def _planned(pair: _Pair, plan: Plan, kinds: Mapping[str, Kind], exact: Sequence[Mapping[str, Array]]) -> Plan:
    for group in pair.groups(plan):
        plan = plan.with_range(group, kinds[group](ranges.observed_group(plan.groups, group, exact)))
    for node in (pair.first, pair.second):
        scale = plan.quantization(node.input(INPUT), DType.INT8).scale
        plan = plan.with_layer(node.name, weights.nearest(node, scale), None)
    return plan

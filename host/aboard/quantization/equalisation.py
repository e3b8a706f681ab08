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
from aboard.quantization.simulation import Simulation

#: Nodes that keep channels apart and their factors.
_PASSES_ON = ("max_pool2d", "average_pool2d")

_LINEAR = (Activation.NONE, Activation.RELU)

#: Largest factor of a channel, and its reciprocal the least.
_MOST = 32.0

#: By what part a change must lower the error to stay.
_GAIN = 0.1


@dataclass(frozen=True)
class _Pair:
    """Two layers, and the tensors between them in execution order."""

    first: Node
    second: Node
    between: tuple[Tensor, ...]


def equalise(graph: Graph, simulation: Simulation, plan: Plan, exact: Sequence[dict[str, Array]]) -> Plan:
    """Changes weights and biases in the graph, and in `exact` the values between; returns the plan for them."""
    least = simulation.error()
    for pair in _pairs(graph):
        if any(plan.dtype(node) is not DType.INT8 for node in (pair.first, pair.second)):
            continue
        factors = _factors(pair, exact)
        if factors is None or float(factors.max()) < 1.05:
            continue
        kept = list(pair.first.inputs), list(pair.second.inputs)
        if not _scale(graph, pair, factors):
            continue
        _scale_values(pair, exact, factors)
        made = _planned(pair, plan, exact)
        groups = {plan.groups.of(tensor) for tensor in pair.between}
        names = [pair.first.name, pair.second.name]
        error = simulation.error_with(made, groups, names)
        if error < least * (1 - _GAIN):
            least, plan = error, made
            simulation.take(made, groups, names)
        else:
            pair.first.inputs, pair.second.inputs = kept
            _scale_values(pair, exact, 1 / factors)
    return plan


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


def _planned(pair: _Pair, plan: Plan, exact: Sequence[Mapping[str, Array]]) -> Plan:
    for group in {plan.groups.of(tensor) for tensor in pair.between}:
        plan = plan.with_range(group, ranges.least_error(ranges.observed_group(plan.groups, group, exact)))
    for node in (pair.first, pair.second):
        scale = plan.quantization(node.input(INPUT), DType.INT8).scale
        plan = plan.with_layer(node.name, weights.nearest(node, scale), None)
    return plan

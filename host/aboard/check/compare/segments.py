"""What a part of A gives for the values that B has in front of it.

Values of B flow into the operators of A between two aligned values, so that what went wrong in front does not count
again behind: each part of B is judged by its own operands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from aboard.check.compare.alignment import Alignment
from aboard.check.compare.real_graph import RealNode, Reals, weighted
from aboard.check.compare.recording import Recording
from aboard.ir import Node, Tensor
from aboard.ops import registry
from aboard.ops.weighted import WEIGHTS

#: int8 weights have this many steps on each side of 0.
_WEIGHT_STEPS = 127

_SEED = 20


@dataclass(frozen=True)
class Segment:
    """The operators of A that compute one aligned value from the aligned values in front of it.

    Attributes:
        key: The value of A.
        nodes: The operators, in execution order.
        edges: Keys of the values of A that come from B.
    """

    key: str
    nodes: tuple[RealNode, ...]
    edges: frozenset[str]


@dataclass
class Segments:
    """Computes parts of A on values of B.

    Attributes:
        a: The side that is right.
        b: The side that is judged.
        alignment: Which values of B are which of A.
    """

    a: Recording
    b: Recording
    alignment: Alignment
    _edges: list[dict[str, Reals]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for own, other in zip(self.a.samples, self.b.samples, strict=True):
            entries = {tensor.name: own[tensor.name] for tensor in self.a.network.graph.entries if tensor.name in own}
            pairs = (*self.alignment.entries, *self.alignment.pairs)
            self._edges.append(entries | {pair.a: pair.in_a(other[pair.b]) for pair in pairs})

    def without(self, key: str) -> Segments:
        """Returns the same with one aligned value fewer."""
        return Segments(self.a, self.b, self.alignment.without(key))

    def segment(self, key: str) -> Segment | None:
        """Returns the operators that compute a value of A from aligned ones; None if they read an unknown value."""
        network = self.a.network
        nodes, edges, pending = list[RealNode](), set[str](), [network.producers[key]]
        while pending:
            node = pending.pop()
            if any(node is known for known in nodes):
                continue
            nodes.append(node)
            for operand in node.inputs:
                if operand is None or network.values[operand].constant is not None:
                    continue
                if operand in self._edges[0]:
                    edges.add(operand)
                elif operand in network.producers:
                    pending.append(network.producers[operand])
                else:
                    return None
        order = {id(node): number for number, node in enumerate(network.nodes)}
        return Segment(key, tuple(sorted(nodes, key=lambda node: order[id(node)])), frozenset(edges))

    def computed(self, segment: Segment, sample: int, changed: Mapping[str, Node] | None = None) -> Reals:
        """Returns the value at the end of a segment, with the limits of A's integers.

        Args:
            segment: The segment.
            sample: Number of the sample.
            changed: Other operators, by the name of the one that each takes the place of.
        """
        network, values = self.a.network, dict(self._edges[sample])
        for node in segment.nodes:
            operands = [None if key is None else self._operand(key, values) for key in node.inputs]
            results = node.evaluate(operands, None if changed is None else changed.get(node.node.name))
            for key, result in zip(node.outputs, results, strict=True):
                values[key] = result if changed is not None else np.clip(result, *network.values[key].range)
        return values[segment.key]

    def noise(self, segment: Segment, sample: int) -> Reals:
        """Returns by how much a segment's value changes if weights are rounded to int8: a draw of it."""
        changed = {node.node.name: _perturbed(node) for node in segment.nodes if weighted(node)}
        if not changed:
            return np.zeros(self.a.network.values[segment.key].shape)
        return self.computed(segment, sample, changed) - self.computed(segment, sample, {})

    def _operand(self, key: str, values: Mapping[str, Reals]) -> Reals:
        constant = self.a.network.values[key].constant
        return values[key] if constant is None else constant


def with_weights(node: Node, weights: Reals) -> Node:
    """Returns a layer with other weights."""
    tensor = node.input(WEIGHTS)
    changed = Tensor(tensor.name, tensor.type, weights.astype(np.float32), tensor.source)
    return replace(node, inputs=[*node.inputs[:WEIGHTS], changed, *node.inputs[WEIGHTS + 1 :]])


def weights_of(node: Node) -> Reals:
    """Returns the weights of a layer whose weights are constants."""
    data = node.input(WEIGHTS).data
    if data is None:
        raise ValueError(f"{node.name}: weights are computed")
    return data.astype(np.float64)


def weight_steps(node: Node) -> Reals:
    """Returns the steps of int8 weights for each output channel, in a shape that broadcasts along the weights."""
    weights, axis = weights_of(node), registry.get(node.op).weights_axis or 0
    others = tuple(other for other in range(weights.ndim) if other != axis % weights.ndim)
    return np.asarray(np.abs(weights).max(axis=others, keepdims=True) / _WEIGHT_STEPS)


def _perturbed(node: RealNode) -> Node:
    if node.real is None:
        raise ValueError(f"{node.node.name}: no form of real numbers")
    rng, steps = np.random.default_rng(_SEED), weight_steps(node.real)
    weights = weights_of(node.real)
    return with_weights(node.real, weights + rng.uniform(-1, 1, weights.shape) * steps)

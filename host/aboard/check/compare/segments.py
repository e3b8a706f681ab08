"""What a part of A gives for the values that B has in front of it.

Values of B flow into the operators of A between two aligned values, so that what went wrong in front does not count
again behind: each part of B is judged by its own operands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from aboard.check.compare.alignment import Alignment
from aboard.check.compare.real_graph import Part, RealNode, weighted
from aboard.check.compare.real_numbers import Reals
from aboard.check.compare.recording import Recording
from aboard.ir import Node, Tensor
from aboard.ops import registry
from aboard.ops.weighted import BIAS, WEIGHTS

#: int8 weights have this many steps on each side of 0.
_WEIGHT_STEPS = 127

_SEED = 20


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

    def part(self, key: str) -> Part | None:
        """Returns the operators that compute a value of A from aligned ones; None if they read an unknown value."""
        return self.a.network.part(key, self._edges[0])

    def computed(self, part: Part, sample: int, changed: Mapping[str, Node] | None = None) -> Reals:
        """Returns the value at the end of a part of A, on the operands that B had.

        Args:
            part: The part.
            sample: Number of the sample.
            changed: As for `RealGraph.run`.
        """
        return self.a.network.run(part, self._edges[sample], changed)

    def noise(self, part: Part, sample: int) -> Reals:
        """Returns by how much a part's value changes if weights are rounded to int8: a draw of it."""
        changed = {node.node.name: _perturbed(node) for node in part.nodes if weighted(node)}
        if not changed:
            return np.zeros(self.a.network.values[part.key].shape)
        return self.computed(part, sample, changed) - self.computed(part, sample, {})


def with_weights(node: Node, weights: Reals) -> Node:
    """Returns a layer with other weights."""
    tensor = node.input(WEIGHTS)
    changed = Tensor(tensor.name, tensor.type, weights.astype(np.float32), tensor.source)
    return replace(node, inputs=[*node.inputs[:WEIGHTS], changed, *node.inputs[WEIGHTS + 1 :]])


def with_bias(node: Node, bias: Reals) -> Node:
    """Returns a layer with another bias in the place of its own."""
    tensor = node.input(BIAS)
    changed = Tensor(tensor.name, tensor.type, bias.astype(np.float32).reshape(tensor.shape), tensor.source)
    return replace(node, inputs=[*node.inputs[:BIAS], changed, *node.inputs[BIAS + 1 :]])


def sums_of_weights(node: Node) -> Reals:
    """Returns the sum of the weights of each output channel."""
    weights, axis = weights_of(node), registry.get(node.op).weights_axis or 0
    return np.asarray(weights.sum(tuple(other for other in range(weights.ndim) if other != axis % weights.ndim)))


def weights_of(node: Node) -> Reals:
    """Returns the weights of a layer whose weights are constants."""
    data = node.input(WEIGHTS).data
    if data is None:
        raise ValueError(f"{node.name}: weights are computed")
    return data.astype(np.float64)


def weight_steps(node: Node) -> Reals:
    """Returns the steps of int8 weights for each output channel, in a shape that broadcasts along the weights."""
    weights, axis = weights_of(node), registry.get(node.op).weights_axis or 0
    one_scale = node.op == "fully_connected"  # as TensorFlow Lite Micro has it
    others = tuple(other for other in range(weights.ndim) if one_scale or other != axis % weights.ndim)
    return np.asarray(np.abs(weights).max(axis=others, keepdims=True) / _WEIGHT_STEPS)


def _perturbed(node: RealNode) -> Node:
    if node.real is None:
        raise ValueError(f"{node.node.name}: no form of real numbers")
    rng, steps = np.random.default_rng(_SEED), weight_steps(node.real)
    weights = weights_of(node.real)
    return with_weights(node.real, weights + rng.uniform(-1, 1, weights.shape) * steps)

"""A model as the network of real numbers that it stands for, whatever its file stores.

Integers with a scale stand for real numbers, and conversions between the two change nothing but rounding. So a
float32 model, its int8 form and its form with QuantizeLinear and DequantizeLinear have the same real graph.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from aboard.check.compare.real_numbers import Reals, is_quantised, real_bias, real_node, to_real, to_stored
from aboard.ir import Array, Graph, Node, Tensor
from aboard.ops import registry
from aboard.ops.weighted import BIAS, WEIGHTS

_CONVERSIONS = ("quantize", "dequantize")


@dataclass
class Value:
    """A value of the network: one or more tensors that are the same real numbers.

    Attributes:
        key: Name of its first tensor, which is the name of the value.
        tensors: The tensors in execution order, as imported.
        constant: The real numbers of a constant; None for a computed value.
    """

    key: str
    tensors: list[Tensor]
    constant: Reals | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape, the same for all tensors."""
        return self.tensors[0].shape

    @property
    def names(self) -> set[str]:
        """Names of the tensors."""
        return {tensor.name for tensor in self.tensors}

    @property
    def stored(self) -> Tensor | None:
        """The quantised tensor with the largest steps, per tensor; None if no integers hold the value."""
        found = [tensor for tensor in self.tensors if is_quantised(tensor) and not tensor.quant.per_channel]
        return max(found, key=lambda tensor: tensor.quant.scale, default=None)

    @property
    def step(self) -> float:
        """The difference between two neighbouring numbers that the integers can hold; 0 for float32."""
        return 0.0 if self.stored is None else self.stored.quant.scale

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest number that the integers can hold."""
        if self.stored is None:
            return -np.inf, np.inf
        info, quant = np.iinfo(self.stored.dtype.value), self.stored.quant
        return (info.min - quant.zero_point) * quant.scale, (info.max - quant.zero_point) * quant.scale


@dataclass
class RealNode:
    """An operator of the network.

    Attributes:
        node: The operator as imported.
        real: The same with float32 operands and results; None where the op has no such form.
        inputs: Keys of the operands; None for an absent one.
        outputs: Keys of the results.
    """

    node: Node
    real: Node | None
    inputs: list[str | None]
    outputs: list[str]

    @property
    def op(self) -> str:
        """Name of the op."""
        return self.node.op

    def evaluate(self, operands: Sequence[Reals | None], real: Node | None = None) -> list[Reals]:
        """Returns the results for real operands.

        Args:
            operands: Values, None for an absent operand. Those of constants do not count.
            real: A node to compute instead of `self.real`, with the same operands.
        """
        chosen = real or self.real
        if chosen is not None:
            op = registry.get(chosen.op)
            given = [
                value if value is None or tensor is None or op.moves_data else _given(value, tensor)
                for value, tensor in zip(operands, chosen.inputs, strict=False)
            ]
            with np.errstate(all="ignore"):
                return [result.astype(np.float64) for result in op.evaluate(chosen, given)]
        stored = [
            None if value is None or tensor is None else to_stored(value, tensor)
            for value, tensor in zip(operands, self.node.inputs, strict=True)
        ]
        results = registry.get(self.op).evaluate(self.node, stored)
        return [to_real(result, tensor) for result, tensor in zip(results, self.node.outputs, strict=True)]


@dataclass(frozen=True)
class Part:
    """Operators of a network that compute one value from some others.

    Attributes:
        key: The value.
        nodes: The operators, in execution order.
        edges: Keys of the others.
    """

    key: str
    nodes: tuple[RealNode, ...]
    edges: frozenset[str]

    @property
    def layers(self) -> list[RealNode]:
        """The operators with weights."""
        return [node for node in self.nodes if is_layer(node)]

    @property
    def only_moves(self) -> bool:
        """True if the operators compute nothing, but move values to other places."""
        return all(registry.get(node.op).moves_data for node in self.nodes)

    @property
    def main(self) -> RealNode:
        """The last operator that does more than move values; the last of all if none does."""
        computing = (node for node in reversed(self.nodes) if not registry.get(node.op).moves_data)
        return next(computing, self.nodes[-1])


@dataclass
class RealGraph:
    """The network.

    Attributes:
        graph: The model as imported.
        nodes: Operators in execution order, without conversions and without those of constants.
        values: The values by key.
        of: The key of the value that each tensor of `graph` is, by name.
    """

    graph: Graph
    nodes: list[RealNode] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    of: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for tensor in self.graph.entries:
            self._add(tensor)
        for node in self.graph.nodes:
            self._take(node)
        self.producers = {key: node for node in self.nodes for key in node.outputs}
        self._places = {id(node): place for place, node in enumerate(self.nodes)}

    def readers(self, key: str) -> list[RealNode]:
        """Returns the operators that read a value."""
        return [node for node in self.nodes if key in node.inputs]

    def part(self, key: str, edges: Container[str]) -> Part | None:
        """Returns the operators that compute a value from some others; None if they read a further entry.

        Args:
            key: The value, which an operator computes.
            edges: Keys of the others.
        """
        nodes, reached, pending = dict[int, RealNode](), set[str](), [self.producers[key]]
        while pending:
            node = pending.pop()
            nodes[self._places[id(node)]] = node
            for operand in node.inputs:
                if operand is None or self.values[operand].constant is not None:
                    continue
                if operand in edges:
                    reached.add(operand)
                elif operand not in self.producers:
                    return None
                elif self._places[id(self.producers[operand])] not in nodes:
                    pending.append(self.producers[operand])
        return Part(key, tuple(nodes[place] for place in sorted(nodes)), frozenset(reached))

    def run(self, part: Part, known: Mapping[str, Reals], changed: Mapping[str, Node] | None = None) -> Reals:
        """Returns the value at the end of a part, with the limits of the integers unless operators are changed.

        Args:
            part: The part.
            known: Values at its edges, at least.
            changed: Other operators, by the name of the one that each takes the place of.
        """
        values = dict(known)
        for node in part.nodes:
            operands = [None if key is None else self._operand(key, values) for key in node.inputs]
            results = node.evaluate(operands, None if changed is None else changed.get(node.node.name))
            for key, result in zip(node.outputs, results, strict=True):
                values[key] = result if changed is not None else np.clip(result, *self.values[key].range)
        return values[part.key]

    def _operand(self, key: str, values: Mapping[str, Reals]) -> Reals:
        constant = self.values[key].constant
        return values[key] if constant is None else constant

    def computed(self) -> list[Value]:
        """Returns the values that operators compute, in execution order."""
        return [self.values[key] for node in self.nodes for key in node.outputs]

    def reals(self, tensors: Mapping[str, Array]) -> dict[str, Reals]:
        """Returns the known values by key.

        Args:
            tensors: Values of tensors of `graph` by name, not necessarily of all. Where a value has several tensors,
                the last one counts, whose limits the readers see.
        """
        return {
            key: to_real(tensors[tensor.name], tensor)
            for key, value in self.values.items()
            for tensor in value.tensors
            if tensor.name in tensors
        }

    def _add(self, tensor: Tensor, constant: Reals | None = None) -> str:
        """Returns the key of a tensor, which is a new value unless it is known."""
        if tensor.name not in self.of:
            if constant is None and tensor.data is not None:
                constant = to_real(tensor.data, tensor)
            self.of[tensor.name] = tensor.name
            self.values[tensor.name] = Value(tensor.name, [tensor], constant)
        return self.of[tensor.name]

    def _take(self, node: Node) -> None:
        inputs = [None if tensor is None else self._add(tensor) for tensor in node.inputs]
        bias = real_bias(node)
        if bias is not None:
            inputs[BIAS] = self._add_bias(node.input(BIAS), bias, node)
        if node.op in _CONVERSIONS and inputs[0] is not None:
            self.of[node.output.name] = inputs[0]
            self.values[inputs[0]].tensors.append(node.output)
            return
        constants = [None if key is None else self.values[key].constant for key in inputs]
        made = RealNode(node, real_node(node, constants), inputs, [t.name for t in node.outputs])
        known = all(key is None or constant is not None for key, constant in zip(inputs, constants, strict=True))
        if known and inputs and not self.graph.states:
            for tensor, result in zip(node.outputs, made.evaluate(constants), strict=True):
                self._add(tensor, result)
            return
        for tensor in node.outputs:
            self._add(tensor)
        self.nodes.append(made)

    def _add_bias(self, tensor: Tensor, bias: Reals, node: Node) -> str:
        """Returns the key of the real numbers of a bias, which are others for each layer that shares the integers."""
        known = self.values[tensor.name].constant
        if known is not None and np.array_equal(known, bias):
            return tensor.name
        key = tensor.name if not any(tensor.name in other.inputs for other in self.nodes) else f"{node.name}/bias"
        self.values[key] = Value(key, [tensor], bias)
        return key


def weighted(node: RealNode) -> bool:
    """True for a layer whose weights and bias, if it has one, are constants of float32."""
    real = node.real
    if real is None or not is_layer(node):
        return False
    bias = real.optional_input(BIAS)
    return real.input(WEIGHTS).data is not None and (bias is None or bias.data is not None)


def is_layer(node: RealNode) -> bool:
    """True for an operator with weights."""
    return registry.get(node.op).weights_axis is not None


def _given(value: Reals, tensor: Tensor) -> Array:
    return value.astype(tensor.dtype.numpy) if tensor.data is None else tensor.data

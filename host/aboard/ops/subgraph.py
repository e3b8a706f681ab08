"""subgraph: one node for a part of the graph that a device of a composite target has claimed.

Operands and results are the tensors at the border of the part. Its inner graph computes the results and contains the
constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from typing_extensions import override

from aboard.ir import Array, Attributes, Graph, Node, TensorType
from aboard.ops.registry import Op, SourceNode, get, register, require
from aboard.target.kind import Value


@dataclass(frozen=True)
class Matched:
    """Nodes that match a pattern of the device.

    Attributes:
        pattern: Name of the pattern.
        nodes: The nodes, in execution order.
        named: The nodes to which the pattern gives a name.
    """

    pattern: str
    nodes: tuple[Node, ...]
    named: Mapping[str, Node] = field(default_factory=dict)


@dataclass(frozen=True)
class SubgraphAttributes(Attributes):
    """The device of a region, and its nodes.

    Attributes:
        device: Index of the device in the composite target.
        label: Name of the device in tables.
        patterns: The matches in execution order; together they contain each node of the inner graph once.
        graph: The inner graph; its inputs and outputs are the operands and results of the node.
        tuning: Value of every knob of the device (column `tuning`), chosen or default.
        tuning_origin: Origin of these values (`aboard.tuning.choice`); empty without knobs.
    """

    device: int
    label: str
    patterns: tuple[Matched, ...]
    graph: Graph
    tuning: Mapping[str, Value] = field(default_factory=dict)
    tuning_origin: str = ""

    def summary(self) -> str:
        """Returns the device and its matches, for tables and for the text of a graph."""
        return f"{self.label}: {' + '.join(matched.pattern for matched in self.patterns)}"


def attributes(node: Node) -> SubgraphAttributes:
    """Returns the attributes of a subgraph."""
    return cast(SubgraphAttributes, node.attrs)


@register
class Subgraph(Op):
    """A part of the graph that a device computes."""

    name = "subgraph"
    holds_graphs = True
    attributes = SubgraphAttributes

    @override
    def from_tflite(self, source: SourceNode) -> Node:
        """Model files have no such operator."""
        raise source.unsupported("subgraphs are made by the compiler. Export the model again")

    @override
    def infer(self, node: Node) -> list[TensorType]:
        """Returns the types of the inner graph's outputs."""
        return [tensor.type for tensor in attributes(node).graph.outputs]

    @override
    def verify(self, node: Node) -> None:
        """Checks the inner graph, and that its inputs and outputs are those of the node."""
        from aboard.ops.verify import verify

        graph = attributes(node).graph
        require(list(node.inputs) == graph.inputs, node, "operands are not the inputs of the inner graph")
        require(node.outputs == graph.outputs, node, "results are not the outputs of the inner graph")
        claimed = [inner for matched in attributes(node).patterns for inner in matched.nodes]
        require(
            sorted(map(id, claimed)) == sorted(map(id, graph.nodes)),
            node,
            f"patterns, got {len(claimed)} nodes, expected the {len(graph.nodes)} of the inner graph, each once",
        )
        verify(graph)

    @override
    def evaluate(self, node: Node, operands: Sequence[Array | None]) -> list[Array]:
        """Runs the inner graph in numpy."""
        from aboard.ops import interpreter

        graph = attributes(node).graph
        given = {tensor.name: value for tensor, value in zip(graph.inputs, operands, strict=True) if value is not None}
        values = interpreter.run(graph, given)
        return [values[tensor.name] for tensor in graph.outputs]

    @override
    def macs(self, node: Node) -> int:
        """Returns the sum over the inner nodes."""
        return sum(get(inner.op).macs(inner) for inner in attributes(node).graph.nodes)

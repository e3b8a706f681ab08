"""What is known of the channels of each tensor, whatever the model's inputs are: from the inputs on."""

from __future__ import annotations

from collections.abc import Hashable

from aboard.ir import Graph, Node, Tensor
from aboard.passes.channels.contract import Fact, Marks, Ranges, channels, columns, is_followed
from aboard.passes.channels.registry import followed, rule


class Facts:
    """Facts of all int8 tensors of a graph."""

    def __init__(self, graph: Graph) -> None:
        self._facts: dict[Tensor, Fact] = {}
        self._numbers: dict[Hashable, int] = {}
        for tensor in graph.inputs:
            self._learn_nothing(tensor)
        for node in graph.nodes:
            self._visit(node)

    def __getitem__(self, tensor: Tensor) -> Fact:
        """Returns what is known of a computed int8 tensor or of a constant."""
        if tensor.data is None:
            return self._facts[tensor]
        return Fact(Ranges.of(tensor.data), columns(tensor.data))

    def _visit(self, node: Node) -> None:
        known = rule(node)
        if known is None:
            for tensor in node.outputs:
                self._learn_nothing(tensor)
            return
        operands = [self[tensor] for tensor in followed(node)]
        ranges = known.ranges(node, [fact.ranges for fact in operands])
        marks = known.marks(node, operands)
        for index, tensor in enumerate(node.outputs):
            self._learn(tensor, ranges[index], tuple((id(node), index, mark) for mark in marks[index]))

    def _learn_nothing(self, tensor: Tensor) -> None:
        if is_followed(tensor):
            size = channels(tensor)
            self._learn(tensor, Ranges.full(size), tuple((id(tensor), channel) for channel in range(size)))

    def _learn(self, tensor: Tensor, ranges: Ranges, marks: Marks) -> None:
        """Notes a fact; marks are numbered, so that they stay small, and those of constants follow from their value."""
        constant = ranges.constant
        named = (("constant", int(ranges.low[c])) if constant[c] else mark for c, mark in enumerate(marks))
        numbers = tuple(self._numbers.setdefault(name, len(self._numbers)) for name in named)
        self._facts[tensor] = Fact(ranges, numbers)

"""Value ranges and value numbers of the channels of each tensor, from the inputs onwards, for any model input."""

from __future__ import annotations

from collections.abc import Hashable

from aboard.ir import Graph, Node, Tensor
from aboard.passes.channels.contract import ChannelValues, ValueNumbers, ValueRanges, channels, columns, is_followed
from aboard.passes.channels.registry import followed, rule


class ValueAnalysis:
    """The values of all int8 tensors of a graph."""

    def __init__(self, graph: Graph) -> None:
        self._known: dict[Tensor, ChannelValues] = {}
        self._numbers: dict[Hashable, int] = {}
        for tensor in graph.entries:
            self._set_unknown(tensor)
        for node in graph.nodes:
            self._visit(node)

    def __getitem__(self, tensor: Tensor) -> ChannelValues:
        """Returns the values of a computed int8 tensor or of a constant."""
        if tensor.data is None:
            return self._known[tensor]
        return ChannelValues(ValueRanges.of(tensor.data), columns(tensor.data))

    def _visit(self, node: Node) -> None:
        found = rule(node)
        if found is None:
            for tensor in node.outputs:
                self._set_unknown(tensor)
            return
        operands = [self[tensor] for tensor in followed(node)]
        ranges = found.ranges(node, [values.ranges for values in operands])
        numbers = found.value_numbers(node, operands)
        for index, tensor in enumerate(node.outputs):
            self._set(tensor, ranges[index], tuple((id(node), index, number) for number in numbers[index]))

    def _set_unknown(self, tensor: Tensor) -> None:
        if is_followed(tensor):
            size = channels(tensor)
            self._set(tensor, ValueRanges.full(size), tuple((id(tensor), channel) for channel in range(size)))

    def _set(self, tensor: Tensor, ranges: ValueRanges, keys: ValueNumbers) -> None:
        """Stores the values of a tensor; each key becomes a small number, each constant the number of its value."""
        constant = ranges.constant
        named = (("constant", int(ranges.low[c])) if constant[c] else key for c, key in enumerate(keys))
        numbers = tuple(self._numbers.setdefault(name, len(self._numbers)) for name in named)
        self._known[tensor] = ChannelValues(ranges, numbers)

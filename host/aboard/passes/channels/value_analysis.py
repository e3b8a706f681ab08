"""Value ranges and value numbers of the channels of each tensor, from the inputs onwards, for any model input."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from aboard.ir import Graph, Node, Tensor
from aboard.ir.fingerprint import Memo, fingerprint
from aboard.passes.channels.contract import (
    ChannelValues,
    Indices,
    Rule,
    ValueRanges,
    channels,
    columns,
    is_followed,
    numbered,
)
from aboard.passes.channels.registry import followed, rule

#: Above every int8 value.
_ABOVE_CONSTANTS = 128

#: What the rules found for equal nodes with equal operands: passes analyse a graph several times, and `-partition=cost`
#: compiles a model again and again. The key covers the node, the ranges of its operands, and which of their channels
#: are equal; the numbers themselves do not count, because results are numbered anew.
_FOUND: Memo[tuple[list[ValueRanges], list[Indices]]] = Memo(4096)


class ValueAnalysis:
    """The values of all int8 tensors of a graph."""

    def __init__(self, graph: Graph) -> None:
        self._known: dict[Tensor, ChannelValues] = {}
        self._free = 0
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
        ranges, numbers = _FOUND.get(_key(node, operands), lambda: _results(found, node, operands))
        for index, tensor in enumerate(node.outputs):
            self._set(tensor, ranges[index], numbers[index])

    def _set_unknown(self, tensor: Tensor) -> None:
        if is_followed(tensor):
            size = channels(tensor)
            self._set(tensor, ValueRanges.full(size), np.arange(size))

    def _set(self, tensor: Tensor, ranges: ValueRanges, numbers: Indices) -> None:
        """Stores the values of a tensor: numbers that no other tensor has, and below 0 those of constants."""
        numbers = np.where(ranges.constant, ranges.low - _ABOVE_CONSTANTS, numbers + self._free)
        self._free += len(numbers)
        self._known[tensor] = ChannelValues(ranges, tuple(numbers.tolist()))


def _results(found: Rule, node: Node, operands: Sequence[ChannelValues]) -> tuple[list[ValueRanges], list[Indices]]:
    ranges = found.ranges(node, [values.ranges for values in operands])
    return ranges, [numbered(keys) for keys in found.value_numbers(node, operands)]


def _key(node: Node, operands: Sequence[ChannelValues]) -> Hashable | None:
    """Returns what results depend on; None if the node has no fingerprint."""
    node_key = fingerprint(node)
    if node_key is None:
        return None
    return node_key, _equality(operands).tobytes(), *(end.tobytes() for o in operands for end in o.ranges.ends)


def _equality(operands: Sequence[ChannelValues]) -> Indices:
    """Returns for each channel of each operand a number that equal channels share, starting at 0."""
    if len(operands) == 1:
        return operands[0].classes
    return numbered(tuple(number for operand in operands for number in operand.numbers))

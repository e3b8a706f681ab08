"""Value ranges and value numbers of the channels of each tensor, from the inputs onwards, for any model input."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class _Result:
    """The values of a result of a node.

    Attributes:
        ranges: The value range of each channel.
        numbers: For each channel a number that equal channels share: from 0 on, and below 0 for constants, of which it
            stands for the value.
        classes: As in `ChannelValues`.
    """

    ranges: ValueRanges
    numbers: Indices
    classes: Indices

    @classmethod
    def of(cls, ranges: ValueRanges, numbers: Indices) -> _Result:
        """Returns the values of a result whose equal channels share a number from 0 on."""
        numbers = np.where(ranges.constant, ranges.low - _ABOVE_CONSTANTS, numbers)
        return cls(ranges, numbers, numbered(tuple(numbers.tolist())))


#: What the rules found for equal nodes with equal operands: passes analyse a graph several times, and `-partition=cost`
#: compiles a model again and again. The key covers the node, the ranges of its operands, and which of their channels
#: are equal; the numbers themselves do not count, because results are numbered anew.
_FOUND: Memo[list[_Result]] = Memo(4096)


class ValueAnalysis:
    """The values of all int8 tensors of a graph.

    Attributes:
        rules: The rule of each node; None for a barrier.
    """

    def __init__(self, graph: Graph) -> None:
        self.rules = {node: rule(node) for node in graph.nodes}
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
        found = self.rules[node]
        if found is None:
            for tensor in node.outputs:
                self._set_unknown(tensor)
            return
        operands = [self[tensor] for tensor in followed(node)]
        results = _FOUND.get(_key(node, operands), lambda: _results(found, node, operands))
        for tensor, result in zip(node.outputs, results, strict=True):
            self._set(tensor, result)

    def _set_unknown(self, tensor: Tensor) -> None:
        if is_followed(tensor):
            size = channels(tensor)
            self._set(tensor, _Result(ValueRanges.full(size), np.arange(size), np.arange(size)))

    def _set(self, tensor: Tensor, found: _Result) -> None:
        """Stores the values of a tensor, with numbers that no other tensor has; constants keep theirs."""
        numbers = np.where(found.numbers < 0, found.numbers, found.numbers + self._free)
        self._free += len(numbers)
        self._known[tensor] = ChannelValues(found.ranges, tuple(numbers.tolist()), found.classes)


def _results(found: Rule, node: Node, operands: Sequence[ChannelValues]) -> list[_Result]:
    ranges = found.ranges(node, [values.ranges for values in operands])
    numbers = map(numbered, found.value_numbers(node, operands))
    return [_Result.of(*result) for result in zip(ranges, numbers, strict=True)]


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

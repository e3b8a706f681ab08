"""Rules of ops in which a channel of the result depends on the same channel of each operand."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from typing_extensions import override

from aboard.ir import Graph, Node, Tensor
from aboard.ops import mean, pool2d, reduction
from aboard.passes.channels.constants import replace_constant
from aboard.passes.channels.contract import (
    Bools,
    ChannelLiveness,
    ChannelValues,
    Rule,
    ValueNumbers,
    ValueRanges,
    channels,
    evaluate,
)
from aboard.passes.identity import table


class Same(Rule):
    """One operand and one result with equally many channels; elements move within their channel."""

    @override
    def ranges(self, node: Node, operands: Sequence[ValueRanges]) -> list[ValueRanges]:
        return [operands[0]]

    @override
    def value_numbers(self, node: Node, operands: Sequence[ChannelValues]) -> list[ValueNumbers]:
        return [operands[0].numbers]

    @override
    def propagate(self, node: Node, live: ChannelLiveness) -> None:
        live.tie(node.input(0), node.output)


class Mapped(Same):
    """Maps every element by a table of 256 entries."""

    @override
    def ranges(self, node: Node, operands: Sequence[ValueRanges]) -> list[ValueRanges]:
        mapped = table(node)
        if mapped is None:
            return [ValueRanges.full(channels(node.output))]
        bounds = zip(operands[0].low + 128, operands[0].high + 129, strict=True)
        parts = [mapped[first:end].astype(np.int64) for first, end in bounds]
        return [ValueRanges(np.array([p.min() for p in parts]), np.array([p.max() for p in parts]))]


class Pool(Same):
    """Maxima and averages are between the smallest and the largest element of the window."""

    @override
    def ranges(self, node: Node, operands: Sequence[ValueRanges]) -> list[ValueRanges]:
        limits = pool2d.attributes(node).activation.range(node.output.quant)
        return [ValueRanges(np.clip(operands[0].low, *limits), np.clip(operands[0].high, *limits))]


class Mean(Same):
    """Averages over other axes than the last; monotonic in the operand."""

    @override
    def accepts(self, node: Node) -> bool:
        """True if channels stay separate and no sum can overflow."""
        rank = len(node.input(0).shape)
        largest = reduction.count(node) * 255 << max(mean.scaling(node)[1], 0)
        return rank - 1 not in reduction.attributes(node).axes and largest < 1 << 31

    @override
    def ranges(self, node: Node, operands: Sequence[ValueRanges]) -> list[ValueRanges]:
        shape = node.input(0).shape
        ends = (evaluate(node, [np.broadcast_to(end, shape)]) for end in (operands[0].low, operands[0].high))
        low, high = (end.astype(np.int64).reshape(-1, shape[-1])[0] for end in ends)
        return [ValueRanges(low, high)]


class Binary(Rule):
    """add, sub, mul, maximum and minimum, with operands that may be constant or have one channel for all.

    The result is monotonic in each operand, so that its extremes are at the corners of the ranges.
    """

    @override
    def ranges(self, node: Node, operands: Sequence[ValueRanges]) -> list[ValueRanges]:
        ends = [(operand.low, operand.high) for operand in operands]
        size = channels(node.output)
        corners = np.array([np.broadcast_to(evaluate(node, c), size) for c in itertools.product(*ends)], np.int64)
        return [ValueRanges(corners.min(0), corners.max(0))]

    @override
    def value_numbers(self, node: Node, operands: Sequence[ChannelValues]) -> list[ValueNumbers]:
        size = channels(node.output)
        expanded = (operand.numbers * (size // len(operand.numbers)) for operand in operands)
        return [tuple(zip(*expanded, strict=True))]

    @override
    def propagate(self, node: Node, live: ChannelLiveness) -> None:
        size = channels(node.output)
        alike = (t for t in node.operands if channels(t) == size and not t.is_constant)
        live.tie(node.output, *alike)
        for tensor in node.operands:
            if channels(tensor) != size:
                live.add_all(tensor)

    @override
    def shrink(self, graph: Graph, node: Node, live: Mapping[Tensor, Bools]) -> None:
        """Removes dead channels from constant operands too."""
        kept = live.get(node.output)
        for index, tensor in enumerate(node.inputs):
            if kept is not None and tensor is not None and tensor.data is not None and channels(tensor) == len(kept):
                replace_constant(graph, node, index, tensor.data[..., kept])

"""Rules of ops that only move data, where channels may change their index."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

import numpy as np
from typing_extensions import override

from aboard.ir import Graph, Node, Tensor
from aboard.ops import concatenation, pad, split
from aboard.ops.reshape import ReshapeAttributes
from aboard.passes.channels.channelwise import Same
from aboard.passes.channels.contract import (
    Bools,
    ChannelLiveness,
    ChannelValues,
    Rule,
    ValueNumbers,
    ValueRanges,
    channels,
)


class Pad(Same):
    """Pixels of one value around the operand."""

    @override
    def accepts(self, node: Node) -> bool:
        """True if no channels are added."""
        return pad.attributes(node).padding[-1:] == ((0, 0),)

    @override
    def ranges(self, node: Node, operands: Sequence[ValueRanges]) -> list[ValueRanges]:
        attrs = pad.attributes(node)
        if not any(map(any, attrs.padding)):
            return [operands[0]]
        value = int(attrs.value)
        return [ValueRanges(np.minimum(operands[0].low, value), np.maximum(operands[0].high, value))]


class Reshape(Rule):
    """Elements keep their order.

    Element e is in channel e modulo the number of channels, before and after. So channels form classes by their index
    modulo the greatest common divisor of both numbers of channels. A class is live or dead as a whole.
    """

    @override
    def ranges(self, node: Node, operands: Sequence[ValueRanges]) -> list[ValueRanges]:
        classes = _classes(node)
        return [operands[0].fold(classes).take(np.arange(channels(node.output)) % classes)]

    @override
    def value_numbers(self, node: Node, operands: Sequence[ChannelValues]) -> list[ValueNumbers]:
        before, after, numbers = channels(node.input(0)), channels(node.output), operands[0].numbers
        if after % before == 0:
            return [tuple((channel // before, numbers[channel % before]) for channel in range(after))]
        if before % after == 0:
            return [tuple(numbers[channel::after] for channel in range(after))]
        return [tuple(range(after))]

    @override
    def propagate(self, node: Node, live: ChannelLiveness) -> None:
        both, classes = (node.input(0), node.output), _classes(node)
        together = np.logical_or.reduce([live[tensor].reshape(-1, classes).any(0) for tensor in both])
        for tensor in both:
            live.add(tensor, np.tile(together, channels(tensor) // classes))

    @override
    def shrink(self, graph: Graph, node: Node, live: Mapping[Tensor, Bools]) -> None:
        """Changes the last dimension of the shape."""
        if node.output in live:
            node.attrs = ReshapeAttributes((*node.output.shape[:-1], int(live[node.output].sum())))


class Concatenation(Rule):
    """Operands joined along the channels, or along another axis with all channels each."""

    @override
    def ranges(self, node: Node, operands: Sequence[ValueRanges]) -> list[ValueRanges]:
        lows, highs = [r.low for r in operands], [r.high for r in operands]
        if _joins_channels(node):
            return [ValueRanges(np.concatenate(lows), np.concatenate(highs))]
        return [ValueRanges(np.min(lows, 0), np.max(highs, 0))]

    @override
    def value_numbers(self, node: Node, operands: Sequence[ChannelValues]) -> list[ValueNumbers]:
        if _joins_channels(node):
            return [tuple(number for operand in operands for number in operand.numbers)]
        return [tuple(zip(*(operand.numbers for operand in operands), strict=True))]

    @override
    def accepts(self, node: Node) -> bool:
        """False if an operand is a constant: it would have to shrink with the others."""
        return not any(tensor.is_constant for tensor in node.operands)

    @override
    def propagate(self, node: Node, live: ChannelLiveness) -> None:
        if _joins_channels(node):
            _tie_parts(node.output, node.operands, live)
        else:
            live.tie(node.output, *node.operands)


class Split(Rule):
    """Parts of the operand: each with some channels, or with all of them."""

    @override
    def ranges(self, node: Node, operands: Sequence[ValueRanges]) -> list[ValueRanges]:
        if not _cuts_channels(node):
            return [operands[0]] * len(node.outputs)
        return [operands[0].take(np.arange(first, end)) for first, end in _bounds(node.outputs)]

    @override
    def value_numbers(self, node: Node, operands: Sequence[ChannelValues]) -> list[ValueNumbers]:
        if not _cuts_channels(node):
            return [operands[0].numbers] * len(node.outputs)
        return [operands[0].numbers[first:end] for first, end in _bounds(node.outputs)]

    @override
    def propagate(self, node: Node, live: ChannelLiveness) -> None:
        if _cuts_channels(node):
            _tie_parts(node.input(0), node.outputs, live)
        else:
            live.tie(node.input(0), *node.outputs)

    @override
    def shrink(self, graph: Graph, node: Node, live: Mapping[Tensor, Bools]) -> None:
        if _cuts_channels(node):
            sizes = (int(live[t].sum()) if t in live else channels(t) for t in node.outputs)
            node.attrs = dataclasses.replace(split.attributes(node), sizes=tuple(sizes))


def _classes(node: Node) -> int:
    return math.gcd(channels(node.input(0)), channels(node.output))


def _joins_channels(node: Node) -> bool:
    return concatenation.attributes(node).axis == len(node.output.shape) - 1


def _cuts_channels(node: Node) -> bool:
    return split.attributes(node).axis == len(node.input(0).shape) - 1


def _bounds(parts: Sequence[Tensor]) -> list[tuple[int, int]]:
    return list(pairwise(accumulate(map(channels, parts), initial=0)))


def _tie_parts(whole: Tensor, parts: Sequence[Tensor], live: ChannelLiveness) -> None:
    live.add(whole, np.concatenate([live[part] for part in parts]))
    for part, (first, end) in zip(parts, _bounds(parts), strict=True):
        live.add(part, live[whole][first:end])
